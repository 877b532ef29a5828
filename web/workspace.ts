/**
 * Workspace: the state of the page. It owns the connection, the open conversation, the list of
 * conversations, the devices, and the stored values, and notifies the page of every change.
 *
 * Invariants:
 *  1. A message of the user is stored until the gateway has acknowledged it (Outbox), whichever
 *     conversation is open.
 *  2. After every connect, and whenever events were lost, everything that is shown is read again.
 */
import type { GatewayClient } from '../client/gateway-client.ts';
import { connectionFailure } from '../client/gateway-errors.ts';
import type { GatewayMethodName } from '../protocols/gateway/index.ts';
import { Chat } from './chat/chat.ts';
import {
  type Approval,
  type Conversation,
  emptyConversation,
  withApproval,
  withoutApproval,
} from './chat/conversation.ts';
import { type Devices, DEVICES_METHOD, noDevices, readDevices } from './devices.ts';
import { type ConnectionState, gatewayClient } from './connection/gateway.ts';
import type { Keep } from './kept.ts';
import { newId, Outbox, type Taken } from './chat/outbox.ts';
import { PageIdentity } from './connection/page-identity.ts';
import { strings } from './strings.ts';
import { newSessionKey, noSessions, type Sessions, withRead, withRows } from './sessions.ts';

export type View = {
  readonly connection: ConnectionState;
  /** methods that the gateway offers */
  readonly offers: ReadonlySet<string>;
  /** undefined before the first connect if the address names no conversation */
  readonly sessionKey: string | undefined;
  readonly mainSessionKey: string | undefined;
  readonly conversation: Conversation;
  readonly sessions: Sessions;
  /** commands of all conversations that wait for an approval, oldest first */
  readonly asking: readonly Approval[];
  readonly devices: Devices;
  /** why the user's last action in a panel failed */
  readonly trouble: string | undefined;
};

export type WorkspaceOptions = {
  readonly url: string;
  readonly token: string;
  readonly locale: string;
  /** default: the main session of the default agent */
  readonly sessionKey?: string | undefined;
  readonly keep: Keep;
  onChange(view: View): void;
};

export const firstView: View = {
  connection: { kind: 'connecting' },
  offers: new Set(),
  sessionKey: undefined,
  mainSessionKey: undefined,
  conversation: emptyConversation,
  sessions: noSessions,
  asking: [],
  devices: noDevices,
  trouble: undefined,
};

/** Reads of a list that are requested within this time are combined. */
const LIST_MS = 250;
const SESSIONS_LIMIT = 100;
/** Shorter words are searched in the list only, not in the messages. */
const SEARCHED_CHARACTERS_MIN = 3;
const FOUND_MAX = 20;
/** The timer of the next retry after a refusal. */
const AGAIN = 'again';
const READ_NAME = 'troupe.read';

const isAsking = (connection: ConnectionState): boolean =>
  connection.kind === 'refused' && connection.code === 'PAIRING_REQUIRED';

type AgentsList = {
  readonly defaultId: string;
  readonly agents: readonly {
    readonly id: string;
    readonly name?: string;
    readonly model: { readonly primary: string };
  }[];
};
type Found = { readonly results: Sessions['found'] };
type SessionsList = Parameters<typeof withRows>[1];

export class Workspace {
  readonly #options: WorkspaceOptions;
  readonly #client: GatewayClient;
  readonly #outbox: Outbox;
  readonly #identity: PageIdentity;
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();
  #view: View;
  #chat: Chat | undefined;

  constructor(options: WorkspaceOptions) {
    this.#options = options;
    const kept = readKept(options.keep);
    this.#view = { ...firstView, sessions: { ...noSessions, ...kept } };
    this.#identity = new PageIdentity(options);
    this.#client = gatewayClient(
      { url: options.url, introduce: (challenge) => this.#identity.introduce(challenge) },
      (connection) => this.#connection(connection),
    );
    this.#client.onEvent(({ event, payload }) => this.#event(event, payload));
    this.#client.onGap(() => this.#readAll());
    this.#outbox = new Outbox({
      keep: options.keep,
      online: () => this.#online,
      request: (method, params) => this.#request<Taken>(method, params),
      onSettled: (sessionKey, sent, taken) => {
        if (this.#chat?.sessionKey === sessionKey) this.#chat.settled(sent, taken);
      },
    });
    if (options.sessionKey !== undefined) this.open(options.sessionKey);
  }

  /** The open conversation; undefined before the first connect. */
  get chat(): Chat | undefined {
    return this.#chat;
  }

  start(): void {
    this.#client.connect();
  }

  stop(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#chat?.close();
    this.#client.close();
  }

  /** Opens a conversation; undefined: the main one. */
  open(sessionKey: string | undefined): void {
    const key = sessionKey ?? this.#view.mainSessionKey;
    if (key === undefined || key === this.#chat?.sessionKey) return;
    this.#chat?.close();
    const chat = new Chat({
      sessionKey: key,
      outbox: this.#outbox,
      request: (method, params) => this.#request(method, params),
      onChange: (conversation) => this.#show({ conversation }),
    });
    this.#chat = chat;
    this.#show({ sessionKey: key, conversation: chat.conversation });
    chat.setApprovals(this.#view.asking);
    this.#read(key);
    if (this.#online) void chat.catchUp();
  }

  /** The key of a conversation that starts with its first message. */
  newSession(agentId: string): string {
    return newSessionKey(agentId, newId(4));
  }

  search(search: string): void {
    this.#show({ sessions: { ...this.#view.sessions, search } });
    this.#listSoon('sessions');
  }

  async rename(key: string, label: string): Promise<void> {
    await this.#act('sessions.patch', { key, label: label.trim() === '' ? null : label.trim() });
    this.#listSoon('sessions');
  }

  /** @returns whether it is deleted */
  async delete(key: string): Promise<boolean> {
    if (!(await this.#act('sessions.delete', { key }))) return false;
    const rows = this.#view.sessions.rows.filter((row) => row.key !== key);
    this.#show({ sessions: { ...this.#view.sessions, rows } });
    this.#listSoon('sessions');
    return true;
  }

  /** Decides an approval; the first decision counts, and all clients are notified. */
  async decide({ id }: Approval, decision: string): Promise<void> {
    if (await this.#act('exec.approval.resolve', { id, decision }))
      this.#setApprovals(withoutApproval(this.#view.asking, id));
    else this.#listSoon('asking');
  }

  /** An action of the devices panel; the panel is read again afterwards. */
  async device(method: string, params: object): Promise<void> {
    await this.#act(method, params);
    this.#listSoon('devices');
  }

  /** A method of the gateway, for views. @throws TroupeError */
  request<Result>(method: string, params: object = {}): Promise<Result> {
    return this.#request<Result>(method, params);
  }

  /** An operation of docs/operations.md. @throws TroupeError */
  operate<Result>(name: string, params: object = {}): Promise<Result> {
    return this.#request<Result>('operations.run', { name, params });
  }

  /** Calls `listen` for every event of the gateway; returns a function that ends it. */
  watch(listen: (event: string, payload: unknown) => void): () => void {
    return this.#client.onEvent(({ event, payload }) => listen(event, payload));
  }

  get #online(): boolean {
    return this.#client.state.kind === 'open';
  }

  /** The page declares of a result what it shows. @throws TroupeError */
  async #request<Result>(method: string, params: object): Promise<Result> {
    return (await this.#client.request(method as GatewayMethodName, params)) as Result;
  }

  /** @returns whether it succeeded; if not, `trouble` has the reason */
  async #act(method: string, params: object): Promise<boolean> {
    this.#show({ trouble: undefined });
    try {
      await this.#request(method, params);
      return true;
    } catch (error) {
      const lost = connectionFailure(error) !== undefined;
      this.#show({ trouble: lost ? strings.connectionLost : (error as Error).message });
      return false;
    }
  }

  #connection(connection: ConnectionState): void {
    if (connection.kind === 'refused') return void this.#refused(connection);
    // While it waits for an approval it retries, and keeps showing how to approve it.
    if (connection.kind === 'connecting' && isAsking(this.#view.connection)) return;
    if (connection.kind !== 'online') {
      this.#show({ connection });
      return;
    }
    this.#identity.admitted(connection);
    const { features, snapshot } = connection.hello;
    const mainSessionKey = snapshot.sessionDefaults?.mainSessionKey ?? 'main';
    this.#show({ connection, mainSessionKey, offers: new Set(features.methods) });
    if (this.#chat === undefined) this.open(mainSessionKey);
    void this.#catchUp();
  }

  async #refused(refused: Extract<ConnectionState, { kind: 'refused' }>): Promise<void> {
    const { show, againMs } = await this.#identity.refused(refused);
    if (show !== undefined) this.#show({ connection: show });
    if (againMs === undefined) return;
    clearTimeout(this.#timers.get(AGAIN));
    this.#timers.set(
      AGAIN,
      setTimeout(() => this.#client.connect(), againMs),
    );
  }

  /** First reads the committed state, then sends what this page could not send before. */
  async #catchUp(): Promise<void> {
    if (this.#view.offers.has('sessions.subscribe'))
      this.#request('sessions.subscribe', {}).catch(() => {});
    this.#readAll();
    await this.#chat?.catchUp();
    this.#outbox.deliverAll();
  }

  #readAll(): void {
    this.#chat?.reloadSoon();
    for (const list of LISTS) this.#listSoon(list);
  }

  #event(event: string, payload: unknown): void {
    this.#chat?.event(event, payload);
    if (/^(device\.pair|node\.(pair|presence))/.test(event)) this.#listSoon('devices');
    else if (event === 'presence' && this.#view.devices.paired.length > 0)
      this.#listSoon('devices');
    else if (event === 'exec.approval.requested')
      this.#setApprovals(withApproval(this.#view.asking, payload as Approval));
    else if (event === 'exec.approval.resolved')
      this.#setApprovals(withoutApproval(this.#view.asking, (payload as Approval).id));
    else if (event === 'sessions.changed') this.#listSoon('sessions');
    else if (event === 'chat' && (payload as { state: string }).state !== 'delta')
      this.#listSoon('sessions');
    else if (event === 'agent' && isBeginning(payload)) this.#listSoon('sessions');
  }

  #listSoon(list: List): void {
    if (this.#timers.has(list)) return;
    this.#timers.set(
      list,
      setTimeout(() => {
        this.#timers.delete(list);
        // Fails if the connection broke, or this page may not read it.
        this.#list(list).catch(() => {});
      }, LIST_MS),
    );
  }

  async #list(list: List): Promise<void> {
    if (list === 'sessions') await this.#listSessions();
    else if (list === 'agents') await this.#listAgents();
    else if (list === 'asking') await this.#listAsking();
    else if (this.#view.offers.has(DEVICES_METHOD)) {
      const devices = await readDevices(
        (method, params) => this.#request(method, params),
        (method) => this.#view.offers.has(method),
      );
      this.#show({ devices });
    }
  }

  async #listSessions(): Promise<void> {
    const { search } = this.#view.sessions;
    const answer = await this.#request<SessionsList>('sessions.list', {
      limit: SESSIONS_LIMIT,
      includeLastMessage: true,
      includeDerivedTitles: true,
      ...(search === '' ? {} : { search }),
    });
    if (search !== this.#view.sessions.search) return;
    this.#sessions(withRows(this.#view.sessions, answer, this.#chat?.sessionKey));
    await this.#searchMessages(search);
  }

  async #searchMessages(search: string): Promise<void> {
    const query = search.trim();
    const { results } =
      query.length < SEARCHED_CHARACTERS_MIN
        ? { results: [] }
        : await this.#request<Found>('sessions.search', { query, limit: FOUND_MAX });
    if (search === this.#view.sessions.search)
      this.#show({ sessions: { ...this.#view.sessions, found: results } });
  }

  async #listAgents(): Promise<void> {
    const { defaultId, agents } = await this.#request<AgentsList>('agents.list', {});
    const named = agents.map(({ id, name = id, model }) => ({ id, name, model: model.primary }));
    this.#show({
      sessions: { ...this.#view.sessions, agents: named, defaultAgentId: defaultId },
    });
  }

  async #listAsking(): Promise<void> {
    this.#setApprovals(await this.#request<readonly Approval[]>('exec.approval.list', {}));
  }

  #setApprovals(asking: readonly Approval[]): void {
    this.#show({ asking });
    this.#chat?.setApprovals(asking);
  }

  #read(key: string): void {
    this.#sessions(withRead(this.#view.sessions, key));
  }

  #sessions(sessions: Sessions): void {
    const { read, readBefore } = sessions;
    const before = this.#view.sessions;
    if (read !== before.read || readBefore !== before.readBefore)
      this.#options.keep.setItem(READ_NAME, JSON.stringify({ read: newest(read), readBefore }));
    this.#show({ sessions });
  }

  #show(change: Partial<View>): void {
    this.#view = { ...this.#view, ...change };
    this.#options.onChange(this.#view);
  }
}

const LISTS = ['sessions', 'agents', 'asking', 'devices'] as const;
type List = (typeof LISTS)[number];

const isBeginning = (payload: unknown): boolean => {
  const { stream, data } = payload as { stream?: string; data?: { phase?: string } };
  return stream === 'lifecycle' && data?.phase === 'start';
};

const READ_MAX = 500;

const newest = (read: Readonly<Record<string, number>>): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(read)
      .sort(([, a], [, b]) => b - a)
      .slice(0, READ_MAX),
  );

const readKept = (keep: Keep): Pick<Sessions, 'read' | 'readBefore'> => {
  try {
    const { read, readBefore } = JSON.parse(keep.getItem(READ_NAME) ?? '{}') as Partial<Sessions>;
    return { read: read ?? {}, readBefore: readBefore ?? 0 };
  } catch {
    return { read: {}, readBefore: 0 };
  }
};
