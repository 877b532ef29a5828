/**
 * Outbox: messages of all conversations that the gateway has not acknowledged yet, and acknowledged
 * ones that no history contains yet.
 *
 * Invariants:
 *  1. A message gets one idempotency key when it is written. It is sent with this key until the
 *     gateway has acknowledged it, also after the browser was closed, so it is answered once.
 *  2. Messages are sent one after the other, in the order in which they were written.
 *  3. Each one is stored under its own name, so that pages of one browser do not overwrite each
 *     other.
 */
import { connectionFailure } from '../../client/gateway-errors.ts';
import type { Keep } from '../kept.ts';
import type { Sent } from './conversation.ts';
import { strings } from '../strings.ts';

/** The gateway's response to a message. */
export type Taken = {
  readonly queued?: boolean;
  readonly status: string;
  readonly command?: boolean;
};

export type OutboxOptions = {
  readonly keep: Keep;
  readonly online: () => boolean;
  request(method: string, params: object): Promise<Taken>;
  /** `taken` is missing if it failed */
  onSettled(sessionKey: string, sent: Sent, taken: Taken | undefined): void;
};

type Entry = { readonly sessionKey: string; readonly at: number; readonly sent: Sent };

const NAME = 'troupe.out.';
/**
 * An acknowledged message that no history contained (its session was reset) is deleted after this.
 */
const ACCEPTED_MS = 86_400_000;

export class Outbox {
  readonly #options: OutboxOptions;
  readonly #entries: Map<string, Entry>;
  readonly #underway = new Set<string>();
  #sending: Promise<void> = Promise.resolve();

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#entries = readAll(options.keep);
  }

  /** The messages of a conversation, oldest first. */
  of(sessionKey: string): readonly Sent[] {
    return [...this.#entries.values()]
      .filter((entry) => entry.sessionKey === sessionKey)
      .map(({ sent }) => sent);
  }

  /** Stores the given messages of a conversation, and deletes its others. */
  keep(sessionKey: string, outbox: readonly Sent[]): void {
    for (const old of this.of(sessionKey)) {
      if (!outbox.some(({ runId }) => runId === old.runId)) this.#forget(old.runId);
    }
    for (const sent of outbox) this.#put(sessionKey, sent);
  }

  deliver(sessionKey: string, sent: Sent): void {
    this.#put(sessionKey, sent);
    if (this.#underway.has(sent.runId)) return;
    this.#underway.add(sent.runId);
    this.#sending = this.#sending.then(() => this.#send(sent.runId));
  }

  /** After a connect: sends everything that was not acknowledged. */
  deliverAll(): void {
    for (const { sessionKey, sent } of this.#entries.values()) {
      if (sent.state === 'sending') this.deliver(sessionKey, sent);
    }
  }

  async #send(runId: string): Promise<void> {
    const entry = this.#entries.get(runId);
    try {
      if (entry?.sent.state !== 'sending' || !this.#options.online()) return;
      const { text, images } = entry.sent;
      const taken = await this.#options.request('chat.send', {
        sessionKey: entry.sessionKey,
        message: text,
        idempotencyKey: runId,
        ...(images ? { attachments: images.map((image) => ({ type: 'image', ...image })) } : {}),
      });
      const command = taken.command ? { command: true } : {};
      this.#settle(entry, { ...entry.sent, state: 'accepted', ...command }, taken);
    } catch (error) {
      if (connectionFailure(error) !== undefined) return;
      const { message } = error as Error;
      this.#settle(entry!, { ...entry!.sent, state: 'failed', error: message }, undefined);
    } finally {
      this.#underway.delete(runId);
    }
  }

  /** Only if the message is still here: the history may have arrived first. */
  #settle({ sessionKey }: Entry, sent: Sent, taken: Taken | undefined): void {
    if (!this.#entries.has(sent.runId)) return;
    this.#put(sessionKey, sent);
    this.#options.onSettled(sessionKey, sent, taken);
  }

  #put(sessionKey: string, sent: Sent): void {
    const known = this.#entries.get(sent.runId);
    if (known?.sent === sent) return;
    const entry: Entry = { sessionKey, at: known?.at ?? Date.now(), sent };
    this.#entries.set(sent.runId, entry);
    write(this.#options.keep, entry);
  }

  #forget(runId: string): void {
    this.#entries.delete(runId);
    this.#options.keep.removeItem(NAME + runId);
  }
}

/** If images do not fit, the message is stored without them, which is shown when it is read. */
const write = (keep: Keep, entry: Entry): void => {
  const name = NAME + entry.sent.runId;
  try {
    keep.setItem(name, JSON.stringify(entry));
  } catch {
    const { images: _, ...sent } = entry.sent;
    const lost: Sent =
      sent.state === 'sending' ? { ...sent, state: 'failed', error: strings.imagesLost } : sent;
    keep.setItem(name, JSON.stringify({ ...entry, sent: lost }));
  }
};

const readAll = (keep: Keep): Map<string, Entry> => {
  const names = Array.from({ length: keep.length }, (_, at) => keep.key(at) ?? '');
  const entries = names
    .filter((name) => name.startsWith(NAME))
    .flatMap((name) => readOne(keep, name) ?? [])
    .sort((a, b) => a.at - b.at);
  return new Map(entries.map((entry) => [entry.sent.runId, entry]));
};

const readOne = (keep: Keep, name: string): Entry | undefined => {
  const entry = parsed(keep.getItem(name));
  // The answer of a command is shown once, by the page that sent it.
  const over =
    entry === undefined ||
    (entry.sent.state === 'accepted' &&
      (entry.sent.command === true || entry.at < Date.now() - ACCEPTED_MS));
  if (!over) return entry;
  keep.removeItem(name);
  return undefined;
};

const parsed = (text: string | null): Entry | undefined => {
  try {
    return JSON.parse(text ?? 'null') ?? undefined;
  } catch {
    return undefined;
  }
};

/** 128 random bits. crypto.randomUUID is missing on plain-HTTP pages of other hosts. */
export const newId = (bytes = 16): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
