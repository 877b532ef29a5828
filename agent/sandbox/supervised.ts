/**
 * Enforces the limits of a started command: time, memory, processes, abort. All boundaries use it.
 *
 * Invariants:
 *  1. `end` resolves once, after the boundary has confirmed that no process of the command runs.
 *  2. The first reason for ending a command is the one that is reported.
 *
 * Memory and processes are sampled. A kernel limit on their sum needs a private cgroup, which
 * neither a container nor a user session provides. Between two samples, the limits per process of
 * the boundary apply.
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

/** Processes that a boundary adds to a command: its init, the shell wrapper. */
const ownTasks = 8;
/** Maximum processes and threads of a command, including those of its boundary. */
export const tasksMaxOf = ({ processesMax }: SandboxLimits): number => processesMax + ownTasks;

const sampleMs = 100;
/** The interval between samples is at least this multiple of a sample's duration. */
const sampleShare = 20;

export type Supervision = {
  readonly limits: SandboxLimits;
  readonly signal: AbortSignal;
  /**
   * Kills all processes of the command while its first process exists; may be called repeatedly.
   */
  kill(): void;
  /** Called when the first process has ended; resolves when no process of the command is left. */
  gone(): Promise<void>;
  /** false when another mechanism limits memory and processes (Docker) */
  readonly sampled: boolean;
};

export function supervise(started: Started, supervision: Supervision): RunningCommand {
  const { child, pid, stdin, stdout, stderr } = started;
  const { limits, signal } = supervision;
  let why: CommandEnd['ended'] | undefined;
  let running = true;
  const stop = (reason: CommandEnd['ended']) => {
    // another process may use its process id by now
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

/** Samples the processes below `pid` periodically. Returns a function that stops it. */
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

/** Polls until `is` returns true, at most `forMs`; for work that the kernel does asynchronously. */
export async function settled(is: () => boolean, forMs = 5_000): Promise<boolean> {
  const until = performance.now() + forMs;
  while (!is()) {
    if (performance.now() > until) return false;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return true;
}
