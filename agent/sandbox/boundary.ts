/**
 * Boundary: runs commands so that they can touch a workspace and nothing else. One interface,
 * three ways: bubblewrap, Docker, and none (`host.ts`: the user's own rights, for what is not
 * sandboxed).
 *
 * Contract, for every boundary (`test/agent/sandbox/contract.ts`):
 *  - a command sees the workspace at `/workspace` (its real path on the host), read-only or
 *    writable as `access` says, or not at all, a temporary folder of its own, and the system's
 *    programs read-only. Not the home folder, not troupe's data, not the environment of troupe;
 *  - no network unless `network` says so; no new privileges; no sight of other processes;
 *  - it ends, with all that it started, when the time is up, the signal is aborted or this process
 *    dies;
 *  - memory, processes and output are bounded; output past the bound is counted, not kept.
 */
import type { Readable, Writable } from 'node:stream';

export type SandboxLimits = {
  /** longest, milliseconds */
  readonly timeoutMs: number;
  /** of all its processes, without temporary files; default 1 GiB */
  readonly memoryBytesMax: number;
  /** processes and threads at once; default 256 */
  readonly processesMax: number;
  /** largest file it may write; default 256 MiB */
  readonly fileBytesMax: number;
};

export type SandboxedCommand = {
  /** program and arguments; no shell unless it is one */
  readonly argv: readonly string[];
  /** absolute path of the workspace on this machine; absent: it has none */
  readonly workspace?: string;
  readonly access: 'ro' | 'rw' | 'none';
  /** relative to the workspace; default its top */
  readonly cwd?: string;
  /** the whole environment, beside PATH, HOME and LANG, which the boundary sets */
  readonly env?: Readonly<Record<string, string>>;
  /** default false; ignored on the host */
  readonly network?: boolean;
  readonly limits: SandboxLimits;
  readonly signal: AbortSignal;
};

/** What became of it. */
export type CommandEnd = {
  /** null when a signal ended it */
  readonly code: number | null;
  readonly ended: 'exit' | 'signal' | 'timeout' | 'aborted' | 'memory' | 'processes';
};

export type RunningCommand = {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Settles once, when nothing of it runs any more. Never rejects. */
  readonly end: Promise<CommandEnd>;
  /** Ends it and all that it started. */
  kill(): void;
};

export interface Boundary {
  /** `auto`: the first of bubblewrap and Docker that works here */
  readonly kind: 'bubblewrap' | 'docker' | 'host' | 'auto';
  /**
   * @throws TroupeError UNAVAILABLE when it cannot be used here: what, and what to install or
   * grant
   */
  run(command: SandboxedCommand): Promise<RunningCommand>;
}
