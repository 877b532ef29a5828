/**
 * Executes commands that users write as chat messages (`/new`, `/model`, …) and stores their
 * answers. A command is not a run: it has one final `chat` event under the idempotency key of its
 * message.
 *
 * Invariants:
 *  1. A key identifies one command. It is executed once, and a repeat returns the same final event.
 *  2. A connection receives a final event at most once.
 *  3. At most COMMANDS_STORED_MAX answers are stored here. The session also stores the keys of
 *     commands that changed it.
 */
import { defined } from '../../../protocols/defined.ts';
import { errorData, TroupeError } from '../../../protocols/errors.ts';
import { type Clock, LruMap, type Principal, type System } from '../../../runtime/index.ts';
import { executeCommand } from '../../commands/execute.ts';
import { type Command, readCommand } from '../../commands/parse.ts';
import type { ModelRules } from '../../../protocols/models/model-choice.ts';
import type { Connection } from '../transport/connection.ts';
import { COMMANDS_STORED_MAX } from '../limits.ts';
import type { Logger } from '../log.ts';
import type { LiveRuns, RunEnd } from '../streams/live-runs.ts';
import type { AgentNames } from '../../../operations/sessions/session-key.ts';

/**
 * Called before a command is executed; a returned reply is appended to the answer. Must not throw.
 */
export type OnCommand = (
  command: { readonly name: string; readonly args: string; readonly sender?: string },
  about: { readonly tenant: string; readonly agentId: string; readonly sessionKey: string },
) => Promise<{ readonly reply?: string } | undefined>;

/** The message that contains the command. */
export type CommandMessage = {
  /** the sender */
  readonly by: Principal;
  readonly runId: string;
  readonly sessionKey: string;
  readonly agentId: string;
  readonly text: string;
};

export type AcceptedCommand = {
  readonly acceptedAt: number;
  /** the key was used before */
  readonly isRepeated: boolean;
  readonly end: Promise<RunEnd>;
};

type StoredCommand = {
  readonly written: CommandMessage;
  readonly acceptedAt: number;
  readonly end: Promise<RunEnd>;
  /** connections that received the end */
  readonly receivers: WeakSet<Connection>;
};

/** What executing chat commands needs. */
export type ChatCommandsParts = {
  readonly system: Pick<System, 'ask' | 'index'>;
  readonly tenant: string;
  readonly names: AgentNames;
  readonly models: ModelRules;
  readonly clock: Clock;
  readonly log: Logger;
  readonly runs: Pick<LiveRuns, 'row'>;
  /** receivers of events; the set may change at any time */
  readonly connections: Iterable<Connection>;
  /** publishes an end to connections */
  readonly publish: (end: RunEnd, connections: Iterable<Connection>) => void;
  readonly onCommand?: OnCommand | undefined;
};

export class ChatCommands {
  readonly #kept = new LruMap<string, StoredCommand>(COMMANDS_STORED_MAX);
  readonly #parts: ChatCommandsParts;

  constructor(parts: ChatCommandsParts) {
    this.#parts = parts;
  }

  /** The end of the command with this key; undefined if it is unknown. */
  end(runId: string): Promise<RunEnd> | undefined {
    return this.#kept.get(runId)?.end;
  }

  /**
   * Accepts the message if it is a command; returns undefined for a message to the model. The end
   * is published after the promise `end` has resolved.
   * @throws TroupeError CONFLICT when the key was used for another command
   */
  accept(connection: Connection, written: CommandMessage): AcceptedCommand | undefined {
    const kept = this.#kept.get(written.runId);
    if (kept !== undefined) return this.#repeat(kept, connection, written);
    const read = readCommand(written.text);
    // If a run has the key, the session decides about the repeat.
    if (read.kind === 'text' || this.#parts.runs.row(written.runId) !== undefined) return undefined;
    const acceptedAt = this.#parts.clock.wallMs();
    const text =
      read.kind === 'wrong'
        ? Promise.resolve(read.text)
        : this.#answer(written, read.command, read.args);
    const end = text.then(
      (answer) => endOf(this.#parts, written, acceptedAt, answer),
      (error: unknown) => endOf(this.#parts, written, acceptedAt, '', error),
    );
    const receivers = new WeakSet<Connection>();
    this.#keep({ written, acceptedAt, end, receivers });
    void end.then((ended) => this.#publishTo(ended, receivers, this.#parts.connections));
    return { acceptedAt, isRepeated: false, end };
  }

  #repeat(
    { written: first, acceptedAt, end, receivers }: StoredCommand,
    who: Connection,
    again: CommandMessage,
  ): AcceptedCommand {
    if (first.sessionKey !== again.sessionKey || first.text !== again.text) {
      throw new TroupeError('CONFLICT', 'this idempotencyKey was used for another command');
    }
    void end.then((ended) => this.#publishTo(ended, receivers, [who]));
    return { acceptedAt, isRepeated: true, end };
  }

  #publishTo(end: RunEnd, receivers: WeakSet<Connection>, connections: Iterable<Connection>): void {
    const fresh = [...connections].filter((connection) => !receivers.has(connection));
    for (const connection of fresh) receivers.add(connection);
    this.#parts.publish(end, fresh);
  }

  async #answer(written: CommandMessage, command: Command, args: string): Promise<string> {
    const { system, tenant, names, models, onCommand } = this.#parts;
    const { by: principal, sessionKey, agentId, runId } = written;
    const about = { tenant, agentId, sessionKey };
    const hooked = await onCommand?.({ name: command.name, args, sender: principal.sub }, about);
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
    return hooked?.reply ? `${text}\n\n${hooked.reply}` : text;
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
