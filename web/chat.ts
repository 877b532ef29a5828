/**
 * Chat: one conversation over one lasting connection. Sends, stops, and keeps what the page shows
 * in step with the gateway across broken connections and reloads.
 *
 * Invariants:
 *  1. A message gets its idempotency key once, when it is written, and is sent again under it until
 *     the gateway has acknowledged it, also after a reload of the page: it is answered once.
 *  2. After every connect, and whenever events were lost, the committed state is read again.
 */
import {
  type AgentEvent,
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
  withApproval,
  withChatEvent,
  withHistory,
  withoutApproval,
  withoutSent,
  withSent,
} from './conversation.ts';
import {
  type ConnectionState,
  GatewayClient,
  type GatewayClientOptions,
  GatewayError,
} from './gateway-client.ts';

export type ChatView = {
  readonly connection: ConnectionState;
  readonly conversation: Conversation;
};

/** Where messages that are not acknowledged outlive a reload; the browser's sessionStorage fits. */
export type Keep = Pick<Storage, 'getItem' | 'setItem'>;

export type ChatOptions = Pick<GatewayClientOptions, 'url' | 'token' | 'locale' | 'openSocket'> & {
  /** default the main session of the default agent */
  readonly sessionKey?: string;
  readonly keep: Keep;
  onChange(view: ChatView): void;
};

const HISTORY_LIMIT = 200;
/** Reads that are asked for within this time are one. */
const RELOAD_MS = 60;

export class Chat {
  readonly #options: ChatOptions;
  readonly #client: GatewayClient;
  #view: ChatView = { connection: { kind: 'connecting' }, conversation: emptyConversation };
  #sessionKey: string | undefined;
  #reload: ReturnType<typeof setTimeout> | undefined;
  /** sends one after the other, so that they arrive in the order written */
  #sending: Promise<void> = Promise.resolve();

  constructor(options: ChatOptions) {
    this.#options = options;
    this.#client = new GatewayClient({
      ...options,
      onState: (connection) => this.#connection(connection),
      onEvent: (event, payload) => this.#event(event, payload),
      onGap: () => this.#reloadSoon(),
    });
  }

  start(): void {
    this.#client.start();
  }

  stop(): void {
    clearTimeout(this.#reload);
    this.#client.stop();
  }

  send(text: string, images: readonly SentImage[] = []): void {
    const sent: Sent = {
      runId: newRunId(),
      text,
      state: 'sending',
      ...(images.length > 0 ? { images } : {}),
    };
    this.#note(withSent(this.#view.conversation, sent));
    this.#deliver(sent);
  }

  /** Sends a failed message once more, under its own key. */
  tryAgain(sent: Sent): void {
    const { error: _, ...message } = sent;
    const again: Sent = { ...message, state: 'sending' };
    this.#note(withSent(this.#view.conversation, again));
    this.#deliver(again);
  }

  discard(sent: Sent): void {
    this.#note(withoutSent(this.#view.conversation, sent.runId));
  }

  /** Stops the answer that is being given. */
  abort(): void {
    const run = activeRun(this.#view.conversation);
    const params = { sessionKey: this.#sessionKey, ...(run ? { runId: run.runId } : {}) };
    // In vain when the connection broke or the run just ended: what comes next shows either.
    this.#client.request('chat.abort', params).catch(() => this.#reloadSoon());
  }

  /** Answers a question about a command; whoever was first counts, and everybody is told. */
  decide(approval: Approval, decision: string): void {
    const { id } = approval;
    this.#client.request('exec.approval.resolve', { id, decision }).then(
      () => this.#note(withoutApproval(this.#view.conversation, id)),
      () => void this.#readApprovals(),
    );
  }

  #connection(connection: ConnectionState): void {
    if (connection.kind === 'online') {
      const main = connection.hello.snapshot.sessionDefaults?.mainSessionKey;
      this.#sessionKey = this.#options.sessionKey ?? main ?? 'main';
      this.#show({ connection, conversation: this.#withKept() });
      void this.#catchUp();
    } else this.#show({ ...this.#view, connection });
  }

  /** First the committed state, then what this page has not been able to say. */
  async #catchUp(): Promise<void> {
    await Promise.all([this.#readHistory(), this.#readApprovals()]);
    for (const sent of this.#view.conversation.outbox) {
      if (sent.state === 'sending') this.#deliver(sent);
    }
  }

  #event(event: string, payload: unknown): void {
    const { conversation } = this.#view;
    if (event === 'chat') {
      const chat = payload as ChatEvent & { sessionKey: string };
      if (chat.sessionKey !== this.#sessionKey) return;
      this.#note(withChatEvent(conversation, chat));
      if (chat.state !== 'delta') this.#reloadSoon();
    } else if (event === 'exec.approval.requested') {
      const approval = payload as Approval;
      if (approval.request.sessionKey === this.#sessionKey)
        this.#note(withApproval(conversation, approval));
    } else if (event === 'exec.approval.resolved') {
      this.#note(withoutApproval(conversation, (payload as Approval).id));
    } else if (event === 'agent') {
      const agent = payload as AgentEvent;
      const { runId, data } = agent;
      if (agent.stream === 'subagent') {
        if (data.parentSessionKey === this.#sessionKey) this.#reloadSoon();
        return;
      }
      const ours = knowsRun(conversation, runId) || data.sessionKey === this.#sessionKey;
      if (!ours) return;
      this.#note(withAgentEvent(conversation, agent));
      const newStep = agent.stream === 'tool' && data.phase === 'start';
      if (newStep || agent.stream === 'steer' || !knowsRun(conversation, runId)) this.#reloadSoon();
    }
  }

  #deliver(sent: Sent): void {
    this.#sending = this.#sending.then(() => this.#deliverNow(sent));
  }

  async #deliverNow(sent: Sent): Promise<void> {
    const { runId, text, images } = sent;
    if (!this.#client.online) return;
    const params = {
      sessionKey: this.#sessionKey,
      message: text,
      idempotencyKey: runId,
      ...(images ? { attachments: images.map((image) => ({ type: 'image', ...image })) } : {}),
    };
    try {
      const { queued, status, command } = await this.#client.request<Taken>('chat.send', params);
      this.#acknowledged({ ...sent, state: 'accepted', ...(command ? { command } : {}) });
      if (command) return;
      if (status !== 'started') this.#reloadSoon();
      else if (!queued)
        this.#event('agent', { runId, stream: 'lifecycle', data: { phase: 'start' } });
    } catch (error) {
      const failure = error as GatewayError;
      if (failure.code === 'DISCONNECTED') return;
      this.#acknowledged({ ...sent, state: 'failed', error: failure.message });
    }
  }

  /** Only a message that is still shown: history may have come first. */
  #acknowledged(sent: Sent): void {
    const { conversation } = this.#view;
    if (conversation.outbox.some(({ runId }) => runId === sent.runId)) {
      this.#note(withSent(conversation, sent));
    }
  }

  #reloadSoon(): void {
    this.#reload ??= setTimeout(() => {
      this.#reload = undefined;
      void this.#readHistory();
    }, RELOAD_MS);
  }

  async #readHistory(): Promise<void> {
    const params = { sessionKey: this.#sessionKey, limit: HISTORY_LIMIT };
    try {
      const history = await this.#client.request<History>('chat.history', params);
      this.#note(withHistory(this.#view.conversation, history));
    } catch {
      // The connection broke: the next one reads it.
    }
  }

  async #readApprovals(): Promise<void> {
    try {
      const approvals = await this.#client.request<readonly Approval[]>('exec.approval.list', {});
      const ours = approvals.filter(({ request }) => request.sessionKey === this.#sessionKey);
      this.#note({ ...this.#view.conversation, approvals: ours });
    } catch {
      // The connection broke, or this page may not answer: somebody else does.
    }
  }

  /** What was kept over a reload, once the session is known; what is there already is newer. */
  #withKept(): Conversation {
    const { conversation } = this.#view;
    const here = new Set(conversation.outbox.map(({ runId }) => runId));
    const kept = readKept(this.#options.keep, this.#keepKey()).filter(
      ({ runId }) => !here.has(runId),
    );
    return { ...conversation, outbox: [...kept, ...conversation.outbox] };
  }

  #note(conversation: Conversation): void {
    const before = this.#view.conversation.outbox;
    this.#show({ ...this.#view, conversation });
    if (conversation.outbox !== before && this.#sessionKey !== undefined) {
      keepOutbox(this.#options.keep, this.#keepKey(), conversation.outbox);
    }
  }

  #keepKey(): string {
    return `troupe.outbox.${this.#sessionKey}`;
  }

  #show(view: ChatView): void {
    this.#view = view;
    this.#options.onChange(view);
  }
}

type Taken = { readonly queued?: boolean; readonly status: string; readonly command?: boolean };

/** Where images do not fit, the messages without them are kept. */
const keepOutbox = (keep: Keep, key: string, outbox: readonly Sent[]): void => {
  try {
    keep.setItem(key, JSON.stringify(outbox));
  } catch {
    keep.setItem(key, JSON.stringify(outbox.filter(({ images }) => images === undefined)));
  }
};

const readKept = (keep: Keep, key: string): readonly Sent[] => {
  try {
    return JSON.parse(keep.getItem(key) ?? '[]') as Sent[];
  } catch {
    return [];
  }
};

/** 128 random bits. crypto.randomUUID is missing on plain-HTTP pages of other hosts. */
const newRunId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
