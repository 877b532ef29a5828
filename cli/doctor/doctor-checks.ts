/** The checks of `troupe doctor`, one function per subject. */
import {
  accessSync,
  constants,
  existsSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  bindHost,
  type Config,
  type LoadedConfig,
  ownSections,
  resolveAgents,
  storeFolder,
  showPointer,
  tenantConfig,
  tenantsWithOwn,
} from '../../runtime/config/index.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { BUILT_IN_PROVIDERS, isBuiltInProvider } from '../../protocols/models/model-providers.ts';
import { fail, type Finding, ok, warn } from './doctor-finding.ts';
import { originOf, type CommonOptions } from '../options.ts';
import { isTroupe, getUnverified } from '../processes/probe.ts';

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** Opens a store in a temporary folder, writes to it and reads from it. */
export async function storeEngine(): Promise<Finding> {
  const path = mkdtempSync(join(tmpdir(), 'troupe-doctor-'));
  try {
    const { openEmbeddedStore } = await import('../../runtime/log/embedded-store.ts');
    const store = await openEmbeddedStore({ path, durability: 'process' });
    try {
      await store.log.append('doctor', Buffer.from('probe'));
      const last = await store.log.readLast('doctor');
      if (Buffer.from(last?.bytes ?? []).toString() !== 'probe')
        throw new Error('it returns other data than was written');
    } finally {
      await store.close();
    }
    return ok('store', 'LMDB works');
  } catch (error) {
    return fail(
      'store',
      `LMDB does not work here: ${messageOf(error)}`,
      'run npm ci on this machine with this version of Node',
    );
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}

export function configuration(loaded: LoadedConfig | Error): Finding {
  if (loaded instanceof Error) {
    return fail('config', loaded.message, 'correct it; troupe config reference explains every key');
  }
  return ok('config', loaded.file ?? 'no file, defaults only');
}

export async function* dataFolder(config: Config): AsyncGenerator<Finding> {
  const { existingAncestor } = await import('../../installation/disk/disk-space.ts');
  const { home } = config;
  const nearest = existingAncestor(home);
  try {
    writable(nearest);
    yield ok('data folder', nearest === home ? home : `${home} (will be created)`);
  } catch (error) {
    yield fail(
      'data folder',
      `${nearest} cannot be written (${messageOf(error)})`,
      'correct its permissions, or choose another folder with --data or TROUPE_HOME',
    );
  }
}

function writable(folder: string): void {
  accessSync(folder, constants.W_OK);
  const probe = join(folder, `.troupe-doctor-${process.pid}`);
  writeFileSync(probe, 'probe', { flag: 'wx' });
  rmSync(probe);
}

/** Opens an existing store as `start` would, if no process uses it, and reports its errors. */
export async function storedData(config: Config): Promise<Finding> {
  const path = storeFolder(config);
  if (!existsSync(path)) return ok('data', 'none yet');
  const { openEmbeddedStore } = await import('../../runtime/log/embedded-store.ts');
  try {
    const store = await openEmbeddedStore({ path, durability: config.runtime.durability });
    await store.close();
    return ok('data', `format ${store.formatVersion}, cell ${store.cell}`);
  } catch (error) {
    if (error instanceof TroupeError && error.details?.['reason'] === 'LOCKED') {
      return ok('data', `in use by process ${String(error.details['pid'])}`);
    }
    return fail('data', messageOf(error), 'restore the folder from a backup, or choose another');
  }
}

export async function port(config: Config, options: CommonOptions): Promise<Finding> {
  const origin = await originOf(config, options);
  const { port: number } = config.gateway;
  if (await isTroupe(origin)) return running(origin);
  if (number === 0) return ok('port', 'any free port');
  const error = await tryListen(number, bindHost(config));
  if (!error) return ok('port', `${number} is free`);
  return fail(
    'port',
    `cannot listen on ${number} (${error.code ?? error.message})`,
    'start with --port N, or set gateway.port',
  );
}

/** The status that a running troupe reports. */
async function running(origin: string): Promise<Finding> {
  const { status, text } = await getUnverified(`${origin}/readyz`);
  if (status === 200) return ok('port', `troupe runs at ${origin}/ and is ready`);
  return fail('port', `troupe runs at ${origin}/ and is not ready: ${text}`, 'see its log');
}

function tryListen(number: number, host: string): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', resolve);
    server.listen(number, host, () => server.close(() => resolve(undefined)));
  });
}

/** Models of the installation, and of each tenant that has its own agents or providers. */
export async function models(
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Finding[]> {
  const findings = await modelsOf(config, env);
  for (const tenant of tenantsWithOwn(config)) {
    const own: readonly string[] = ownSections(config, tenant);
    const hasModels = own.includes('models');
    if (!hasModels && !own.includes('agents')) continue;
    const found = await modelsOf(tenantConfig(config, tenant), hasModels ? {} : env);
    findings.push(...found.map((finding) => ({ ...finding, check: `models of ${tenant}` })));
  }
  return findings;
}

/** Every agent's model must be configured; a provider without a key causes a warning. */
async function modelsOf(
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Finding[]> {
  const { createModelCatalog } = await import('../../agent/models/catalog.ts');
  const { systemClock } = await import('../../runtime/clock/clock.ts');
  const { knownModels } = await import('../../installation/start-rules.ts');
  const findings: Finding[] = [];
  const [problem] = knownModels(config);
  if (problem === undefined) {
    const standard = createModelCatalog(config.models, { env, clock: systemClock }).defaultModel();
    const names = new Set(resolveAgents(config).map(({ model }) => model ?? standard));
    const offline = [...names].every((name) => name.startsWith('offline/'));
    const remedy = 'set ANTHROPIC_API_KEY or OPENAI_API_KEY, or add a provider, for a real model';
    findings.push(ok('models', [...names].join(', '), offline ? remedy : undefined));
  } else {
    const remedy = `name a model that exists in ${showPointer(problem.pointer)}`;
    findings.push(fail('models', problem.message, remedy));
  }
  for (const [id, { apiKey }] of Object.entries(config.models.providers)) {
    if (!isBuiltInProvider(id) || apiKey) continue;
    const { keyVariables } = BUILT_IN_PROVIDERS[id];
    if (keyVariables.some((name) => env[name])) continue;
    findings.push(
      warn('models', `${id} has no key`, `set ${keyVariables[0]} or models.providers.${id}.apiKey`),
    );
  }
  return findings;
}

/** Whether people that may write to a channel share a session. */
export async function sessions(config: Config): Promise<Finding> {
  const { sharedMainSession } = await import('../../installation/start-rules.ts');
  const { dmScope } = config.session;
  const [shared] = sharedMainSession(config);
  return shared
    ? warn(
        'sessions',
        `session.dmScope = ${shared.value}: ${shared.message}`,
        'see docs/routing.md',
      )
    : ok('sessions', `session.dmScope is ${dmScope}`);
}

/** No safety property depends on a clock, but a wrong one fires timers early or late. */
export async function clock(config: Config, now: number, options: CommonOptions): Promise<Finding> {
  const fault = await clockFaultOfRunning(config, options);
  if (fault !== undefined) return warn('clock', fault, 'see docs/semantics.md, Clocks');
  const data = join(storeFolder(config), 'data.mdb');
  const written = existsSync(data) ? statSync(data).mtimeMs : 0;
  const behindMs = Math.max(written, builtAfter) - now;
  if (behindMs <= clockToleranceMs) return ok('clock', new Date(now).toISOString());
  const minutes = Math.ceil(behindMs / 60_000);
  return warn(
    'clock',
    `${new Date(now).toISOString()} is about ${minutes} min slow`,
    'set the clock; timers would fire late',
  );
}
/** The clock status that a running troupe reports. */
async function clockFaultOfRunning(
  config: Config,
  options: CommonOptions,
): Promise<string | undefined> {
  const origin = await originOf(config, options);
  if (!(await isTroupe(origin))) return undefined;
  const { text } = await getUnverified(`${origin}/readyz`);
  const { clock: fault } = JSON.parse(text) as { clock?: unknown };
  return typeof fault === 'string' ? fault : undefined;
}

const clockToleranceMs = 60_000;
/** This program cannot have been written before then. */
const builtAfter = Date.UTC(2025, 0, 1);

/** Sandboxed sessions cannot run commands if no boundary is available. */
export async function sandbox({ tools: { exec } }: Config): Promise<Finding> {
  const { findSandbox } = await import('../../agent/sandbox/choose.ts');
  const { containerRemedy } = await import('../../installation/sandbox-notice.ts');
  const found = await findSandbox({ boundary: exec.boundary, image: exec.image });
  return 'boundary' in found
    ? ok('sandbox', `commands of sandboxed sessions run in ${found.boundary.kind}`)
    : warn(
        'sandbox',
        'sandboxed sessions cannot run commands here',
        [found.missing, containerRemedy()].filter(Boolean).join('. '),
      );
}

/** Which tests of a checkout cannot run here. An installed package has no tests. */
export async function testTools(): Promise<readonly Finding[]> {
  const tests = ['../test/house/', '../../test/house/'];
  if (!tests.some((folder) => existsSync(new URL(folder, import.meta.url)))) return [];
  const { missingHere } = await import('../../tools/machine.mjs');
  const [missing] = missingHere();
  return [
    missing
      ? ok('tests', `some would be skipped: ${missing}`)
      : ok('tests', 'all tests can run here'),
  ];
}
