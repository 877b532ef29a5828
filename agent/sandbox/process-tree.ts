/**
 * The processes under a process, as /proc tells them (Linux): who they are, and what they take.
 *
 * Boundary: looks and kills, starts nothing. In a pid namespace orphans fall to its first process,
 * so the walk from there is complete; on the host a process that left its parent is found by the
 * mark that it inherited in its environment (`marked`).
 */
import { readdirSync, readFileSync } from 'node:fs';

export type TreeUse = { readonly tasks: number; readonly memoryBytes: number };

/** `root` and everything under it, at most about `max`; empty when it is gone. */
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

/** What `pids` take now: threads, and memory that is theirs (not files, not shared libraries). */
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

/** Processes of this user whose environment at their start held `name=value`. */
export function marked(name: string, value: string): number[] {
  const mark = `${name}=${value}`;
  return entriesOf('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && textOf(`/proc/${pid}/environ`).split('\0').includes(mark));
}

/** Ends `pid` at once; nothing when it is gone already. Negative: a process group. */
export function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}

/** A zombie is gone: it runs nothing. */
export const isAlive = (pid: number): boolean =>
  /^State:\s+[^ZX\s]/m.test(textOf(`/proc/${pid}/status`));

const childrenOf = (pid: number, thread: string): number[] =>
  textOf(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number);

const numberIn = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1] ?? 0);

/** Processes come and go while they are looked at: what is gone says nothing. */
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
