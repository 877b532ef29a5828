/**
 * The host boundary: none. A command has the rights of the user who runs troupe, and the network.
 * It gets the environment that it is given and nothing of troupe's own, so keys do not reach it.
 *
 * Kept of the contract: it ends, with all that it started, when the time is up, the signal is
 * aborted, this process dies, or its first process ends. Who it started is known by process group,
 * parentage and a mark in the environment; a process that leaves all three on purpose stays: that
 * is what sandboxes are for.
 */
import { randomUUID } from 'node:crypto';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import type { Boundary, RunningCommand, SandboxedCommand } from './boundary.ts';
import { isAlive, killNow, marked, processesUnder } from './process-tree.ts';
import { startPiped } from './start-piped.ts';
import { settled, supervise } from './supervised.ts';

/** Inherited by all that a command starts. */
const MARK = 'TROUPE_COMMAND_ID';

export const createHostBoundary = (): Boundary => ({ kind: 'host', run });

/**
 * Runs "$@" as the leader of its group, marked by $1, with a watchdog in the group from before its
 * first word: the end of descriptor 3, which only this process holds, is the end of this process.
 * The watchdog bears no mark: it ends those that do, as often as there are new ones, then its
 * group.
 */
const GUARDED =
  'mark=$1; shift; { read _ <&3; ' +
  'for turn in 1 2 3 4 5 6 7 8 9; do ' +
  'found=$(grep -lzxF "$mark" /proc/[0-9]*/environ 2>/dev/null | cut -d / -f 3); ' +
  '[ -n "$found" ] || break; kill -KILL $found; done; ' +
  'kill -KILL "-$$"; } >/dev/null 2>&1 & export "$mark"; exec "$@" 3<&-';

async function run(command: SandboxedCommand): Promise<RunningCommand> {
  const id = randomUUID();
  const started = await startPiped(
    '/bin/sh',
    ['-c', GUARDED, 'sh', `${MARK}=${id}`, ...command.argv],
    {
      cwd: resolve(command.workspace ?? homedir(), command.cwd ?? '.'),
      env: {
        PATH: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
        HOME: homedir(),
        LANG: 'C.UTF-8',
        ...command.env,
      },
      detached: true,
      more: 1,
    },
  );
  const held = started.child.stdio[3];
  held?.on('error', () => {});
  return supervise(started, {
    limits: command.limits,
    signal: command.signal,
    sampled: process.platform === 'linux',
    kill() {
      for (const pid of processesUnder(started.pid, Infinity)) killNow(pid);
      killNow(-started.pid);
    },
    async gone() {
      killNow(-started.pid);
      await settled(() => {
        const left = marked(MARK, id).filter(isAlive);
        for (const pid of left) killNow(pid);
        return left.length === 0;
      });
      held?.destroy();
    },
  });
}
