/**
 * The host boundary: no isolation. A command has the rights of the user who runs troupe, and the
 * network. Its environment contains only what it is given, so it cannot read troupe's keys.
 *
 * It keeps one part of the contract: the command ends, with all processes that it started, on
 * timeout, on abort, when this process dies, and when its first process ends. Its processes are
 * found by process group, parentage and a mark in the environment. A process that deliberately
 * drops all three is not found; use a sandbox against such commands.
 */
import { randomUUID } from 'node:crypto';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import type { Boundary, RunningCommand, SandboxedCommand } from './boundary.ts';
import { isAlive, killNow, marked, processesUnder } from './process-tree.ts';
import { startPiped } from './start-piped.ts';
import { settled, supervise } from './supervised.ts';

/** Environment variable that all processes of a command inherit. */
const MARK = 'TROUPE_COMMAND_ID';

export const createHostBoundary = (): Boundary => ({ kind: 'host', run });

/**
 * Runs "$@" as the leader of its process group, marked by $1. A watchdog in the group starts before
 * it. Only this process holds the other end of descriptor 3, so the watchdog reads its end when
 * this process ends. The watchdog has no mark: it kills marked processes until none are left, then
 * its group.
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
