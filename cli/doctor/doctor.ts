/**
 * `troupe doctor` checks the machine, the configuration and the data folder, and prints a remedy
 * for each problem. It writes only a probe file, which it removes, and one probe object, which
 * stays in a production bucket.
 */
import { styleText } from 'node:util';
import type { Finding } from './doctor-finding.ts';
import { nodeVersion } from './doctor-node.ts';
import { exitCodes } from '../exit.ts';
import { type CommonOptions, loadFrom } from '../options.ts';
import { printJson } from '../output.ts';

/** Exit code 1 when a check failed; warnings do not count. */
export async function doctor(options: CommonOptions): Promise<number> {
  const findings: Finding[] = [];
  for await (const finding of examine(options)) {
    findings.push(finding);
    if (!options.json) process.stdout.write(lineOf(finding));
  }
  const failed = findings.some(({ status }) => status === 'fail');
  if (options.json) printJson({ ok: !failed, checks: findings });
  return failed ? exitCodes.failure : exitCodes.ok;
}

const styles = { ok: 'green', warn: 'yellow', fail: 'red' } as const;

function lineOf({ status, check, message, remedy }: Finding): string {
  const shown = styleText(styles[status], status.padEnd(4), { stream: process.stdout });
  const line = `${shown}  ${check}: ${message}\n`;
  return remedy ? `${line}      → ${remedy}\n` : line;
}

/**
 * The checks in order. Without a valid configuration only those run that do not need one. What the
 * first check needs is loaded already, so its line appears at once.
 */
export async function* examine(options: CommonOptions): AsyncGenerator<Finding> {
  yield nodeVersion(process.versions.node);
  const checks = await import('./doctor-checks.ts');
  const { artifactStore } = await import('./doctor-artifacts.ts');
  const { auditGrowth } = await import('./doctor-audit.ts');
  const { backupAge } = await import('./doctor-backup.ts');
  const { freeSpace } = await import('./doctor-disk.ts');
  const { gatewayTls } = await import('./doctor-tls.ts');
  const { execPatterns } = await import('./doctor-exec.ts');
  const { mcpServers } = await import('./doctor-mcp.ts');
  const { memorySearch } = await import('./doctor-memory.ts');
  const { foundModels } = await import('./doctor-models.ts');
  const { plugins } = await import('./doctor-plugins.ts');
  const { inEffect } = await import('./doctor-running.ts');
  const { talk } = await import('./doctor-talk.ts');
  yield await checks.storeEngine();
  const loaded = await loadFrom(options).catch((error: unknown) => error as Error);
  if (loaded instanceof Error) {
    yield checks.configuration(loaded);
  } else {
    const { config } = loaded;
    yield checks.configuration(loaded);
    yield* checks.dataFolder(config);
    yield* await freeSpace(config);
    yield* artifactStore(config);
    yield await checks.storedData(config);
    yield* backupAge(config);
    yield await checks.port(config, options);
    yield* gatewayTls(config, Date.now());
    yield* inEffect(config, options);
    yield* auditGrowth(config, options);
    yield* await checks.models(config, process.env);
    yield* await foundModels(config, process.env);
    yield memorySearch(config, process.env);
    yield await checks.sandbox(config);
    yield* execPatterns(config);
    yield* talk(config);
    yield* plugins(config);
    yield* await mcpServers(config);
    yield await checks.sessions(config);
    yield await checks.clock(config, Date.now(), options);
  }
  yield* await checks.testTools();
}
