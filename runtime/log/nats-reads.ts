/**
 * NatsReads: what a NatsLog reads of its streams: single entries by requests to the stream's
 * leader, ranges and what follows by a NatsReader. It returns entries as they are stored;
 * `nats-log.ts` brings in the bytes of large ones.
 */
import type { JetStreamManager, MsgRequest } from '@nats-io/jetstream';
import { systemClock } from '../clock/clock.ts';
import { inTime } from '../clock/in-time.ts';
import type { Position } from './log.ts';
import { type StoredEntry, storedEntry } from './nats-entry.ts';
import { readFailure } from './nats-errors.ts';
import type { NatsLink } from './nats-link.ts';
import { NatsReader, type NatsReaderOptions } from './nats-reader.ts';
import { SharedAnswers } from './shared-answers.ts';

/** A subject as the server knows it. */
export type Place = { readonly stream: string; readonly subject: string };

/** What a read returns: up to the first of these limits, but one entry at least. */
export type Range = {
  readonly from: Position;
  readonly upTo: Position;
  readonly limit: number;
  readonly bytesMax: number;
};

const READ_TIMEOUT_MS = 10_000;
const READ_SINGLY_MAX = 3;

export class NatsReads {
  readonly #link: NatsLink;
  readonly #manager: JetStreamManager;
  /** readers of a stream that begin together ask for it once */
  readonly #streams = new SharedAnswers((stream) => this.#manager.streams.info(stream));

  constructor(link: NatsLink, manager: JetStreamManager) {
    this.#link = link;
    this.#manager = manager;
  }

  /** The last entry of the subject; undefined if there is none. @throws TroupeError UNAVAILABLE */
  last({ stream, subject }: Place) {
    return this.#message(stream, `the last entry of ${subject}`, { last_by_subj: subject });
  }

  /** Whether the stream has an entry at the position. @throws TroupeError UNAVAILABLE */
  async has({ stream }: Place, position: Position): Promise<boolean> {
    const what = `entry ${position} of ${stream}`;
    return (await this.#message(stream, what, { seq: position })) !== undefined;
  }

  /** The answer of a request. @throws TroupeError UNAVAILABLE */
  answer<T>(what: string, request: Promise<T>): Promise<T> {
    return this.#link.ask(request).catch((cause: unknown) => {
      throw readFailure(what, cause);
    });
  }

  reader(
    { stream, subject }: Place,
    from: Position,
    options: Pick<NatsReaderOptions, 'entriesMax' | 'onInterrupted'>,
  ): NatsReader {
    const look = () => this.#streams.get(stream);
    const [link, manager] = [this.#link, this.#manager];
    return new NatsReader({ link, manager, look, stream, subject, from, ...options });
  }

  /** @throws TroupeError UNAVAILABLE when the connection is lost or nothing comes for long */
  async range(place: Place, range: Range): Promise<readonly StoredEntry[]> {
    const read = await this.#first(place, range);
    let bytes = 0;
    for (const { size } of read) bytes += size;
    const { from, upTo, limit, bytesMax } = range;
    const isEnough = () =>
      read.length >= limit || bytes >= bytesMax || (read.at(-1)?.position ?? 0) >= upTo;
    if (isEnough()) return read;
    const next = (read.at(-1)?.position ?? from - 1) + 1;
    const reader = this.reader(place, next, { entriesMax: limit - read.length });
    try {
      for (;;) {
        await this.answer(`entries of ${place.subject}`, within(READ_TIMEOUT_MS, reader.some()));
        for (const entry of reader.peek(bytesMax - bytes)) {
          read.push(entry);
          bytes += entry.size;
          if (isEnough()) return read;
          reader.drop(1);
        }
      }
    } finally {
      reader.close();
    }
  }

  /**
   * The first entries of the range, one by one: a short journal needs no consumer, which costs the
   * server and this process more than some requests.
   */
  async #first({ stream, subject }: Place, range: Range): Promise<StoredEntry[]> {
    const { from, upTo, limit, bytesMax } = range;
    const read: StoredEntry[] = [];
    const most = Math.min(limit, READ_SINGLY_MAX);
    for (let seq = Math.max(from, 1), bytes = 0; read.length < most && seq <= upTo; ) {
      const query = { seq, next_by_subj: subject };
      const found = await this.#message(stream, `entries of ${subject}`, query);
      if (!found) break;
      const entry = found.entry();
      read.push(entry);
      bytes += entry.size;
      if (bytes >= bytesMax) break;
      seq = found.seq + 1;
    }
    return read;
  }

  async #message(stream: string, what: string, query: MsgRequest) {
    const found = await this.answer(what, this.#manager.streams.getMessage(stream, query));
    if (!found) return undefined;
    const { seq } = found;
    return {
      seq,
      entry: () => storedEntry(seq, found.time.getTime(), found.data, () => found.header),
    };
  }
}

const within = <T>(timeoutMs: number, awaited: Promise<T>): Promise<T> =>
  inTime(systemClock, awaited, timeoutMs, () => {
    throw new Error(`nothing came within ${timeoutMs} ms`);
  });
