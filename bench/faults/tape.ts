/**
 * Reads the logs of a cell in an order in which they could have been stored. The streams of a cell
 * are separate, so there is no order of all entries. But an entry that was caused by another one
 * was stored after it: a message of a link after the record that sent it, and a record after the
 * messages that it processed. The ledger needs no more than this order.
 */
import type { Lane } from '../../protocols/statechart.ts';
import {
  deadLetterSubject,
  journalSubject,
  mailboxSubject,
  transcriptSubject,
} from '../../protocols/subjects.ts';
import { DEAD_LETTER_DOMAIN } from '../../runtime/shard/commit/relay.ts';
import type { Log } from '../../runtime/log/log.ts';
import { decodeKept, decodeMail, decodeRecord } from '../../runtime/shard/commit/records.ts';
import type { Ledger } from '../../test/sim/ledger.ts';
import type { Stored } from '../../test/sim/sim-log.ts';

type Reel = {
  readonly subject: string;
  /** whether everything that could have caused the entry has been played */
  readonly isDue: (entry: Stored) => boolean;
  /** position of the first unread entry */
  from: number;
  /** read, but not played */
  waiting: Stored[];
};

export type TapeOptions = {
  readonly log: Log;
  readonly env: string;
  readonly ledger: Ledger;
  /** actors that may have a transcript */
  readonly actors: readonly string[];
  /** receives each entry in the order in which the ledger does */
  readonly onPlayed?: (entry: Stored) => void;
};

export class Tape {
  readonly #log: Log;
  readonly #env: string;
  readonly #ledger: Ledger;
  readonly #onPlayed: (entry: Stored) => void;
  readonly #reels: readonly Reel[];
  /** by subject, the position of the last played entry */
  readonly #played = new Map<string, number>();

  constructor({ log, env, ledger, actors, onPlayed = () => {} }: TapeOptions) {
    this.#log = log;
    this.#onPlayed = onPlayed;
    this.#env = env;
    this.#ledger = ledger;
    const reel = (subject: string, isDue: Reel['isDue']): Reel => {
      return { subject, isDue, from: 1, waiting: [] };
    };
    const keptIn = (target: string) => (entry: Stored) => this.#isOut(target, entry);
    this.#reels = [
      ...ledger.shards.flatMap(({ shard }) => [
        reel(mailboxSubject(env, shard, 'data'), (entry) => this.#hasLeft(shard, entry)),
        reel(mailboxSubject(env, shard, 'control'), (entry) => this.#hasLeft(shard, entry)),
      ]),
      reel(deadLetterSubject(DEAD_LETTER_DOMAIN, env), keptIn('dlq')),
      ...actors.map((actor) => reel(transcriptSubject(env, actor), keptIn('transcript'))),
      // read last, so that what a record processed or sent is found before it
      ...ledger.shards.map(({ shard }) =>
        reel(journalSubject(env, shard), (entry) => this.#hasTaken(shard, entry)),
      ),
    ];
  }

  /** Plays the new entries whose causes are read. */
  async play(): Promise<void> {
    for (const reel of this.#reels) await this.#read(reel);
    while (this.#reels.map((reel) => this.#playDue(reel)).some((moved) => moved));
  }

  /** Entries without a cause; each is an error. Call it when nothing is stored any more. */
  *left(): Generator<string> {
    for (const { subject, waiting } of this.#reels) {
      const [first] = waiting;
      if (first) yield `${subject}: ${waiting.length} entries from ${first.position} have no cause`;
    }
  }

  async #read(reel: Reel): Promise<void> {
    for (;;) {
      const entries = await this.#log.read(reel.subject, reel.from);
      const last = entries.at(-1);
      if (!last) return;
      reel.waiting.push(...entries.map((entry) => ({ ...entry, subject: reel.subject })));
      reel.from = last.position + 1;
    }
  }

  /** Returns whether there was any. */
  #playDue(reel: Reel): boolean {
    let next = 0;
    for (; next < reel.waiting.length; next++) {
      const entry = reel.waiting[next]!;
      if (!reel.isDue(entry)) break;
      this.#ledger.stored(entry);
      this.#onPlayed(entry);
      this.#played.set(reel.subject, entry.position);
    }
    reel.waiting = reel.waiting.slice(next);
    return next > 0;
  }

  /** A message between shards: the record that sent it is played. */
  #hasLeft(shard: number, { bytes }: Stored): boolean {
    const entry = decodeMail(bytes);
    if (entry.kind !== 'links') return true;
    const sent = this.#ledger.shards[entry.src]?.outs.get(`${shard}/${entry.lane}`)?.length ?? 0;
    return entry.n + entry.items.length - 1 <= sent;
  }

  #isOut(target: string, { bytes }: Stored): boolean {
    const { id } = decodeKept(bytes);
    const outs = this.#ledger.shards[shardOfOut(id)]?.outs.get(`${target}/data`) ?? [];
    return outs.some(({ item }) => item.id === id);
  }

  /** A record: the messages that it processed are played. */
  #hasTaken(shard: number, { bytes }: Stored): boolean {
    const record = decodeRecord(bytes);
    if (record.t !== 'TURNS') return true;
    return record.turns.every(({ input }) => {
      const lane = LANE_OF[input[0] ?? ''];
      if (!lane) return true;
      const played = this.#played.get(mailboxSubject(this.#env, shard, lane)) ?? 0;
      return Number.parseInt(input.slice(1), 10) <= played;
    });
  }
}

/** The first letters of a turn's input that comes from a mailbox. */
const LANE_OF: Readonly<Record<string, Lane>> = { m: 'data', c: 'control' };

/** Ids of messages between actors contain the shard of the sender. */
const shardOfOut = (id: string): number => Number(id.split('-')[1]);
