/**
 * A cgroup that limits the processes of one command. Root needs it, because RLIMIT_NPROC does not
 * apply to root. Other users have that limit, and rarely a writable cgroup.
 *
 * Boundary: the pids controller of version 1 or 2, below the cgroup of this process, where it is
 * writable. Otherwise there is no group, and only samples limit the processes (`supervised.ts`).
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive } from './process-tree.ts';

export type TaskGroup = {
  /** wraps `argv` so that it starts inside the group, in the same process */
  entered(argv: readonly string[]): string[];
  /** Call it after the last process has ended. false: the kernel still counts one; try again */
  remove(): boolean;
};

/** A group for at most `tasksMax` processes and threads; undefined where none can be created. */
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
      // the controller is not delegated to this cgroup
      remove(folder);
    }
  }
  return undefined;
}

/**
 * The cgroups of this process: the pids controller (version 1) or the unified hierarchy (version
 * 2).
 */
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

/** Removes groups of processes that died while their commands ran. Once per place. */
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
