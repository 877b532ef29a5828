/** The options of `troupe bench faults`, and the plan that they mean. */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { durationMs as parsedMs, numberIn } from '../../../loadtest/arguments.ts';
import type { OtherProgram } from '../../../loadtest/faults/cell.ts';
import { faultKindsOf } from '../../../loadtest/faults/injection.ts';
import type { FaultPlan } from '../../../loadtest/faults/run.ts';
import { programOf } from '../../../loadtest/peers/server.ts';
import { defined } from '../../../protocols/defined.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { whole } from '../run-options.ts';

/** As parsed by commander. */
export type FaultsOptions = {
  readonly embedded?: boolean;
  readonly workers?: string;
  readonly natsServer?: string;
  readonly upgradeTo?: string;
  readonly faults?: string;
  readonly every?: string;
  readonly duration?: string;
  readonly count?: string;
  readonly rate?: string;
  readonly envelopes?: string;
  readonly sessions?: string;
  readonly model?: string;
  readonly settle?: string;
  readonly seed?: string;
  readonly out?: string;
  readonly json?: boolean;
};

export const MODEL = 'latency=uniform:50ms..500ms tokens=20 pace=100';
const WORKERS_MAX = 20;
const SESSIONS_MAX = 500;
const COUNT_MAX = 100_000;
const RATE_MAX = 1_000;
const DAY_MS = 86_400_000;
const SEED_MAX = 2 ** 32 - 1;
const VERSION_MS_MAX = 30_000;
/** Debian installs nats-server in a folder that is only on root's PATH. */
const FOLDERS = ['/usr/sbin', '/usr/local/sbin'];

const wrong = (message: string) => new TroupeError('INVALID_ARGUMENT', message);

/** @throws TroupeError INVALID_ARGUMENT */
export function planOf(options: FaultsOptions): FaultPlan {
  const {
    embedded = false,
    faults,
    count,
    duration,
    every,
    rate = '5',
    envelopes = '20%',
  } = options;
  if (embedded && options.workers !== undefined)
    throw wrong('--embedded has one process: it and --workers exclude each other');
  if (embedded && options.natsServer !== undefined)
    throw wrong('--embedded uses no NATS: it and --nats-server exclude each other');
  if (count !== undefined && duration !== undefined)
    throw wrong('--count and --duration exclude each other');
  const [durationMs, everyMs] = [timeMs(duration, '60s', 'duration'), timeMs(every, '5s', 'every')];
  if (count === undefined && everyMs >= durationMs)
    throw wrong('--every must be shorter than --duration: the first fault begins after it');
  const hasOther = options.upgradeTo !== undefined;
  const kinds = faultKindsOf(faults, embedded ? 'embedded' : 'cluster', hasOther);
  if (hasOther && !kinds.includes('upgrade'))
    throw wrong('--upgrade-to needs the fault upgrade: add it to --faults');
  return {
    kinds,
    ...defined({ count: count === undefined ? undefined : whole(count, 1, 1, COUNT_MAX, 'count') }),
    durationMs,
    everyMs,
    ratePerSecond: numberIn(rate, 0.1, RATE_MAX, '--rate'),
    envelopes: shareOf(envelopes),
    sessions: whole(options.sessions, 12, 1, SESSIONS_MAX, 'sessions'),
    seed: whole(options.seed, randomInt(SEED_MAX), 0, SEED_MAX, 'seed'),
    settleMs: timeMs(options.settle, '2m', 'settle'),
  };
}

/** @throws TroupeError INVALID_ARGUMENT */
export const workersOf = ({ workers }: FaultsOptions): number =>
  whole(workers, 3, 1, WORKERS_MAX, 'workers');

function timeMs(text: string | undefined, fallback: string, name: string): number {
  const ms = parsedMs(text ?? fallback, 's', `--${name}`);
  if (ms >= 100 && ms <= DAY_MS) return ms;
  throw wrong(`--${name}: ${text} is not from 100 ms to a day`);
}

function shareOf(text: string): number {
  if (text.endsWith('%')) return numberIn(text.slice(0, -1), 0, 100, '--envelopes') / 100;
  return numberIn(text, 0, 1, '--envelopes');
}

export type NatsProgram = { readonly path: string; readonly version: string };

/**
 * The nats-server of `--nats-server`, TROUPE_NATS_SERVER, or PATH.
 * @throws TroupeError NOT_FOUND with what to install; INVALID_ARGUMENT for another program
 */
export function natsServerOf({ natsServer }: FaultsOptions): NatsProgram {
  const path = natsServer ?? process.env['TROUPE_NATS_SERVER'] ?? installed();
  const { stdout, error } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 10_000 });
  const version = /v(\d+\.\d+\.\d+)/.exec(stdout ?? '')?.[1];
  if (version !== undefined) return { path, version };
  throw wrong(`${path} is no nats-server${error ? `: ${error.message}` : ''}`);
}

/** Where a package, or what npm installed into a folder, has the program. */
const SCRIPTS = ['bin/troupe.js', 'node_modules/troupe/bin/troupe.js', 'troupe.js'];

/**
 * The program of `--upgrade-to`: a script, or the folder of a package.
 * @throws TroupeError NOT_FOUND; INVALID_ARGUMENT when it is another program
 */
export function otherProgramOf(path: string): OtherProgram {
  const places = [path, ...SCRIPTS.map((script) => join(path, script))];
  const found = places.find((place) => statSync(place, { throwIfNoEntry: false })?.isFile());
  if (found === undefined)
    throw new TroupeError(
      'NOT_FOUND',
      `--upgrade-to: ${path} is no script of troupe, and no folder with ${SCRIPTS.join(' or ')}`,
    );
  const script = realpathSync(found);
  const { stdout, stderr, error } = spawnSync(process.execPath, [script, '--version'], {
    encoding: 'utf8',
    timeout: VERSION_MS_MAX,
  });
  const version = /^(\d+\.\d+\.\d+\S*)\s*$/.exec(stdout ?? '')?.[1];
  if (version !== undefined) return { script, version };
  const why = error?.message ?? stderr.trim().split('\n', 1)[0] ?? '';
  throw wrong(`--upgrade-to: ${script} does not print a version of troupe: ${why}`);
}

function installed(): string {
  try {
    return programOf('nats-server', FOLDERS);
  } catch (cause) {
    throw new TroupeError(
      'NOT_FOUND',
      'a cluster needs nats-server, which is not on PATH. Install it (Debian: apt-get install nats-server, macOS: brew install nats-server), name it with --nats-server PATH, or test one process without NATS: --embedded',
      { cause },
    );
  }
}
