/**
 * Executes commands that users write as chat messages (`/new`, `/model`, …) and stores their
 * answers. A command is not a run: it has one final `chat` event under the idempotency key of its
 * message.
 *
 * Invariants:
 *  1. The same key is the same command: it is executed once, and a client that sends it again
 *     receives the same final event.
 *  2. A connection receives a final event at most once.
 *  3. At most COMMANDS_KEPT_MAX answers are kept. The session also stores the keys of commands that
 *     changed it.
 */
import { defined } from '../../../protocols/defined.ts';
import { errorData, TroupeError } from '../../../protocols/errors.ts';
import { type Clock, LruMap, type Principal, type System } from '../../../runtime/index.ts';
import { executeCommand } from '../../commands/execute.ts';
import { type Command, readCommand } from '../../commands/parse.ts';
import type { ModelRules } from '../../../protocols/model-choice.ts';
import type { Connection } from '../transport/connection.ts';
import { COMMANDS_STORED_MAX } from '../limits.ts';
import type { Logger } from '../log.ts';
import type { LiveRuns, RunEnd } from '../streams/live-runs.ts';
import type { AgentNames } from '../sessions/session-key.ts';

/**
 * Hears of a command before it is carried out; a reply is added to the answer. Does not
 * throw.
 */
export type OnCommand = (
  command: { readonly name: string; readonly args: string; readonly sender?: string },
  about: { readonly tenant: string; readonly agentId: string; readonly sessionKey: string },
) => Promise<{ readonly reply?: string } | undefined>;

/** A message as it came. */
export type CommandMessage = {
  /** who gives the command */
  readonly by: Principal;
  readonly runId: string;
  readonly sessionKey: string;
  readonly agentId: string;
  readonly text: string;
};

export type AcceptedCommand = {
  readonly acceptedAt: number;
  /** it was sent before */
  readonly isRepeated: boolean;
  readonly end: Promise<RunEnd>;
};

type StoredCommand = {
  readonly written: CommandMessage;
  readonly acceptedAt: number;
  readonly end: Promise<RunEnd>;
  /** connections that were told of the end */
  readonly told: WeakSet<Connection>;
};

/** What the desk works with. */
export type ChatCommandsParts = {
  readonly system: Pick<System, 'ask' | 'index'>;
  readonly tenant: string;
  readonly names: AgentNames;
  readonly models: ModelRules;
  readonly clock: Clock;
  readonly log: Logger;
  readonly runs: Pick<LiveRuns, 'row'>;
  /** those that get events; the set may change at any time */
  readonly connections: Iterable<Connection>;
  /** tells connections of an end */
  readonly tell: (end: RunEnd, connections: Iterable<Connection>) => void;
  readonly onCommand?: OnCommand | undefined;
};

export class ChatCommands {
  readonly #kept = new LruMap<string, StoredCommand>(COMMANDS_STORED_MAX);
  readonly #parts: ChatCommandsParts;

  constructor(parts: ChatCommandsParts) {
    this.#parts = parts;
  }

  /** How the command of this key ended; undefined: it is none that is remembered. */
  end(runId: string): Promise<RunEnd> | undefined {
    return this.#kept.get(runId)?.end;
  }

  /**
   * Takes the message if it is a command; undefined: it is one for the model. The end is told by
   * itself, after the returned promise of it has resolved.
   * @throws TroupeError CONFLICT when the key was used for another command
   */
  accept(connection: Connection, written: CommandMessage): AcceptedCommand | undefined {
    const kept = this.#kept.get(written.runId);
    if (kept !== undefined) return this.#repeat(kept, connection, written);
    const read = readCommand(written.text);
    // A key that a run has is a run's, whatever is sent with it: the session refuses the other.
    if (read.kind === 'text' || this.#parts.runs.row(written.runId) !== undefined) return undefined;
    const acceptedAt = this.#parts.clock.wallMs();
    const text =
      read.kind === 'wrong'
        ? Promise.resolve(read.text)
        : this.#answer(written, read.command, read.args);
    const end = text.then(
      (said) => endOf(this.#parts, written, acceptedAt, said),
      (error: unknown) => endOf(this.#parts, written, acceptedAt, '', error),
    );
    const told = new WeakSet<Connection>();
    this.#keep({ written, acceptedAt, end, told });
    void end.then((ended) => this.#tellNew(ended, told, this.#parts.connections));
    return { acceptedAt, isRepeated: false, end };
  }

  #repeat(
    { written: first, acceptedAt, end, told }: StoredCommand,
    who: Connection,
    again: CommandMessage,
  ): AcceptedCommand {
    if (first.sessionKey !== again.sessionKey || first.text !== again.text) {
      throw new TroupeError('CONFLICT', 'this idempotencyKey was used for another command');
    }
    void end.then((ended) => this.#tellNew(ended, told, [who]));
    return { acceptedAt, isRepeated: true, end };
  }

  #tellNew(end: RunEnd, told: WeakSet<Connection>, connections: Iterable<Connection>): void {
    const fresh = [...connections].filter((connection) => !told.has(connection));
    for (const connection of fresh) told.add(connection);
    this.#parts.tell(end, fresh);
  }

  async #answer(written: CommandMessage, command: Command, args: string): Promise<string> {
    const { system, tenant, names, models, onCommand } = this.#parts;
    const { by: principal, sessionKey, agentId, runId } = written;
    const about = { tenant, agentId, sessionKey };
    const heard = await onCommand?.({ name: command.name, args, sender: principal.sub }, about);
    const model = names.agents.find(({ id }) => id === agentId)?.model;
    const place = {
      system,
      models,
      principal,
      key: runId,
      ...about,
      ...defined({ model }),
    };
    const text = await executeCommand(place, command);
    return heard?.reply ? `${text}\n\n${heard.reply}` : text;
  }

  #keep(kept: StoredCommand): void {
    this.#kept.set(kept.written.runId, kept);
  }
}

const endOf = (
  { clock, log }: ChatCommandsParts,
  { runId, sessionKey }: CommandMessage,
  startedAt: number,
  text: string,
  thrown?: unknown,
): RunEnd => {
  if (thrown !== undefined && !(thrown instanceof TroupeError)) {
    log.error({ err: thrown, runId }, 'gateway: a command failed');
  }
  return {
    runId,
    sessionKey,
    status: thrown === undefined ? 'ok' : 'error',
    startedAt,
    endedAt: clock.wallMs(),
    text,
    error: thrown === undefined ? undefined : errorData(thrown),
    usage: undefined,
    model: undefined,
    joined: undefined,
  };
};
