/** One account of an adapter under test, with a runtime that records what it receives. */
import type {
  AccountAdapter,
  AccountContext,
  ChannelAdapter,
  Connection,
  Piece,
  WebhookRequest,
} from '../../../channels/messengers/adapter.ts';
import type { ChatRef, InboundMessage, SendOutcome } from '../../../protocols/channel.ts';
import { systemClock } from '../../../runtime/index.ts';

export type OpenedAccount = {
  readonly account: AccountAdapter;
  readonly messages: InboundMessage[];
  readonly typing: ChatRef[];
  readonly outcomes: { readonly pieceId: string; readonly outcome: SendOutcome }[];
  readonly identities: string[];
  /** thrown by `onMessages` while it is set */
  failure: Error | undefined;
  /** `onMessages` waits for it */
  commit: Promise<void>;
  /** Starts the account; ends with the reason. */
  start(): ReturnType<AccountAdapter['start']>;
  /** Ends the connection. */
  stop(): Promise<void>;
};

export function openAccount<Settings>(
  adapter: ChannelAdapter<Settings>,
  settings: Settings,
): OpenedAccount {
  let ended = new AbortController();
  const context: AccountContext<Settings> = {
    account: 'main',
    settings,
    clock: systemClock,
    log: { warn() {} },
    async onMessages(messages) {
      await opened.commit;
      if (opened.failure !== undefined) throw opened.failure;
      opened.messages.push(...messages);
    },
    onTyping: (chat) => void opened.typing.push(chat),
    onOutcome: (pieceId, outcome) => void opened.outcomes.push({ pieceId, outcome }),
  };
  const opened: OpenedAccount = {
    account: adapter.create(context),
    messages: [],
    typing: [],
    outcomes: [],
    identities: [],
    failure: undefined,
    commit: Promise.resolve(),
    start() {
      ended = new AbortController();
      return opened.account.start(connectionOf(opened, ended.signal));
    },
    async stop() {
      ended.abort();
      await opened.account.stop();
    },
  };
  return opened;
}

const connectionOf = ({ identities }: OpenedAccount, signal: AbortSignal): Connection => ({
  position: undefined,
  identity: undefined,
  signal,
  async onConnected(identity) {
    identities.push(identity);
  },
  async onPosition() {},
});

export const piece = (id: string, text: string, more: Partial<Piece> = {}): Piece => ({
  id,
  chat: { kind: 'dm', id: 'D1' },
  text,
  plain: text,
  attempt: 1,
  firstTriedAt: Date.now(),
  ...more,
});

/** @param headers in lower case */
export const post = (
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>>,
): WebhookRequest => ({
  method: 'POST',
  query: new URLSearchParams(),
  header: (name) => headers[name],
  body: Buffer.from(body),
});

export const get = (query: string): WebhookRequest => ({
  method: 'GET',
  query: new URLSearchParams(query),
  header: () => undefined,
  body: new Uint8Array(),
});
