/**
 * Where the gateway of a data folder listens: `gateway.json` in the data folder. `troupe start`,
 * `troupe gateway` and programs with `startTroupe` write it when they listen and remove it when
 * they stop, so that other commands find a gateway on another port than the configured one.
 *
 * A process that was killed leaves the file; it counts only while that same process exists on this
 * machine, because commands send their token to the address. Another host or container that shares
 * the folder ignores it.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { defined } from '../protocols/defined.ts';

export type RunningGateway = {
  /** `http://host:port/` or `https://host:port/`, without the token */
  readonly url: string;
  readonly pid: number;
  /** name of the machine, or of the container */
  readonly host: string;
  /** when the process began, as Linux counts it: a later process may have the same id */
  readonly began?: string;
};

const fileIn = (home: string): string => join(home, 'gateway.json');

/**
 * Writes the file for this process; what follows `#` in the URL is a secret and is left out.
 * Returns what removes it, if it still names this process. Never throws: a failure is printed.
 */
export function noteRunningGateway(home: string, url: string): () => void {
  const file = fileIn(home);
  const draft = `${file}.${randomBytes(6).toString('hex')}.new`;
  const { pid } = process;
  const began = beginOf(pid);
  const running: RunningGateway = {
    url: url.replace(/#.*/, ''),
    pid,
    host: hostname(),
    ...defined({ began }),
  };
  try {
    writeFileSync(draft, `${JSON.stringify(running)}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    process.stderr.write(`troupe: cannot write ${file} (${why}): other commands need --port\n`);
  }
  return () => {
    if (read(home)?.pid === pid) rmSync(file, { force: true });
  };
}

/** The gateway of this data folder that runs on this machine. Never throws. */
export function runningGateway(home: string): RunningGateway | undefined {
  const noted = read(home);
  return noted && noted.host === hostname() && isRunning(noted) ? noted : undefined;
}

function read(home: string): RunningGateway | undefined {
  try {
    const noted = JSON.parse(readFileSync(fileIn(home), 'utf8')) as RunningGateway;
    const { protocol, hostname: at } = new URL(noted.url);
    // Gateways listen on IP addresses.
    const isGateway = /^https?:$/.test(protocol) && /^[\d.]+$|^\[/.test(at);
    return isGateway && Number.isInteger(noted.pid) && noted.pid > 0 ? noted : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the process that wrote the file still runs. */
function isRunning({ pid, began }: RunningGateway): boolean {
  if (began !== undefined) return began === beginOf(pid);
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it exists and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * When a process began, in ticks since the start of the machine. undefined for one that has ended,
 * and on systems without `/proc`.
 */
function beginOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program, in parentheses, may contain anything.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? undefined : fields[18];
  } catch {
    return undefined;
  }
}
