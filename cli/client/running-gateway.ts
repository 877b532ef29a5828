/**
 * Where the gateway of a data folder listens: `gateway.json` in the data folder. `troupe start` and
 * `troupe gateway` write it when they listen and remove it when they stop, so that other commands
 * find a gateway on another port than the configured one.
 *
 * A process that was killed leaves the file; it counts only while its process exists on this
 * machine. Another host or container that shares the folder ignores it.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

export type RunningGateway = {
  /** `http://host:port/`, without the token */
  readonly url: string;
  readonly pid: number;
  /** name of the machine, or of the container */
  readonly host: string;
};

const fileIn = (home: string): string => join(home, 'gateway.json');

/**
 * Writes the file for this process; what follows `#` in the URL is a secret and is left out.
 * Returns what removes it, if it still names this process.
 * @throws the error of the operating system
 */
export function noteRunningGateway(home: string, url: string): () => void {
  const file = fileIn(home);
  const draft = `${file}.${randomBytes(6).toString('hex')}.new`;
  const running: RunningGateway = {
    url: url.replace(/#.*/, ''),
    pid: process.pid,
    host: hostname(),
  };
  writeFileSync(draft, `${JSON.stringify(running)}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(draft, file);
  return () => {
    if (read(home)?.pid === process.pid) rmSync(file, { force: true });
  };
}

/** The gateway of this data folder that runs on this machine. Never throws. */
export function runningGateway(home: string): RunningGateway | undefined {
  const noted = read(home);
  return noted && noted.host === hostname() && exists(noted.pid) ? noted : undefined;
}

function read(home: string): RunningGateway | undefined {
  try {
    const { url, pid, host } = JSON.parse(readFileSync(fileIn(home), 'utf8')) as RunningGateway;
    return URL.canParse(url) && Number.isInteger(pid) && pid > 0 ? { url, pid, host } : undefined;
  } catch {
    return undefined;
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it exists and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
