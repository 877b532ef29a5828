/** A local chat service with the API of examples/extensions/relay, with faults by command. */
import type { ChatRef, InboundMessage } from '../../protocols/channel.ts';
import { type Answer, type FaultyServer, openFaultyServer, type Received } from './http-faults.ts';

const LONGEST_POLL_MS = 20_000;

type Posted = {
  readonly id: string;
  readonly chat: ChatRef;
  readonly text: string;
  readonly file?: { readonly name: string; readonly data: string };
};

/** One account: its messages, and what it has posted. */
export class RelayAccount {
  readonly token: string;
  readonly id: string;
  readonly updates: { readonly number: number; readonly message: InboundMessage }[] = [];
  readonly posted = new Map<string, Posted>();
  readonly files = new Map<string, Uint8Array>();
  isRevoked = false;
  #wake: (() => void)[] = [];

  constructor(number: number) {
    this.id = `bot-${number}`;
    this.token = `relay-token-number-${number}`;
  }

  receive(message: InboundMessage): void {
    this.updates.push({ number: this.updates.length + 1, message });
    this.wake();
  }

  /** Answers all requests that wait. */
  wake(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }

  async waited(after: number): Promise<RelayAccount['updates']> {
    const news = () => this.updates.filter(({ number }) => number > after);
    if (news().length === 0 && !this.isRevoked) {
      const timer = setTimeout(() => this.wake(), LONGEST_POLL_MS);
      await new Promise<void>((resolve) => this.#wake.push(resolve));
      clearTimeout(timer);
    }
    return news();
  }
}

export type RelayServer = FaultyServer & { addAccount(this: void): RelayAccount };

export async function openRelayServer(): Promise<RelayServer> {
  const accounts: RelayAccount[] = [];
  const server = await openFaultyServer((request) => {
    const token = request.header('authorization')?.replace('Bearer ', '');
    const account = accounts.find((one) => one.token === token);
    return account ? serve(account, request) : { status: 401 };
  });
  return {
    ...server,
    addAccount() {
      const account = new RelayAccount(accounts.length + 1);
      accounts.push(account);
      return account;
    },
    async close() {
      for (const account of accounts) account.wake();
      await server.close();
    },
  };
}

const json = (value: unknown): Answer => ({ status: 200, body: JSON.stringify(value) });

async function serve(account: RelayAccount, { url, body }: Received): Promise<Answer> {
  if (account.isRevoked) return { status: 401 };
  if (url.pathname === '/me')
    return json({ id: account.id, name: 'Relay', last: account.updates.length });
  if (url.pathname === '/updates') {
    const updates = await account.waited(Number(url.searchParams.get('after')));
    return account.isRevoked ? { status: 401 } : json(updates);
  }
  if (url.pathname === '/messages') {
    const message = JSON.parse(body.toString('utf8')) as Posted;
    if (!account.posted.has(message.id)) account.posted.set(message.id, message);
    return json({ id: message.id });
  }
  if (url.pathname === '/typing') return json({});
  const file = account.files.get(url.pathname.slice('/files/'.length));
  return file ? json({ data: Buffer.from(file).toString('base64') }) : { status: 404 };
}
