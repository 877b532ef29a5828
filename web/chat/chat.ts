/**
 * Chat: one open conversation. It shows what the gateway has committed and the output of active
 * runs, sends messages, and stops runs.
 *
 * The workspace owns the connection and the list of conversations. The outbox owns unacknowledged
 * messages and outlives this object.
 *
 * Invariant: after every connect, and whenever events were lost, the committed state is read again.
 */
import {
  type Approval,
  activeRun,
  type ChatEvent,
  type Conversation,
  emptyConversation,
  type History,
  knowsRun,
  type Sent,
  type SentImage,
  withAgentEvent,
  withChatEvent,
  withHistory,
  withoutSent,
  withSent,
} from './conversation.ts';
import type { AgentEvent } from './tool-steps.ts';
import { newId, type Outbox, type Taken } from './outbox.ts';

export type ChatOptions = {
  readonly sessionKey: string;
  readonly outbox: Outbox;
  request<Result>(method: string, params: object): Promise<Result>;
  onChange(conversation: Conversation): void;
};

/** Messages that are read at first, and more when the user scrolls to the oldest of them. */
const HISTORY_LIMIT = 200;
const HISTORY_LIMIT_MAX = 1_000;
/** Reads that are requested within this time are combined. */
const RELOAD_MS = 60;

export class Chat {
  readonly sessionKey: string;
  readonly #options: ChatOptions;
  #conversation: Conversation;
  #reload: ReturnType<typeof setTimeout> | undefined;
  #limit = HISTORY_LIMIT;
  #closed = false;

  constructor(options: ChatOptions) {
    this.#options = options;
    this.sessionKey = options.sessionKey;
    this.#conversation = { ...emptyConversation, outbox: options.outbox.of(options.sessionKey) };
  }

  get conversation(): Conversation {
    return this.#conversation;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#reload);
  }

  send(text: string, images: readonly SentImage[] = []): void {
    const sent: Sent = {
      runId: newId(),
      text,
      state: 'sending',
      ...(images.length > 0 ? { images } : {}),
    };
    this.#note(withSent(this.#conversation, sent));
    this.#options.outbox.deliver(this.sessionKey, sent);
  }

  /** Sends a failed message again with the same key. */
  tryAgain(sent: Sent): void {
    const { error: _, ...message } = sent;
    const again: Sent = { ...message, state: 'sending' };
    this.#note(withSent(this.#conversation, again));
    this.#options.outbox.deliver(this.sessionKey, again);
  }

  discard(sent: Sent): void {
    this.#note(withoutSent(this.#conversation, sent.runId));
  }

  /** Reads older messages, up to the gateway's limit. */
  readEarlier(): void {
    if (!this.#conversation.hasMore || this.#limit === HISTORY_LIMIT_MAX) return;
    this.#limit = Math.min(HISTORY_LIMIT_MAX, this.#limit + HISTORY_LIMIT);
    void this.catchUp();
  }

  /** Stops the running answer. */
  abort(): void {
    const run = activeRun(this.#conversation);
    const params = { sessionKey: this.sessionKey, ...(run ? { runId: run.runId } : {}) };
    // Fails if the connection broke or the run just ended; later events show either.
    this.#options.request('chat.abort', params).catch(() => this.reloadSoon());
  }

  /** Reads the committed state, for example after a connect. Never rejects. */
  async catchUp(): Promise<void> {
    const params = { sessionKey: this.sessionKey, limit: this.#limit };
    try {
      const history = await this.#options.request<History>('chat.history', params);
      this.#note(withHistory(this.#conversation, history));
    } catch {
      // The connection broke: the next one reads it.
    }
  }

  /**
   * Sets the commands that wait for an approval. One without a session is shown in every
   * conversation.
   */
  setApprovals(all: readonly Approval[]): void {
    const approvals = all.filter(
      ({ request }) => (request.sessionKey ?? this.sessionKey) === this.sessionKey,
    );
    this.#note({ ...this.#conversation, approvals });
  }

  event(event: string, payload: unknown): void {
    if (event === 'chat') {
      const chat = payload as ChatEvent & { sessionKey: string };
      if (chat.sessionKey !== this.sessionKey) return;
      this.#note(withChatEvent(this.#conversation, chat));
      if (chat.state !== 'delta') this.reloadSoon();
    } else if (event === 'agent') this.#agentEvent(payload as AgentEvent);
  }

  /** The gateway accepted or refused a message of this conversation. */
  settled(sent: Sent, taken: Taken | undefined): void {
    if (!this.#conversation.outbox.some(({ runId }) => runId === sent.runId)) return;
    this.#note(withSent(this.#conversation, sent));
    if (taken === undefined || taken.command) return;
    if (taken.status !== 'started') this.reloadSoon();
    else if (!taken.queued) {
      const { runId } = sent;
      this.event('agent', { runId, stream: 'lifecycle', data: { phase: 'start' } });
    }
  }

  #agentEvent(agent: AgentEvent): void {
    const { runId, data } = agent;
    if (agent.stream === 'subagent') {
      if (data.parentSessionKey === this.sessionKey) this.reloadSoon();
      return;
    }
    const ours =
      knowsRun(this.#conversation, runId) ||
      data.sessionKey === this.sessionKey ||
      agent.sessionKey === this.sessionKey;
    if (!ours) return;
    this.#note(withAgentEvent(this.#conversation, agent));
    const newStep = agent.stream === 'tool' && data.phase === 'start';
    if (newStep || agent.stream === 'steer' || !knowsRun(this.#conversation, runId))
      this.reloadSoon();
  }

  /** Something changed that events do not describe completely. */
  reloadSoon(): void {
    this.#reload ??= setTimeout(() => {
      this.#reload = undefined;
      void this.catchUp();
    }, RELOAD_MS);
  }

  #note(conversation: Conversation): void {
    if (this.#closed) return;
    const before = this.#conversation.outbox;
    this.#conversation = conversation;
    if (conversation.outbox !== before)
      this.#options.outbox.keep(this.sessionKey, conversation.outbox);
    this.#options.onChange(conversation);
  }
}
