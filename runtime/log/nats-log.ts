/**
 * NatsLog: the Log of a cell on JetStream. A subject of the log is a subject of one of the cell's
 * streams, and a position is the sequence number in that stream: rising, with gaps.
 *
 * How it meets the contract, on servers from 2.9 on:
 *  - P1, P2: `Nats-Expected-Last-Subject-Sequence`, decided by the stream's leader;
 *    `nats-errors.ts` interprets the answers, `nats-appends.ts` keeps the order of publishing;
 *  - P3: the last entry of a subject is requested from the leader (never by direct get, which a
 *    replica may answer); a read continues until it has that entry;
 *  - P4: a trim purges below a sequence that stays; where bytes must not stay in the files of the
 *    server, it first deletes the entries one by one, which overwrites them. A subject, and so a
 *    stream, is never emptied: an empty one would lose its fence, and 2.9 would start from one
 *    again after a crash;
 *  - P5: the server's time of storing.
 * It is not atomic: nothing is stored alongside.
 */
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { strict as assert } from 'node:assert';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Blobs } from '../blobs/blobs.ts';
import {
  type AppendAnswer,
  type AppendOptions,
  AppendUnknown,
  type Follow,
  type Log,
  type LogEntry,
  type Position,
  READ_BYTES_DEFAULT,
  READ_LIMIT_DEFAULT,
  type ReadOptions,
} from './log.ts';
import { NatsAppends, type Publish } from './nats-appends.ts';
import { type Reference, referenceHeaders, type StoredEntry } from './nats-entry.ts';
import { readFailure } from './nats-errors.ts';
import { NatsFollow } from './nats-follow.ts';
import { corruptEntry, LargeEntries } from './nats-large.ts';
import { NatsLink } from './nats-link.ts';
import { NatsReads, type Place } from './nats-reads.ts';
import { NatsRequests } from './nats-requests.ts';
import { SharedAnswers } from './shared-answers.ts';

export type NatsLogOptions = {
  /** the stream of a subject; undefined for a subject of another cell */
  readonly streams: {
    streamOf(subject: string): string | undefined;
    /** whether a trim in the stream overwrites the bytes of the entries; default no */
    isOverwritten?(stream: string): boolean;
  };
  /** holds what no message can carry */
  readonly blobs: Blobs;
  /** time after which an unanswered append is unknown; default 2,000 */
  readonly publishTimeoutMs?: number;
  /** put before every subject, as its first token and with a dot; default none */
  readonly prefix?: string;
};

const PUBLISH_TIMEOUT_MS = 2_000;
const API_TIMEOUT_MS = 2_000;
/** A purge holds the stream; over a million messages it took five seconds on 2.9. */
const PURGE_TIMEOUT_MS = 60_000;
const ERASES_AT_ONCE = 8;
/** Room for headers in a message of the server's `max_payload`. */
const HEADER_BYTES_MAX = 1_024;
const PAYLOAD_BYTES_DEFAULT = 2 ** 20;

/** What the log uses of one connection. */
type Parts = {
  readonly link: NatsLink;
  readonly requests: NatsRequests;
  readonly manager: JetStreamManager;
  /** waits longer */
  readonly purger: JetStreamManager;
};

export class NatsLog implements Log {
  readonly atomic = false;
  readonly #o: NatsLogOptions;
  readonly #link: NatsLink;
  readonly #requests: NatsRequests;
  readonly #reads: NatsReads;
  readonly #purger: JetStreamManager;
  readonly #appends: NatsAppends;
  readonly #large: LargeEntries;
  readonly #lasts = new SharedAnswers(async (subject) => {
    return (await this.#reads.last(this.#place(subject)))?.seq ?? 0;
  });
  readonly #follows = new Set<NatsFollow>();
  /** large appends on their way, the last of each subject: what comes after waits for it */
  readonly #turns = new Map<string, Promise<unknown>>();
  #closing: Promise<void> | undefined;

  /** The connection stays the caller's: `close` does not end it. */
  static async open(nc: NatsConnection, options: NatsLogOptions): Promise<NatsLog> {
    const link = new NatsLink(nc);
    const requests = new NatsRequests(link);
    const api = { timeout: API_TIMEOUT_MS, checkAPI: false };
    const manager = await jetstreamManager(requests.connection, api);
    const purger = await jetstreamManager(nc, { timeout: PURGE_TIMEOUT_MS, checkAPI: false });
    return new NatsLog(options, { link, requests, manager, purger });
  }

  private constructor(options: NatsLogOptions, { link, requests, manager, purger }: Parts) {
    const timeoutMs = options.publishTimeoutMs ?? PUBLISH_TIMEOUT_MS;
    this.#o = options;
    this.#link = link;
    this.#requests = requests;
    this.#reads = new NatsReads(link, manager);
    this.#purger = purger;
    this.#appends = new NatsAppends(this.#link, timeoutMs);
    this.#large = new LargeEntries(options.blobs);
  }

  append(
    subject: string,
    bytes: Uint8Array,
    { expectedLast, alongside }: AppendOptions = {},
  ): Promise<AppendAnswer> {
    let place: Place;
    try {
      place = this.#place(subject);
      if (alongside !== undefined)
        throw invalid('this log is not atomic: it stores nothing alongside');
    } catch (error) {
      return Promise.reject(error);
    }
    const before = this.#turns.get(subject);
    const large = bytes.length > this.#payloadBytesMax;
    const publish = { ...place, bytes, expectedLast, headers: undefined };
    if (!large && before === undefined) return this.#appends.append(publish);
    return this.#inTurn(subject, before, () => {
      if (!large) return Promise.resolve(() => this.#appends.append(publish));
      const stored = this.#large.put(place.subject, bytes).catch(notStored);
      return stored.then((reference) => () => this.#appendLarge(publish, reference));
    });
  }

  last(subject: string): Promise<Position> {
    return this.#lasts.get(subject);
  }

  async readLast(subject: string): Promise<LogEntry | undefined> {
    const place = this.#place(subject);
    for (;;) {
      const last = await this.#reads.last(place);
      if (!last) return undefined;
      const [entry] = await this.#whole(place, [last.entry()]);
      if (entry) return entry;
    }
  }

  async read(
    subject: string,
    from: Position,
    { limit = READ_LIMIT_DEFAULT, bytesMax = READ_BYTES_DEFAULT }: ReadOptions = {},
  ): Promise<readonly LogEntry[]> {
    const place = this.#place(subject);
    const last = await this.#reads.last(place);
    if (!last || last.seq < from || limit < 1) return [];
    if (last.seq === from) return this.#whole(place, [last.entry()]);
    const range = { from, upTo: last.seq, limit, bytesMax };
    const stored = await this.#reads.range(place, range);
    const whole = await this.#whole(place, stored);
    const end = stored.at(-1)?.position ?? last.seq;
    if (whole.length === stored.length || end >= last.seq) return whole;
    // A trim took some: what is left must not look like everything.
    const rest = { limit: limit - whole.length, bytesMax };
    return [...whole, ...(await this.read(subject, end + 1, rest))];
  }

  follow(subject: string, from: Position, onInterrupted?: () => void): Follow {
    const place = this.#place(subject);
    const follow: NatsFollow = new NatsFollow({
      reader: this.#reads.reader(place, from, defined({ onInterrupted })),
      subject,
      whole: (entries) => this.#whole(place, entries),
      onClose: () => this.#follows.delete(follow),
    });
    this.#follows.add(follow);
    return follow;
  }

  async trim(subject: string, upTo: Position): Promise<void> {
    const place = this.#place(subject);
    const last = await this.#reads.last(place);
    const keep = Math.min(upTo + 1, last?.seq ?? 0);
    if (keep <= 1) return;
    const isOverwritten = this.#o.streams.isOverwritten?.(place.stream) === true;
    if (isOverwritten || (await this.#large.any(place.subject)))
      await this.#trimEach(place, keep, isOverwritten);
    else await this.#purge(place, keep);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const follow of this.#follows) follow.refuse(closed());
    this.#follows.clear();
    await Promise.allSettled(this.#turns.values());
    await this.#appends.idle();
    this.#appends.close();
    this.#requests.close();
    this.#link.close();
  }

  get #payloadBytesMax(): number {
    const { info } = this.#link.nc;
    return (info?.max_payload ?? PAYLOAD_BYTES_DEFAULT) - HEADER_BYTES_MAX;
  }

  /** @throws TroupeError UNAVAILABLE once closed; INVALID_ARGUMENT for a subject of another cell */
  #place(name: string): Place {
    if (this.#closing) throw closed();
    const subject = (this.#o.prefix ?? '') + name;
    if (!SUBJECT.test(subject))
      throw invalid(
        `${JSON.stringify(name)} is not a subject: write tokens between dots, without * and >`,
      );
    const stream = this.#o.streams.streamOf(subject);
    if (stream === undefined) throw invalid(`${subject} belongs to no stream of this cell`);
    return { stream, subject };
  }

  /**
   * Runs `prepare` now, and what it comes to when the subject's appends before are on their way.
   */
  #inTurn(
    subject: string,
    before: Promise<unknown> | undefined,
    prepare: () => Promise<() => Promise<AppendAnswer>>,
  ): Promise<AppendAnswer> {
    const prepared = prepare();
    let appended: Promise<AppendAnswer> | undefined;
    const turn = Promise.allSettled([prepared, before]).then(([ready]) => {
      if (this.#turns.get(subject) === turn) this.#turns.delete(subject);
      if (ready.status === 'fulfilled') appended = ready.value();
      appended?.catch(() => {});
    });
    this.#turns.set(subject, turn);
    return Promise.all([prepared, turn]).then(() => appended!);
  }

  /** The blob goes again with an append that was certainly not stored. */
  async #appendLarge(publish: Publish, reference: Reference): Promise<AppendAnswer> {
    const headers = referenceHeaders(reference);
    const small = { ...publish, bytes: new Uint8Array(0), headers };
    const drop = () => this.#large.delete([reference.blob]).catch(() => {});
    try {
      const answer = await this.#appends.append(small);
      if (answer.kind === 'refused') await drop();
      return answer;
    } catch (error) {
      if (!(error instanceof AppendUnknown)) await drop();
      throw error;
    }
  }

  /** The entries with their bytes, less those whose blob went with a trim meanwhile. */
  async #whole(place: Place, entries: readonly StoredEntry[]): Promise<readonly LogEntry[]> {
    const whole: LogEntry[] = [];
    for (const entry of entries) {
      const { position, logTimeMs } = entry;
      const bytes = await this.#large.get(place.subject, entry);
      if (bytes !== undefined) whole.push({ position, bytes, logTimeMs });
      else if (await this.#reads.has(place, position))
        throw corruptEntry(place.subject, position, `its blob ${entry.reference?.blob} is missing`);
    }
    return whole;
  }

  /** Also removes the blobs of large entries. */
  async #trimEach(place: Place, keep: Position, isOverwritten: boolean): Promise<void> {
    const blobs: string[] = [];
    for (let from = 1; from < keep; ) {
      const range = { from, upTo: keep, limit: READ_LIMIT_DEFAULT, bytesMax: READ_BYTES_DEFAULT };
      const entries = await this.#reads.range(place, range);
      for (const { position, reference } of entries)
        if (reference && position < keep) blobs.push(reference.blob);
      const below = entries.filter(({ position }) => position < keep);
      if (isOverwritten) await this.#overwrite(place, below);
      from = (entries.at(-1)?.position ?? keep) + 1;
    }
    await this.#purge(place, keep);
    await this.#large.delete(blobs);
  }

  async #overwrite(place: Place, entries: readonly StoredEntry[]): Promise<void> {
    const { stream, subject } = place;
    for (let at = 0; at < entries.length; at += ERASES_AT_ONCE)
      await Promise.all(
        entries.slice(at, at + ERASES_AT_ONCE).map(async ({ position }) => {
          const what = `the removal of entry ${position} of ${subject}`;
          const erased = this.#purger.streams.deleteMessage(stream, position, true);
          await this.#reads.answer(what, erased).catch(async (error: unknown) => {
            // An entry that is gone is no error.
            if (await this.#reads.has(place, position)) throw error;
          });
        }),
      );
  }

  /** Removes what lies before `keep`, the position of an entry of the subject or behind one. */
  async #purge({ stream, subject }: Place, keep: Position): Promise<void> {
    assert(keep > 1, 'P4: servers up to 2.10 take a purge up to 1 or 0 for one of everything');
    const request = this.#purger.streams.purge(stream, { filter: subject, seq: keep });
    await this.#reads.answer(`the trim of ${subject}`, request);
  }
}

/** Tokens in the form that the server accepts in a message's subject. */
const SUBJECT = /^[^\s.*>]+(?:\.[^\s.*>]+)*$/;

const invalid = (why: string): TroupeError => new TroupeError('INVALID_ARGUMENT', why);

const closed = (): TroupeError => new TroupeError('UNAVAILABLE', 'the log is closed');

/** Nothing was appended: the blob could not be written. */
const notStored = (cause: unknown): never => {
  throw readFailure('the bytes of a large entry could not be stored', cause);
};
