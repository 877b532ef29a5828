/**
 * Background commands of a worker: their owners, output and ends.
 *
 * They run below this process and end with it, which the boundary guarantees. Nothing is durable: a
 * session that moved to another worker is notified that they are gone. Their number and output are
 * limited.
 */
import { randomBytes } from 'node:crypto';
import type { CommandEnd, RunningCommand } from '../../sandbox/boundary.ts';
import { KeptOutput } from './kept-output.ts';
import type { SecretMask } from '../secret-mask.ts';
import type { ToolContext } from '../tool.ts';

/** Maximum running commands of one session. */
export const RUNNING_MAX = 16;
/** Maximum commands of all sessions of a worker, including ended ones. */
const KNOWN_MAX = 128;
/** Maximum kept output of each command. */
const OUTPUT_BYTES_MAX = 256 * 1024;

export type BackgroundProcess = {
  readonly id: string;
  readonly command: string;
  /** shard time of the call that started it */
  readonly startedAt: number;
  readonly output: KeptOutput;
  readonly running: RunningCommand;
  /** undefined while it runs */
  ended: CommandEnd | undefined;
  /** Resolves when it has ended and its output is complete. */
  readonly done: Promise<CommandEnd>;
};

type Owner = Pick<ToolContext, 'tenant' | 'agentId' | 'sessionKey'>;

export type Processes = {
  /** The commands of a session, oldest first. */
  of(owner: Owner): readonly BackgroundProcess[];
  /** undefined when this session has no command `id` on this worker */
  get(owner: Owner, id: string): BackgroundProcess | undefined;
  /** whether a session may start another one */
  hasRoom(owner: Owner): boolean;
  add(owner: Owner, started: StartedCommand, startedAt: number): BackgroundProcess;
  /** Ends all running commands. */
  close(): Promise<void>;
};

/** A started command whose output is collected. */
export type StartedCommand = Pick<BackgroundProcess, 'command' | 'output' | 'running' | 'done'>;

/**
 * Maximum wait for output after a command's end: on the host a detached process may keep the pipe
 * open.
 */
const DRAIN_MS = 1_000;

/**
 * Collects the output of `running` with secret values masked; `onOutput` receives it as it arrives.
 */
export function keep(
  command: string,
  running: RunningCommand,
  secrets: SecretMask,
  onOutput: (stream: 0 | 1, chunk: Buffer) => void,
): StartedCommand {
  const output = new KeptOutput(OUTPUT_BYTES_MAX);
  const streams = [running.stdout, running.stderr] as const;
  const drained = streams.map((stream, index) => {
    const mask = secrets.byteStream();
    const add = (chunk: Buffer) => {
      if (chunk.length === 0) return;
      output.add(chunk);
      onOutput(index === 0 ? 0 : 1, chunk);
    };
    stream.on('data', (chunk: Buffer) => add(mask.add(chunk)));
    stream.on('error', () => {});
    return new Promise<void>((resolve) =>
      stream.once('close', () => {
        add(mask.end());
        resolve();
      }),
    );
  });
  const done = running.end.then(async (end) => {
    const timer = setTimeout(() => streams.forEach((stream) => stream.destroy()), DRAIN_MS);
    await Promise.all(drained);
    clearTimeout(timer);
    return end;
  });
  return { command, output, running, done };
}

export function createProcesses(): Processes {
  const known = new Map<string, { readonly key: string; readonly process: BackgroundProcess }>();
  const of = (owner: Owner): BackgroundProcess[] => {
    const key = keyOf(owner);
    return [...known.values()].filter((each) => each.key === key).map(({ process }) => process);
  };
  return {
    of,
    get: (owner, id) => of(owner).find((process) => process.id === id),
    hasRoom: (owner) => of(owner).filter(({ ended }) => !ended).length < RUNNING_MAX,
    add(owner, started, startedAt) {
      const id = `p-${randomBytes(4).toString('hex')}`;
      const process: BackgroundProcess = { ...started, id, startedAt, ended: undefined };
      void started.done.then((end) => (process.ended = end));
      known.set(id, { key: keyOf(owner), process });
      forget(known);
      return process;
    },
    async close() {
      const all = [...known.values()].map(({ process }) => process);
      for (const { running, ended } of all) if (!ended) running.kill();
      await Promise.all(all.map(({ done }) => done));
    },
  };
}

/** Removes the oldest ended commands beyond the limit; running ones are never removed. */
function forget(known: Map<string, { readonly process: BackgroundProcess }>): void {
  for (const [id, { process }] of known) {
    if (known.size <= KNOWN_MAX) return;
    if (process.ended) known.delete(id);
  }
}

const keyOf = ({ tenant, agentId, sessionKey }: Owner): string =>
  JSON.stringify([tenant, agentId, sessionKey]);

/** Describes the end of a command for the model. */
export function endInWords({ code, ended }: CommandEnd): string {
  switch (ended) {
    case 'exit':
      return `exit code ${code}`;
    case 'timeout':
      return 'its time was up: it was ended, with all that it started. A longer timeoutSec may help';
    case 'aborted':
      return 'it was ended with its run';
    case 'memory':
      return 'it took more memory than it may: it was ended, with all that it started';
    case 'processes':
      return 'it started more processes than it may: it was ended, with all of them';
    case 'signal':
      return 'a signal ended it';
  }
}
