/**
 * Bubblewrap: runs a command in its own namespaces, without a daemon and without root
 * (github.com/containers/bubblewrap). The command sees /usr, a few files of /etc, its workspace and
 * temporary folders. It has no access to other processes or the rest of the disk,
 * and none to the network unless `network` is set.
 *
 * To end it, this process kills the first process of the pid namespace, and the kernel then kills
 * all others in it. bwrap dies with its parent and ends after that process. So when bwrap and its
 * child have ended, no process is left.
 */
import { statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { TroupeError } from '../../protocols/errors.ts';
import type { Boundary, RunningCommand, SandboxedCommand } from './boundary.ts';
import {
  bubblewrapArguments,
  bubblewrapOptions,
  DESCRIPTORS,
  MADE_FILES,
} from './bubblewrap-arguments.ts';
import { isAlive, killNow } from './process-tree.ts';
import { startPiped } from './start-piped.ts';
import { DEFAULT_LIMITS, settled, supervise, tasksMaxOf } from './supervised.ts';
import { createTaskGroup } from './task-group.ts';

const PROGRAM = 'bwrap';
const PROBE_MS = 10_000;
/** Maximum wait for the kernel to remove ended processes. */
const REMOVE_MS = 1_000;

/** Does not check whether it works here; `probeBubblewrap` does. */
export const createBubblewrap = (): Boundary => ({ kind: 'bubblewrap', run });

async function run(command: SandboxedCommand): Promise<RunningCommand> {
  checkWorkspace(command);
  const options = bubblewrapOptions(command);
  const tasks = createTaskGroup(tasksMaxOf(command.limits));
  const line = [programPath(), ...bubblewrapArguments(command)];
  const [program = PROGRAM, ...argv] = tasks?.entered(line) ?? line;
  const started = await startPiped(program, argv, {
    // The sandboxed command can read both of its first process: /proc/1/environ, /proc/1/cwd.
    env: {},
    cwd: '/',
    more: Object.keys(DESCRIPTORS).length,
  });
  const { pid: bwrap } = started;
  const descriptors: readonly unknown[] = started.child.stdio;
  const { info, passwd, group, hosts } = DESCRIPTORS;
  giveFile(descriptors[DESCRIPTORS.options], options);
  giveFile(descriptors[passwd], MADE_FILES.passwd);
  giveFile(descriptors[group], MADE_FILES.group);
  giveFile(descriptors[hosts], MADE_FILES.hosts);
  const first = firstProcess(descriptors[info] as Readable);
  let firstPid: number | undefined;
  void first.then((pid) => (firstPid = pid));
  return supervise(started, {
    limits: command.limits,
    signal: command.signal,
    sampled: true,
    kill: () => void first.then((pid) => killNow(pid ?? bwrap)),
    gone: async () => {
      const pid = firstPid;
      if (pid !== undefined) await settled(() => !isAlive(pid));
      if (tasks) await settled(() => tasks.remove(), REMOVE_MS);
    },
  });
}

/**
 * Searched in the PATH of troupe, which the sandbox does not receive; the bare name when it is not
 * found.
 */
function programPath(): string {
  const folders = (process.env['PATH'] ?? '/usr/bin:/bin').split(delimiter).filter(isAbsolute);
  const isProgram = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  return folders.map((folder) => join(folder, PROGRAM)).find(isProgram) ?? PROGRAM;
}

/** Host process id of the sandbox's first process; undefined when it never started. */
async function firstProcess(info: Readable): Promise<number | undefined> {
  const status = await text(info).catch(() => '');
  const pid = Number(/"child-pid":\s*(\d+)/.exec(status)?.[1]);
  return Number.isInteger(pid) ? pid : undefined;
}

function giveFile(descriptor: unknown, content: string): void {
  // sound: these descriptors were requested as pipes
  const to = descriptor as Writable;
  to.on('error', () => {});
  to.end(content);
}

function checkWorkspace({ workspace, access }: SandboxedCommand): void {
  if (workspace === undefined || access === 'none') return;
  if (statSync(workspace, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new TroupeError('UNAVAILABLE', `The workspace folder does not exist: ${workspace}`);
}

/** Tries bubblewrap: undefined when it works, otherwise why it does not and what to do. */
export async function probeBubblewrap(): Promise<string | undefined> {
  try {
    const running = await run({
      argv: ['true'],
      access: 'none',
      limits: { ...DEFAULT_LIMITS, timeoutMs: PROBE_MS },
      signal: new AbortController().signal,
    });
    running.stdin.end();
    running.stdout.resume();
    const [said, { code }] = await Promise.all([text(running.stderr), running.end]);
    return code === 0 ? undefined : remedyFor(said.trim());
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    return 'bubblewrap is not installed: apt-get install bubblewrap';
  }
}

/** Interprets bwrap's error messages; the only place that does. */
export function remedyFor(said: string): string {
  const what = `bubblewrap does not work here (${said || 'it ended without a message'})`;
  if (/unknown option/i.test(said)) return `${what}: version 0.8 or newer is needed`;
  if (/prlimit/.test(said)) return `${what}: install util-linux, which has prlimit`;
  if (/namespace|not permitted|mount proc|uid map|denied/i.test(said)) {
    return (
      `${what}: user namespaces are forbidden. On a machine: sysctl ` +
      'kernel.unprivileged_userns_clone=1, or an AppArmor profile for bwrap. In a container: ' +
      'docs/sandbox.md says what to grant'
    );
  }
  return what;
}
