/**
 * A cgroup for one command, that bounds its processes in the kernel: for root, to whom RLIMIT_NPROC
 * does not apply. Others have that limit, and rarely a cgroup that they may write.
 *
 * Boundary: the controller pids of version 1 or 2, below the group of this process, where that can
 * be written. Where it cannot there is no group, and samples have to do (`supervised.ts`).
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive } from './process-tree.ts';

export type TaskGroup = {
  /** `argv`, begun inside the group; still the same process */
  entered(argv: readonly string[]): string[];
  /** After the last of it has ended. false: the kernel still counts one, try again */
  remove(): boolean;
};

/** A group for at most `tasksMax` processes and threads; undefined where there can be none. */
export function createTaskGroup(tasksMax: number): TaskGroup | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const parent of parents()) {
    const folder = join(parent, `${PREFIX}${process.pid}-${randomUUID()}`);
    try {
      mkdirSync(folder);
    } catch {
      continue;
    }
    try {
      removeLeftIn(parent);
      writeFileSync(join(folder, 'pids.max'), String(tasksMax), { flag: 'r+' });
      return { entered: (argv) => entering(folder, argv), remove: () => remove(folder) };
    } catch {
      // the controller is not handed down to this place
      remove(folder);
    }
  }
  return undefined;
}

/** The groups of this process, with the controller pids by itself or all controllers in one. */
function parents(): string[] {
  let own: string;
  try {
    own = readFileSync('/proc/self/cgroup', 'utf8');
  } catch {
    return [];
  }
  return own.split('\n').flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (path === undefined) return [];
    if (controllers === '') return [join('/sys/fs/cgroup', path)];
    return controllers === 'pids' ? [join('/sys/fs/cgroup/pids', path)] : [];
  });
}

const entering = (folder: string, argv: readonly string[]): string[] => [
  '/bin/sh',
  '-c',
  '{ echo $$ > "$0"; } 2>/dev/null; exec "$@"',
  join(folder, 'cgroup.procs'),
  ...argv,
];

/** Groups of processes that died with commands in them. Done once for each place. */
function removeLeftIn(parent: string): void {
  if (swept.has(parent)) return;
  swept.add(parent);
  for (const name of readdirSync(parent)) {
    const pid = name.startsWith(PREFIX) ? Number.parseInt(name.slice(PREFIX.length), 10) : NaN;
    if (pid > 0 && !isAlive(pid)) remove(join(parent, name));
  }
}
const swept = new Set<string>();
const PREFIX = 'troupe-';

function remove(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch {
    return false;
  }
}
