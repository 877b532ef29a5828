/**
 * A started command under its limits: time, memory, processes, the caller's signal. What every
 * boundary does the same way.
 *
 * Invariants:
 *  1. `end` settles once, after the boundary has said that nothing of the command runs any more.
 *  2. The first reason to end a command is the one that is told.
 *
 * Memory and processes are sampled, because a limit of the kernel on a sum needs a cgroup of our
 * own, which neither a container nor a user's session hands out. What may come between two samples
 * is bounded by the limits per process that the boundaries set.
 */
import type { CommandEnd, RunningCommand, SandboxLimits } from './boundary.ts';
import { processesUnder, useOf } from './process-tree.ts';
import type { Started } from './start-piped.ts';

export const DEFAULT_LIMITS: SandboxLimits = {
  timeoutMs: 120_000,
  memoryBytesMax: 1024 ** 3,
  processesMax: 256,
  fileBytesMax: 256 * 1024 ** 2,
};

/** What a boundary adds of its own around a command: its init, the shell's wrapper. */
const ownTasks = 8;
/** Processes and threads that a command may have, with what its boundary adds. */
export const tasksMaxOf = ({ processesMax }: SandboxLimits): number => processesMax + ownTasks;

const sampleMs = 100;
/** A sample may take this part of the time, no more. */
const sampleShare = 20;

export type Supervision = {
  readonly limits: SandboxLimits;
  readonly signal: AbortSignal;
  /** Ends all that runs, from a process that is still there; called as often as it takes. */
  kill(): void;
  /** Called when the first process has ended: resolves when nothing of the command is left. */
  gone(): Promise<void>;
  /** false where something else bounds memory and processes (Docker) */
  readonly sampled: boolean;
};

export function supervise(started: Started, supervision: Supervision): RunningCommand {
  const { child, pid, stdin, stdout, stderr } = started;
  const { limits, signal } = supervision;
  let why: CommandEnd['ended'] | undefined;
  let running = true;
  const stop = (reason: CommandEnd['ended']) => {
    // its process id may be another's by now
    if (!running) return;
    why ??= reason;
    supervision.kill();
  };
  const onAbort = () => stop('aborted');
  const timer = setTimeout(() => stop('timeout'), limits.timeoutMs);
  const endSampling = supervision.sampled ? sample(pid, limits, stop) : () => {};
  const exited = new Promise<{ code: number | null }>((resolve) => {
    child.once('exit', (code) => {
      running = false;
      resolve({ code });
    });
  });
  const end = exited.then(async ({ code }) => {
    clearTimeout(timer);
    endSampling();
    signal.removeEventListener('abort', onAbort);
    await supervision.gone();
    return endOf(code, why);
  });
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  return { pid, stdin, stdout, stderr, end, kill: () => stop('signal') };
}

const endOf = (code: number | null, why: CommandEnd['ended'] | undefined): CommandEnd =>
  why === undefined
    ? { code, ended: code === null ? 'signal' : 'exit' }
    : { code: null, ended: why };

/** Looks at the processes under `pid` again and again. Returns what ends the looking. */
function sample(
  pid: number,
  limits: SandboxLimits,
  stop: (reason: 'memory' | 'processes') => void,
): () => void {
  const tasksMax = tasksMaxOf(limits);
  let timer: NodeJS.Timeout;
  const look = () => {
    const begun = performance.now();
    const { tasks, memoryBytes } = useOf(processesUnder(pid, tasksMax + 1));
    if (tasks > tasksMax) stop('processes');
    else if (memoryBytes > limits.memoryBytesMax) stop('memory');
    const tookMs = performance.now() - begun;
    timer = setTimeout(look, Math.max(sampleMs, tookMs * sampleShare));
  };
  timer = setTimeout(look, sampleMs);
  return () => clearTimeout(timer);
}

/** Polls until `is` holds, at most `forMs`: for what the kernel does in its own time. */
export async function settled(is: () => boolean, forMs = 5_000): Promise<boolean> {
  const until = performance.now() + forMs;
  while (!is()) {
    if (performance.now() > until) return false;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return true;
}
