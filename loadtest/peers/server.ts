/** The server of a peer: a process on loopback that never outlives this one. */
import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { accessSync, constants, readdirSync } from 'node:fs';
import { createServer, connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TroupeError } from '../../protocols/errors.ts';

export type Server = { readonly pid: number; readonly stop: () => Promise<void> };

const READY_MS = 60_000;
const LOOK_MS = 50;
const STOP_MS_MAX = 10_000;
const ERROR_CHARACTERS_MAX = 1_000;

/**
 * Starts it and waits until it listens. @param readyMs for that
 * @throws TroupeError UNAVAILABLE with what it printed
 */
export async function startServer(
  program: string,
  args: readonly string[],
  port: number,
  options: SpawnOptions & { readonly signal?: never } = {},
  readyMs: number = READY_MS,
): Promise<Server> {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      printed = (printed + text).slice(-ERROR_CHARACTERS_MAX);
    });
  child.on('error', (error) => (printed += error.message));
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  const stop = async () => {
    await ended(child);
    process.off('exit', kill);
  };
  const until = performance.now() + readyMs;
  while (!(await listens(port))) {
    if (child.pid !== undefined && !hasEnded(child) && performance.now() < until) {
      await sleep(LOOK_MS);
      continue;
    }
    await stop();
    throw new TroupeError('UNAVAILABLE', `${program} did not start: ${printed.trim()}`);
  }
  return { pid: child.pid!, stop };
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null;

async function ended(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || hasEnded(child)) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  // Postgres: end now, also with open connections.
  child.kill('SIGINT');
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
  await exit;
  clearTimeout(late);
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

/** A port of 127.0.0.1 that is free now. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });

/** @param more folders to search besides PATH @throws TroupeError NOT_FOUND */
export function programOf(name: string, more: readonly string[] = []): string {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...more];
  const found = folders.map((folder) => join(folder, name)).find(isProgram);
  if (found !== undefined) return found;
  throw new TroupeError('NOT_FOUND', `the program ${name} is not on PATH`);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const POSTGRES = '/usr/lib/postgresql';

/** Debian keeps the programs of PostgreSQL outside of PATH, by version. */
export function postgresFolders(): readonly string[] {
  try {
    return readdirSync(POSTGRES).map((version) => join(POSTGRES, version, 'bin'));
  } catch {
    return [];
  }
}
