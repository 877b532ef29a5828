/**
 * One number: its link, its connection, and what is sent with it.
 *
 * Boundary: session.ts has one connection; store.ts and inbox.ts have the files.
 *
 * Invariants: at most one connection of a number is open in this process, because WhatsApp closes
 * the older one. A code to link the device is requested only when an operator starts the account,
 * because each one is shown on the phone.
 */
import { join } from 'node:path';
import type { Outgoing, WebMessage } from 'baileys';
import type { ChannelConnection, ConnectionEnd } from 'troupe/plugin-sdk';
import {
  asksForRestart,
  type Close,
  connectionEnd,
  isLoggedOut,
  restartCommand,
} from './closing.ts';
import { inboundOf } from './inbound.ts';
import { Inbox, type Received } from './inbox.ts';
import { idOf, jidOf, plainJid } from './jids.ts';
import { notSent, type Outcome, refused } from './outcomes.ts';
import { Quotable } from './quotable.ts';
import { Session } from './session.ts';
import { Store } from './store.ts';

/** Connections one after the other without a pause, when WhatsApp asks for it. */
const RESTARTS_MAX = 3;

export type AccountOptions = {
  /** in the configuration */
  readonly name: string;
  readonly phoneNumber: string;
  /** of this number */
  readonly folder: string;
  readonly serverUrl: string | undefined;
};

export class Account {
  readonly #o: AccountOptions;
  readonly #quotable = new Quotable();
  #files: { readonly store: Store; readonly inbox: Inbox } | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #session: Session | undefined;
  /** a connection that waits until its code is entered */
  #linking: Session | undefined;
  #isLoggedOut = false;

  constructor(options: AccountOptions) {
    this.#o = options;
  }

  /** Waits for the connection of an earlier call, which troupe ends. */
  start(connection: ChannelConnection): Promise<ConnectionEnd | undefined> {
    const turn = this.#turn.then(() => this.#run(connection));
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async send(chatId: string, content: Outgoing, replyTo?: string): Promise<Outcome> {
    if (this.#isLoggedOut) return refused('WhatsApp has removed this device');
    const session = this.#session;
    if (!session?.isOpen) return notSent('this process has no connection to WhatsApp');
    return session.send(jidOf(chatId), content, this.#quotable.find(chatId, replyTo));
  }

  edit(chatId: string, messageId: string, text: string): Promise<Outcome> {
    const edited = { remoteJid: jidOf(chatId), fromMe: true, id: messageId };
    return this.send(chatId, { text, edit: edited, linkPreview: null });
  }

  async typing(chatId: string): Promise<void> {
    if (this.#session?.isOpen) await this.#session.typing(jidOf(chatId));
  }

  async #run(connection: ChannelConnection): Promise<ConnectionEnd | undefined> {
    const { signal } = connection;
    if (signal.aborted) return undefined;
    const { store } = (this.#files ??= this.#opened());
    this.#isLoggedOut = false;
    if (!store.isLinked) {
      const end = await this.#link(store, signal);
      if (end) return end;
    }
    let close = await this.#connect(connection);
    for (let restarts = 0; asksForRestart(close) && restarts < RESTARTS_MAX; restarts++)
      close = await this.#connect(connection);
    if (signal.aborted) return undefined;
    if (isLoggedOut(close)) {
      this.#isLoggedOut = true;
      store.startOver();
    }
    return connectionEnd(close, this.#o.name);
  }

  #opened() {
    const { folder } = this.#o;
    return {
      store: new Store(join(folder, 'link.jsonl')),
      inbox: new Inbox(join(folder, 'inbox')),
    };
  }

  /**
   * The first call returns an error that shows the code, while the connection stays open: an
   * account that is not linked must not count as connected. The next call waits for the person.
   *
   * @returns undefined when the device is linked
   */
  async #link(store: Store, signal: AbortSignal): Promise<ConnectionEnd | undefined> {
    const waiting = this.#linking;
    if (!waiting) return this.#requestCode(store, signal);
    const close = await endOf(waiting, signal);
    this.#linking = undefined;
    if (store.isLinked || signal.aborted) return undefined;
    const command = restartCommand(this.#o.name);
    const error = `the device was not linked: ${close.message}. For a new code, run ${command}`;
    return { error, isFinal: true };
  }

  async #requestCode(store: Store, signal: AbortSignal): Promise<ConnectionEnd> {
    const { name, phoneNumber, serverUrl } = this.#o;
    store.startOver();
    let onLinking: () => void = () => {};
    const ready = new Promise<undefined>((resolve) => (onLinking = () => resolve(undefined)));
    const session = new Session({ store, serverUrl, onLinking });
    const stop = () => session.end();
    signal.addEventListener('abort', stop, { once: true });
    try {
      const close = await Promise.race([session.closed, ready]);
      if (close) return connectionEnd(close, name);
      const code = await session.requestCode(phoneNumber);
      this.#linking = session;
      return { error: linkText(code, phoneNumber) };
    } catch (error) {
      session.end(error);
      return connectionEnd(await session.closed, name);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** One connection, until it ends. */
  async #connect(connection: ChannelConnection): Promise<Close> {
    const { store, inbox } = this.#files!;
    let onOpen: () => void = () => {};
    const opened = new Promise<void>((resolve) => (onOpen = resolve));
    let kept: Promise<void> = Promise.resolve();
    const session: Session = new Session({
      store,
      serverUrl: this.#o.serverUrl,
      onOpen,
      // One after the other: a chat keeps its order.
      onMessages: (messages) => {
        kept = kept.then(() => this.#keep(messages, session)).catch((error) => session.end(error));
        void kept.then(deliver);
      },
    });
    this.#session = session;
    // A call of troupe that has ended is never answered.
    const ended = session.closed.then(() => Promise.reject(new Error('the connection ended')));
    ended.catch(() => {});
    const toTroupe = (messages: Received) => Promise.race([connection.messages(messages), ended]);
    const connected = opened.then(() => {
      const { id, name } = store.creds.me ?? { id: this.#o.phoneNumber };
      return connection.connected(idOf(id), name);
    });
    const deliver = () =>
      connected.then(() => inbox.deliver(toTroupe)).catch((error) => session.end(error));
    void deliver();
    const close = await endOf(session, connection.signal);
    // What has arrived is on the disk before the next connection begins.
    await kept;
    return close;
  }

  async #keep(messages: readonly WebMessage[], session: Session): Promise<void> {
    const { store, inbox } = this.#files!;
    const { id = '', lid = '' } = store.creds.me ?? {};
    const own = new Set([id, lid].filter((jid) => jid !== '').map(plainJid));
    const phoneOf = (of: string) => session.phoneOf(of);
    const kept = [];
    for (const message of messages) {
      const inbound = await inboundOf(message, { own, phoneOf });
      if (!inbound) continue;
      this.#quotable.add(inbound.chat.id, message, inbound.text);
      kept.push(inbound);
    }
    if (kept.length > 0) inbox.add(kept);
  }
}

/** Waits for the end of a connection, and ends it when it is no longer wanted. */
async function endOf(session: Session, signal: AbortSignal): Promise<Close> {
  const stop = () => session.end();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const close = await session.closed;
  signal.removeEventListener('abort', stop);
  return close;
}

const linkText = (code: string, phoneNumber: string): string =>
  `link the device: on the phone with the number ${phoneNumber} open WhatsApp, Linked devices, Link a device, Link with phone number instead, and enter ${code.slice(0, 4)}-${code.slice(4)}`;
