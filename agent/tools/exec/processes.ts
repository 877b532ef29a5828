/**
 * Background commands of a worker: who started them, what they said, what became of them.
 *
 * They live in this process and end with it, by the boundary's word: nothing here is durable, and
 * a session that moved to another worker is told so. Bounded in number and in output.
 */
import { randomBytes } from 'node:crypto';
import type { CommandEnd, RunningCommand } from '../../sandbox/boundary.ts';
import { KeptOutput } from './kept-output.ts';
import type { SecretMask } from '../secret-mask.ts';
import type { ToolContext } from '../tool.ts';

/** At once, of one session. */
export const RUNNING_MAX = 16;
/** Of all sessions of a worker, ended ones included. */
const KNOWN_MAX = 128;
/** Kept of the output of each. */
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
  /** Settles when it has ended and all of its output is kept. */
  readonly done: Promise<CommandEnd>;
};

type Owner = Pick<ToolContext, 'tenant' | 'agentId' | 'sessionKey'>;

export type Processes = {
  /** Those of a session, oldest first. */
  of(owner: Owner): readonly BackgroundProcess[];
  /** undefined when this worker knows none of this session by `id` */
  get(owner: Owner, id: string): BackgroundProcess | undefined;
  /** whether a session may start another */
  hasRoom(owner: Owner): boolean;
  add(owner: Owner, started: StartedCommand, startedAt: number): BackgroundProcess;
  /** Ends all that run. */
  close(): Promise<void>;
};

/** A command with its output being kept. */
export type StartedCommand = Pick<BackgroundProcess, 'command' | 'output' | 'running' | 'done'>;

/**
 * How long output is waited for after a command's end: what left it on the host may hold a pipe.
 */
const DRAIN_MS = 1_000;

/** Keeps the output of `running`, with secret values masked; `tell` sees it as it comes. */
export function keep(
  command: string,
  running: RunningCommand,
  secrets: SecretMask,
  tell: (stream: 0 | 1, chunk: Buffer) => void,
): StartedCommand {
  const output = new KeptOutput(OUTPUT_BYTES_MAX);
  const streams = [running.stdout, running.stderr] as const;
  const drained = streams.map((stream, index) => {
    const mask = secrets.byteStream();
    const add = (chunk: Buffer) => {
      if (chunk.length === 0) return;
      output.add(chunk);
      tell(index === 0 ? 0 : 1, chunk);
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

/** Past the bound the oldest that have ended are forgotten; those that run never are. */
function forget(known: Map<string, { readonly process: BackgroundProcess }>): void {
  for (const [id, { process }] of known) {
    if (known.size <= KNOWN_MAX) return;
    if (process.ended) known.delete(id);
  }
}

const keyOf = ({ tenant, agentId, sessionKey }: Owner): string =>
  JSON.stringify([tenant, agentId, sessionKey]);

/** What became of a command, in words for the model. */
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
