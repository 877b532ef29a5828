/**
 * One connection to WhatsApp, from its start to its end.
 *
 * Boundary: the only part that uses Baileys' socket. It never connects again; account.ts decides.
 *
 * Invariants: `closed` settles once and never rejects. A piece that was written and is not
 * acknowledged when the connection ends has an unknown outcome.
 */
import {
  type ConnectionUpdate,
  makeWASocket,
  type Outgoing,
  type Socket,
  type WebMessage,
} from 'baileys';
import { type Close, closeOf } from './closing.ts';
import { isGroup, isPerson } from './jids.ts';
import { newMessageId, type Outcome, outcomeOfFailure, outcomeOfAck, unknown } from './outcomes.ts';
import type { Store } from './store.ts';

/** How long an acknowledgement may take, milliseconds. */
const ACK_MS = 20_000;

export type SessionOptions = {
  readonly store: Store;
  /** default: WhatsApp */
  readonly serverUrl: string | undefined;
  readonly onOpen?: () => void;
  /** WhatsApp waits for a device to be linked. */
  readonly onLinking?: () => void;
  readonly onMessages?: (messages: readonly WebMessage[]) => void;
};

/** Baileys writes keys and message texts into its log. */
const SILENT: Record<string, unknown> = { level: 'silent', child: () => SILENT };
for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal']) SILENT[level] = () => {};

const open = new Set<Session>();

/**
 * Baileys leaves some failures without a handler, such as of a damaged frame. Which connection
 * failed is then not known.
 */
export function endAll(error: unknown): void {
  for (const session of open) session.end(error);
}

export class Session {
  readonly closed: Promise<Close>;
  isOpen = false;
  readonly #o: SessionOptions;
  readonly #socket: Socket;
  readonly #acks = new Map<string, (outcome: Outcome) => void>();
  #onClose: (close: Close) => void = () => {};

  constructor(options: SessionOptions) {
    this.#o = options;
    this.closed = new Promise((resolve) => (this.#onClose = resolve));
    const { store, serverUrl } = options;
    this.#socket = makeWASocket({
      auth: store.auth(),
      logger: SILENT,
      ...(serverUrl === undefined ? {} : { waWebSocketUrl: serverUrl }),
      emitOwnEvents: false,
      // the phone continues to notify its owner
      markOnlineOnConnect: false,
      syncFullHistory: false,
      shouldIgnoreJid: (jid) => jid.includes('@') && !isGroup(jid) && !isPerson(jid),
    });
    open.add(this);
    this.#listen();
  }

  /** @throws Error when the connection ends first */
  requestCode(phoneNumber: string): Promise<string> {
    return this.#socket.requestPairingCode(phoneNumber);
  }

  /** The JID with the phone number of a LID, if it is known. */
  async phoneOf(lid: string): Promise<string | undefined> {
    return (await this.#socket.signalRepository.lidMapping.getPNForLID(lid)) ?? undefined;
  }

  async send(jid: string, content: Outgoing, quoted?: WebMessage): Promise<Outcome> {
    const messageId = newMessageId();
    const acknowledged = new Promise<Outcome>((resolve) => this.#acks.set(messageId, resolve));
    try {
      const options = { messageId, ...(quoted ? { quoted } : {}) };
      await this.#socket.sendMessage(jid, content, options);
      const timer = setTimeout(
        () => this.#settle(messageId, unknown('WhatsApp did not acknowledge the message')),
        ACK_MS,
      );
      return await acknowledged.finally(() => clearTimeout(timer));
    } catch (error) {
      return outcomeOfFailure(error);
    } finally {
      this.#acks.delete(messageId);
    }
  }

  async typing(jid: string): Promise<void> {
    await this.#socket.sendPresenceUpdate('composing', jid);
  }

  end(error?: unknown): void {
    void this.#endSocket(error instanceof Error ? error : undefined);
    // Baileys reports the end later, or not at all when it has failed before.
    this.#close(closeOf(error));
  }

  async #endSocket(error: Error | undefined): Promise<void> {
    try {
      await this.#socket.end(error);
    } catch {
      // It had ended.
    }
  }

  #listen(): void {
    const { store, onMessages } = this.#o;
    this.#socket.ev.on('creds.update', (change) => store.update(change));
    this.#socket.ev.on('connection.update', (update) => this.#onUpdate(update));
    this.#socket.ev.on('messages.upsert', ({ messages }) => onMessages?.(messages));
    this.#socket.ws.on('CB:ack,class:message', ({ attrs }) => {
      if (attrs.id !== undefined) this.#settle(attrs.id, outcomeOfAck(attrs.id, attrs.error));
    });
  }

  #onUpdate({ connection, lastDisconnect, qr }: ConnectionUpdate): void {
    if (qr !== undefined) this.#o.onLinking?.();
    if (connection === 'open') {
      this.isOpen = true;
      this.#o.onOpen?.();
    }
    if (connection === 'close') this.#close(closeOf(lastDisconnect?.error));
  }

  #settle(messageId: string, outcome: Outcome): void {
    this.#acks.get(messageId)?.(outcome);
  }

  #close(close: Close): void {
    this.isOpen = false;
    open.delete(this);
    const lost = unknown(`the connection ended before WhatsApp answered: ${close.message}`);
    for (const messageId of this.#acks.keys()) this.#settle(messageId, lost);
    this.#onClose(close);
  }
}
