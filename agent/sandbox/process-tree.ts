/**
 * The processes below a process, their threads and their memory, read from /proc (Linux).
 *
 * Boundary: it reads and kills, but starts nothing. In a pid namespace the first process adopts
 * orphans, so the walk from there is complete. On the host, a process that left its parent is found
 * by the inherited mark in its environment (`marked`).
 */
import { readdirSync, readFileSync } from 'node:fs';

export type TreeUse = { readonly tasks: number; readonly memoryBytes: number };

/** `root` and its descendants, about `max` at most; empty when it has ended. */
export function processesUnder(root: number, max: number): number[] {
  const found = new Set<number>();
  const next = [root];
  for (let pid = next.pop(); pid !== undefined && found.size < max; pid = next.pop()) {
    if (found.has(pid)) continue;
    const threads = entriesOf(`/proc/${pid}/task`);
    if (threads.length === 0) continue;
    found.add(pid);
    for (const thread of threads) next.push(...childrenOf(pid, thread));
  }
  return [...found];
}

/** The current use of `pids`: threads, and private memory (no files, no shared libraries). */
export function useOf(pids: readonly number[]): TreeUse {
  let tasks = 0;
  let memoryBytes = 0;
  for (const pid of pids) {
    const status = textOf(`/proc/${pid}/status`);
    tasks += numberIn(status, /^Threads:\s+(\d+)/m);
    memoryBytes += 1024 * numberIn(status, /^RssAnon:\s+(\d+)/m);
  }
  return { tasks, memoryBytes };
}

/** Processes of this user whose initial environment contained `name=value`. */
export function marked(name: string, value: string): number[] {
  const mark = `${name}=${value}`;
  return entriesOf('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && textOf(`/proc/${pid}/environ`).split('\0').includes(mark));
}

/** Kills `pid`; does nothing when it has ended. Negative: a process group. */
export function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}

/** A process in the state Z (not yet reaped) counts as ended, because it runs no code. */
export const isAlive = (pid: number): boolean =>
  /^State:\s+[^ZX\s]/m.test(textOf(`/proc/${pid}/status`));

const childrenOf = (pid: number, thread: string): number[] =>
  textOf(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number);

const numberIn = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1] ?? 0);

/** Processes may end during the walk; those are skipped. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
