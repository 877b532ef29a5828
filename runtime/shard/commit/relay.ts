/**
 * Relay: sends committed messages where the log cannot store them with the journal record (rule D).
 * One flight per link at a time (W = 1): a contiguous batch of items as one mailbox entry. Flights
 * to logs without an owner (D6) run in parallel for different transcripts, in sequence for the same
 * one. There is no limit of attempts and no expiry, because a link has no gap (D7).
 */
import {
  deadLetterSubject,
  mailboxSubject,
  transcriptSubject,
} from '../../../protocols/subjects.ts';
import type { Lane } from '../../../protocols/statechart.ts';
import type { Clock } from '../../clock/clock.ts';
import type { Log, Position } from '../../log/log.ts';
import type { TranscriptWriter } from '../../transcripts.ts';
import { roughBytes } from '../limits.ts';
import type { WriteFormat } from './record-format.ts';
import {
  type LinkMark,
  type LinkTarget,
  type OutItem,
  type Turn,
  encodeKept,
  encodeMail,
} from './records.ts';

export type Outgoing = {
  readonly target: LinkTarget;
  readonly lane: Lane;
  readonly n: number;
  readonly item: OutItem;
};

const FLIGHT_ITEMS_MAX = 256;
const FLIGHT_BYTES_MAX = 512 * 1024;
/** Entries of different ownerless logs that are on their way at once, per link. */
const KEPT_FLIGHT_MAX = 64;
const BACKOFF_MS = { first: 50, max: 5_000 };
/** The domain of messages that the runtime itself could not apply. */
export const DEAD_LETTER_DOMAIN = 'actors';

type Sending = { readonly n: number; readonly item: OutItem };
type Flight = readonly Sending[];

type Link = {
  readonly target: LinkTarget;
  readonly lane: Lane;
  queue: Sending[];
  flying: boolean;
  settled: number;
  /** resolved when the item `n` is settled, or the relay closed */
  waiters: { readonly n: number; readonly resolve: () => void }[];
};

/** Where an item of an ownerless link is stored. */
export const keptSubject = (env: string, target: 'dlq' | 'transcript', item: OutItem): string =>
  target === 'dlq' ? deadLetterSubject(domainOf(item), env) : transcriptSubject(env, item.to);

/** Of an item that is a dead letter. */
export const domainOf = ({ event }: OutItem): string =>
  (event['domain'] as string | undefined) ?? DEAD_LETTER_DOMAIN;

export class Relay {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #env: string;
  readonly #cell: string;
  readonly #shard: number;
  readonly #format: WriteFormat;
  readonly #onSettled: () => void;
  readonly #transcripts: TranscriptWriter | undefined;
  readonly #links = new Map<string, Link>();
  #marks = new Map<string, number>();
  #closed = false;

  constructor(options: {
    log: Log;
    clock: Clock;
    env: string;
    cell: string;
    shard: number;
    format: WriteFormat;
    onSettled: () => void;
    /** receives the stored transcript entries, before waiting readers continue */
    transcripts?: TranscriptWriter | undefined;
  }) {
    this.#log = options.log;
    this.#clock = options.clock;
    this.#env = options.env;
    this.#cell = options.cell;
    this.#shard = options.shard;
    this.#format = options.format;
    this.#onSettled = options.onSettled;
    this.#transcripts = options.transcripts;
  }

  /**
   * Adds a committed item. Items of one link come in rising order (A5: a new owner begins above its
   * fold's outFloor).
   */
  add({ target, lane, n, item }: Outgoing): void {
    const name = `${target}/${lane}`;
    let link = this.#links.get(name);
    if (!link)
      this.#links.set(
        name,
        (link = { target, lane, queue: [], flying: false, settled: n - 1, waiters: [] }),
      );
    link.queue.push({ n, item });
    this.#fly(link);
  }

  /** What a record's turns send. */
  addOutOf(turns: readonly Turn[]): void {
    for (const { out } of turns) {
      for (const [target, lane, n, item] of out) this.add({ target, lane, n, item });
    }
  }

  /** Settled marks since the last call, for the next record (D5). */
  takeMarks(): LinkMark[] {
    const marks = [...this.#marks];
    this.#marks = new Map();
    return marks;
  }

  get marked(): boolean {
    return this.#marks.size > 0;
  }

  /**
   * Resolves when every transcript entry added so far can be read; undefined if it already can. A
   * subscriber that is notified of a turn may read its entries at once.
   */
  transcriptsKept(): Promise<void> | undefined {
    const open = [...this.#links.values()].filter(
      ({ target, queue }) => target === 'transcript' && queue.length > 0,
    );
    if (open.length === 0 || this.#closed) return undefined;
    const kept = open.map(
      ({ queue, waiters }) =>
        new Promise<void>((resolve) => waiters.push({ n: queue.at(-1)!.n, resolve })),
    );
    return Promise.all(kept).then(() => {});
  }

  close(): void {
    this.#closed = true;
    this.#transcripts?.close();
    for (const { waiters } of this.#links.values()) for (const { resolve } of waiters) resolve();
  }

  #fly(link: Link): void {
    if (link.flying || this.#closed || link.queue.length === 0) return;
    link.flying = true;
    void this.#send(link).then(() => {
      link.flying = false;
      this.#fly(link);
    });
  }

  async #send(link: Link): Promise<void> {
    const { target } = link;
    const flight = typeof target === 'number' ? mailOf(link.queue) : keptOf(link.queue, target);
    const sent =
      typeof target === 'number'
        ? [this.#append(mailboxSubject(this.#env, target, link.lane), this.#mail(link, flight))]
        : flight.map(({ item }) => this.#keep(target, item));
    await Promise.all(sent);
    if (!this.#closed) this.#settle(link, flight.length);
  }

  async #keep(target: 'dlq' | 'transcript', item: OutItem): Promise<void> {
    const bytes = encodeKept(item, this.#format.writes);
    const position = await this.#append(keptSubject(this.#env, target, item), bytes);
    if (target === 'transcript' && position !== undefined && !this.#closed)
      this.#transcripts?.stored(item.to, { position, bytes });
  }

  /** Appends until it is answered or the relay closes, when its position is undefined. */
  async #append(subject: string, bytes: Uint8Array): Promise<Position | undefined> {
    for (
      let backoffMs = BACKOFF_MS.first;
      !this.#closed;
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MS.max)
    ) {
      try {
        const answer = await this.#log.append(subject, bytes);
        if (answer.kind === 'stored') return answer.position;
      } catch {
        await new Promise<void>((resolve) => this.#clock.after(backoffMs, resolve));
      }
    }
  }

  #mail({ lane }: Link, flight: Flight): Uint8Array {
    const items = flight.map(({ item }) => item);
    const { n } = flight[0]!;
    const entry = { kind: 'links' as const, cell: this.#cell, src: this.#shard, lane, n, items };
    return encodeMail(entry, this.#format.writes);
  }

  #settle(link: Link, count: number): void {
    link.settled = link.queue[count - 1]!.n;
    link.queue = link.queue.slice(count);
    this.#marks.set(`${link.target}/${link.lane}`, link.settled);
    for (const { n, resolve } of link.waiters) if (n <= link.settled) resolve();
    link.waiters = link.waiters.filter(({ n }) => n > link.settled);
    this.#onSettled();
  }
}

/** The next items as one mailbox entry: at least one, not many bytes. */
function mailOf(queue: Flight): Flight {
  let bytes = 0;
  const end = queue.findIndex(({ item }, i) => {
    bytes += roughBytes(item.event);
    return i >= FLIGHT_ITEMS_MAX || (i > 0 && bytes > FLIGHT_BYTES_MAX);
  });
  return queue.slice(0, end < 0 ? queue.length : end);
}

/** The next items whose order on the way means nothing: no two of one log. */
function keptOf(queue: Flight, target: 'dlq' | 'transcript'): Flight {
  if (target === 'dlq') return queue.slice(0, 1);
  const logs = new Set<string>();
  const end = queue.findIndex(
    ({ item }) => logs.size >= KEPT_FLIGHT_MAX || logs.size === logs.add(item.to).size,
  );
  return queue.slice(0, end < 0 ? queue.length : end);
}
