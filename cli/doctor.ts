/**
 * `troupe doctor`: looks at the machine, the configuration and the data folder, and says what to do
 * about what it finds. Changes nothing but a probe file that it removes again, and one probe object
 * that it leaves in a production bucket.
 */
import { exitCodes } from './exit.ts';
import { type CommonOptions, loadFrom } from './options.ts';
import { printJson } from './output.ts';

/** `warn`: troupe runs, but something is missing or near its limit. `fail`: it would not run. */
export type Finding = {
  readonly check: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly message: string;
  /** what to do, when there is something to do */
  readonly remedy?: string;
};

/** Exit code 1 when a check failed; warnings do not fail. */
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

function lineOf({ status, check, message, remedy }: Finding): string {
  const line = `${status.padEnd(4)}  ${check}: ${message}\n`;
  return remedy ? `${line}      → ${remedy}\n` : line;
}

/** The checks in order; those that need a configuration are left out when there is none. */
async function* examine(options: CommonOptions): AsyncGenerator<Finding> {
  const checks = await import('./doctor-checks.ts');
  const { artifactStore } = await import('./doctor-artifacts.ts');
  const { execPatterns } = await import('./doctor-exec.ts');
  const { talk } = await import('./doctor-talk.ts');
  yield checks.nodeVersion(process.versions.node);
  yield await checks.storeEngine();
  const loaded = await loadFrom(options).catch((error: unknown) => error as Error);
  if (loaded instanceof Error) {
    yield checks.configuration(loaded);
  } else {
    const { config } = loaded;
    yield checks.configuration(loaded);
    yield* checks.dataFolder(config);
    yield* artifactStore(config);
    yield await checks.storedData(config);
    yield await checks.port(config);
    yield* await checks.models(config, process.env);
    yield await checks.sandbox(config);
    yield* execPatterns(config);
    yield* talk(config);
    yield await checks.clock(config, Date.now());
  }
  yield await checks.testTools();
}
