/**
 * Boundary: runs commands that can access a workspace and nothing else. One interface with three
 * implementations: bubblewrap, Docker, and none (`host.ts`: the rights of the user, for sessions
 * that are not sandboxed).
 *
 * Contract of every boundary (`test/agent/sandbox/contract.ts`):
 *  - a command sees the workspace at `/workspace` (its real path on the host), read-only or
 *    writable by `access`, or not at all; a private temporary folder; and the system's programs,
 *    read-only. It does not see the home folder, troupe's data or troupe's environment;
 *  - no network unless `network` allows it; no new privileges; no access to other processes;
 *  - the command and all processes that it started end on timeout, on abort, and when this process
 *    dies;
 *  - memory, processes and output are limited; output beyond the limit is counted, not kept.
 */
import type { Readable, Writable } from 'node:stream';

export type SandboxLimits = {
  /** maximum run time, milliseconds */
  readonly timeoutMs: number;
  /** memory of all its processes, excluding temporary files; default 1 GiB */
  readonly memoryBytesMax: number;
  /** maximum number of concurrent processes and threads; default 256 */
  readonly processesMax: number;
  /** maximum size of a file that it writes; default 256 MiB */
  readonly fileBytesMax: number;
};

export type SandboxedCommand = {
  /** program and arguments; no shell is added */
  readonly argv: readonly string[];
  /** absolute path of the workspace on this machine; absent: no workspace */
  readonly workspace?: string;
  readonly access: 'ro' | 'rw' | 'none';
  /** relative to the workspace; default its top */
  readonly cwd?: string;
  /** environment variables in addition to PATH, HOME and LANG, which the boundary sets */
  readonly env?: Readonly<Record<string, string>>;
  /** default false; ignored on the host */
  readonly network?: boolean;
  readonly limits: SandboxLimits;
  readonly signal: AbortSignal;
};

/** How the command ended. */
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
  /** Resolves once, when none of its processes runs any more. Never rejects. */
  readonly end: Promise<CommandEnd>;
  /** Ends the command and all processes that it started. */
  kill(): void;
};

export interface Boundary {
  /** `auto`: the first of bubblewrap and Docker that works here */
  readonly kind: 'bubblewrap' | 'docker' | 'host' | 'auto';
  /**
   * @throws TroupeError UNAVAILABLE when the boundary cannot be used here, with what to install or
   *   grant
   */
  run(command: SandboxedCommand): Promise<RunningCommand>;
}
