/**
 * An installation that is started for one load test: this program as another process, embedded, in
 * a temporary folder, without the configuration and the keys of this machine.
 *
 * It never outlives the test: it is stopped at the end, killed when this process exits by another
 * way or is killed, and its folder is removed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Guard } from '../../loadtest/guard.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { NO_DISK_LIMITS, temporaryFolder } from './temporary-folder.ts';

export type OwnInstallation = {
  /** `ws://127.0.0.1:port` */
  readonly url: string;
  readonly token: string;
  readonly pid: number;
  /** its data folder */
  readonly home: string;
  /** Stops it and removes the folder. May be repeated. */
  readonly stop: () => Promise<void>;
};

const READY_MS_MAX = 60_000;
const STOP_MS_MAX = 10_000;
const ERROR_CHARACTERS_MAX = 2_000;
/** No limit of the installation is reached, because the load is measured. */
const NO_QUOTA = 100_000_000;

export type InstallationSettings = {
  readonly models?: object;
  readonly agents?: {
    readonly defaults?: object;
    /** default: one agent `main`, with tools for sessions only */
    readonly agents?: readonly object[];
  };
};

/**
 * @param settings are added to its configuration
 * @throws TroupeError UNAVAILABLE when it does not start, with what it printed, or has no room;
 *   CANCELLED by `signal`
 */
export async function startOwnInstallation(
  settings: InstallationSettings,
  signal: AbortSignal,
): Promise<OwnInstallation> {
  const folder = temporaryFolder('troupe-bench-');
  const home = join(folder, 'data');
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(home, 'troupe.json5'), JSON.stringify(configOf(settings)));
  const token = randomBytes(24).toString('base64url');
  const child = startProgram(folder, home, token);
  const guard = new Guard(folder);
  guard.add(child);
  const stop = async () => {
    await stopped(child);
    guard.close();
  };
  try {
    const url = await ready(child, signal);
    return { url: `ws://${new URL(url).host}`, token, pid: child.pid!, home, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * In a process group of its own: Ctrl-C at the terminal stops the load first, and the installation
 * after it.
 */
const startProgram = (folder: string, home: string, token: string): ChildProcess =>
  spawn(process.execPath, [process.argv[1]!, 'start', '--json', '--port', '0', '--data', home], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      TMPDIR: tmpdir(),
      TROUPE_TOKEN: token,
      TROUPE_OFFLINE_TOKENS_PER_SECOND: '0',
    },
  });

/** The configuration of an installation for tests. */
export function configOf({ models, agents }: InstallationSettings): object {
  return {
    log: { level: 'error' },
    runtime: NO_DISK_LIMITS,
    a2a: {
      quota: {
        principalPerMinute: NO_QUOTA,
        externalPerMinute: NO_QUOTA,
        tenantPerMinute: NO_QUOTA,
        runningMax: 2_048,
      },
    },
    agents: {
      defaults: { sandbox: { mode: 'none' }, ...agents?.defaults },
      agents: agents?.agents ?? [{ id: 'main', tools: { allow: ['group:sessions'] } }],
      spawnDefaults: { maxConcurrentSpawns: 100, maxSpawnsPerTree: 1_000_000 },
    },
    ...(models === undefined ? {} : { models }),
  };
}

/** Its URL, when it has printed it. */
async function ready(child: ChildProcess, signal: AbortSignal): Promise<string> {
  let [printed, errors] = ['', ''];
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-ERROR_CHARACTERS_MAX);
  });
  const announced = new Promise<string>((resolve) => {
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      if (printed.includes('\n')) resolve(printed);
    });
  });
  const ended = new Promise<undefined>((resolve) => {
    child.once('exit', () => resolve(undefined));
    child.once('error', (error) => {
      errors = error.message;
      resolve(undefined);
    });
  });
  const stop = new AbortController();
  const late = sleep(READY_MS_MAX, undefined, {
    signal: AbortSignal.any([signal, stop.signal]),
  }).catch(() => undefined);
  const first = await Promise.race([announced, ended, late]);
  stop.abort();
  if (signal.aborted) throw new TroupeError('CANCELLED', 'stopped before the load began');
  if (first !== undefined) return (JSON.parse(first) as { url: string }).url;
  throw new TroupeError('UNAVAILABLE', `the own installation did not start: ${errors.trim()}`);
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const stop = new AbortController();
  const late = sleep(STOP_MS_MAX, 'late', { signal: stop.signal }).catch(() => undefined);
  if ((await Promise.race([ended, late])) === 'late') child.kill('SIGKILL');
  stop.abort();
  await ended;
}
