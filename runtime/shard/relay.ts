/**
 * Relay: sends committed messages on where the log cannot store them with the journal record (rule
 * D). Per link one flight at a time (W = 1): a contiguous batch of items as one mailbox entry, or
 * one entry after the other for logs without an owner (D6). No attempt limit and no expiry: a link
 * has no gap (D7).
 */
import { deadLetterSubject, mailboxSubject, transcriptSubject } from '../../protocols/subjects.ts';
import type { Lane } from '../../protocols/statechart.ts';
import type { Clock } from '../clock/clock.ts';
import type { Log } from '../log/log.ts';
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
const BACKOFF_MS = { first: 50, max: 5_000 };
/** Dead letters of actors lie in one log per installation. */
export const DEAD_LETTER_DOMAIN = 'actors';

type Link = {
  readonly target: LinkTarget;
  readonly lane: Lane;
  queue: { n: number; item: OutItem }[];
  flying: boolean;
  settled: number;
};

/** Where an item of an ownerless link is stored. */
export const keptSubject = (env: string, target: 'dlq' | 'transcript', item: OutItem): string =>
  target === 'dlq' ? deadLetterSubject(DEAD_LETTER_DOMAIN, env) : transcriptSubject(env, item.to);

export class Relay {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #env: string;
  readonly #cell: string;
  readonly #shard: number;
  readonly #onSettled: () => void;
  readonly #links = new Map<string, Link>();
  #marks = new Map<string, number>();
  #closed = false;

  constructor(options: {
    log: Log;
    clock: Clock;
    env: string;
    cell: string;
    shard: number;
    onSettled: () => void;
  }) {
    this.#log = options.log;
    this.#clock = options.clock;
    this.#env = options.env;
    this.#cell = options.cell;
    this.#shard = options.shard;
    this.#onSettled = options.onSettled;
  }

  /**
   * Adds a committed item. Items of one link come in rising order (A5: a new owner begins above its
   * fold's outFloor).
   */
  add({ target, lane, n, item }: Outgoing): void {
    const name = `${target}/${lane}`;
    let link = this.#links.get(name);
    if (!link)
      this.#links.set(name, (link = { target, lane, queue: [], flying: false, settled: n - 1 }));
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

  close(): void {
    this.#closed = true;
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
    const flight = link.queue.slice(0, typeof link.target === 'number' ? FLIGHT_ITEMS_MAX : 1);
    const [subject, bytes] = this.#entry(link, flight);
    for (
      let backoffMs = BACKOFF_MS.first;
      !this.#closed;
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MS.max)
    ) {
      try {
        await this.#log.append(subject, bytes);
        return this.#settle(link, flight.length);
      } catch {
        await new Promise<void>((resolve) => this.#clock.after(backoffMs, resolve));
      }
    }
  }

  #entry(
    link: Link,
    flight: readonly { n: number; item: OutItem }[],
  ): [subject: string, bytes: Uint8Array] {
    const { target, lane } = link;
    if (typeof target !== 'number')
      return [keptSubject(this.#env, target, flight[0]!.item), encodeKept(flight[0]!.item)];
    const items = flight.map((f) => f.item);
    const entry = {
      kind: 'links' as const,
      cell: this.#cell,
      src: this.#shard,
      lane,
      n: flight[0]!.n,
      items,
    };
    return [mailboxSubject(this.#env, target, lane), encodeMail(entry)];
  }

  #settle(link: Link, count: number): void {
    link.settled = link.queue[count - 1]!.n;
    link.queue = link.queue.slice(count);
    this.#marks.set(`${link.target}/${link.lane}`, link.settled);
    this.#onSettled();
  }
}
