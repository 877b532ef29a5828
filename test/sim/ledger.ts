/**
 * Ledger: the stored entries, read by an observer that shares no state with the runtime. It
 * receives every entry at the moment it is stored, applies the chain rule (C4) itself and folds
 * what counts. It records errors as faults and never corrects them.
 *
 * It has no rules about the behaviour of actors: those are in the auditor, which receives every
 * turn.
 */
import { parseSubject } from '../../protocols/subjects.ts';
import { type ActorRow, decodeActorRow } from '../../runtime/shard/turn/actor-row.ts';
import { TABLE } from '../../runtime/shard/commit/fold.ts';
import { type OutcomeReport, reportOfInput } from '../../runtime/shard/input/outcome-queue.ts';
import { decodeIntent, type Intent } from '../../runtime/shard/turn/intents.ts';
import {
  decodeKept,
  decodeMail,
  decodeRecord,
  type JournalRecord,
  type LinkTarget,
  type MailEntry,
  type OutItem,
  type Turn,
} from '../../runtime/shard/commit/records.ts';
import { decode } from '../../protocols/codec.ts';
import type { Stored } from './sim-log.ts';

/** A message that waits in a stash, according to its row. */
type StashRow =
  | { readonly kind: 'message'; readonly item: OutItem }
  | { readonly kind: 'cause'; readonly event: { readonly meta?: { readonly id: string } } };

/** The input of a turn: a message, or the id that its machine received. */
export type Taken = {
  readonly item?: OutItem;
  /** of a client: its key and the row that stores it */
  readonly client?: Extract<MailEntry, { kind: 'client' }>;
  readonly outcome?: OutcomeReport;
  /** the intent of the outcome, as stored before the turn */
  readonly intent?: Intent;
  /** the id that the machine received as `meta.id`, if it is known */
  readonly seen?: string;
  /** link `src/lane` and number */
  readonly link?: { readonly from: string; readonly n: number };
};

export type TurnView = {
  readonly shard: number;
  readonly turn: Turn;
  readonly taken: Taken;
  readonly now: number;
  readonly before: ActorRow | undefined;
  /** undefined when the turn did not write the actor's row, null when it removed it */
  readonly after: ActorRow | null | undefined;
};

export type OutView = { readonly shard: number; readonly turnNo: number; readonly item: OutItem };

export type ShardLedger = {
  readonly shard: number;
  /** position of the last stored record */
  last: number;
  /** the last record that counts */
  recId: string;
  mailFloor: number;
  ctlFloor: number;
  now: number;
  /** table -> key -> bytes */
  readonly rows: Map<string, Map<string, Uint8Array>>;
  readonly inputs: Set<string>;
  /** link `target/lane` -> its items, number n at index n - 1 */
  readonly outs: Map<string, OutView[]>;
  /** link `src/lane` -> highest number whose turn counts */
  readonly accepted: Map<string, number>;
};

/** Only rounding: an owner's estimate of log time is never ahead (H1). */
const TIME_AHEAD_MS = 2;
const NO_ROWS: ReadonlyMap<string, Uint8Array> = new Map();
const LANES = { data: 'm', control: 'c' } as const;

export class Ledger {
  readonly cell: string;
  readonly shards: readonly ShardLedger[];
  /** `m3` or `c3` (lane and shard) -> its entries, position p at index p - 1 */
  readonly mail = new Map<string, (MailEntry | undefined)[]>();
  /** kept items by the log that contains them, in order, without repeated ids */
  readonly kept = new Map<string, OutItem[]>();
  /** `id@attempt@state` of every intent row that counts */
  readonly intents = new Set<string>();
  readonly faults: string[] = [];
  /** `target id` of everything kept */
  readonly keptIds = new Set<string>();
  readonly #onTurn: (view: TurnView) => void;
  turns = 0;

  constructor(cell: string, shards: number, onTurn: (view: TurnView) => void) {
    this.cell = cell;
    this.#onTurn = onTurn;
    this.shards = Array.from({ length: shards }, (_, shard) => ({
      shard,
      last: 0,
      recId: '',
      mailFloor: 0,
      ctlFloor: 0,
      now: 0,
      rows: new Map(),
      inputs: new Set(),
      outs: new Map(),
      accepted: new Map(),
    }));
  }

  /** Folds one stored entry. */
  readonly stored = (entry: Stored): void => {
    const subject = parseSubject(entry.subject);
    if (subject.kind === 'journal') this.#record(this.shards[subject.shard]!, entry);
    if (subject.kind === 'mailbox') this.#mailed(subject.shard, LANES[subject.lane], entry);
    if (subject.kind === 'transcript') this.#keep('transcript', entry);
    if (subject.kind === 'deadLetters') this.#keep('dlq', entry);
  };

  fault(what: string): void {
    this.faults.push(what);
  }

  row(shard: number, table: string, key: string): Uint8Array | undefined {
    return this.shards[shard]!.rows.get(table)?.get(key);
  }

  /** Rows of a table, by key. */
  table(shard: number, table: string): ReadonlyMap<string, Uint8Array> {
    return this.shards[shard]!.rows.get(table) ?? NO_ROWS;
  }

  putRow(shard: number, table: string, key: string, value: Uint8Array | null): void {
    const { rows } = this.shards[shard]!;
    const known = rows.get(table) ?? new Map<string, Uint8Array>();
    rows.set(table, known);
    if (value === null) known.delete(key);
    else known.set(key, value);
  }

  /** The row of an actor, decoded once: most rows are looked at many times before they change. */
  actorRow(bytes: Uint8Array): ActorRow {
    const known = this.#actorRows.get(bytes);
    if (known) return known;
    const row = decodeActorRow(bytes);
    this.#actorRows.set(bytes, row);
    return row;
  }
  readonly #actorRows = new WeakMap<Uint8Array, ActorRow>();

  mailLast(lane: 'm' | 'c', shard: number): number {
    return this.mail.get(`${lane}${shard}`)?.length ?? 0;
  }

  // ---- journals

  #record(s: ShardLedger, { position, bytes, logTimeMs }: Stored): void {
    const record = decodeRecord(bytes);
    if (record.now > logTimeMs + TIME_AHEAD_MS)
      this.fault(`shard ${s.shard}: time is ${record.now - logTimeMs} ms ahead of the log's clock`);
    const counts = record.prev === s.last;
    if (record.prev > s.last)
      this.fault(`shard ${s.shard}: record ${position} names ${record.prev}, after the last`);
    s.last = position;
    if (!counts) return;
    s.recId = record.recId;
    if (record.now < s.now && record.t !== 'TURNS')
      this.fault(`shard ${s.shard}: time fell from ${s.now} to ${record.now} in ${record.t}`);
    s.now = Math.max(s.now, record.now);
    if (record.t === 'TURNS') this.#turns(s, record);
  }

  #turns(s: ShardLedger, record: Extract<JournalRecord, { t: 'TURNS' }>): void {
    if (record.mailFloor < s.mailFloor || record.ctlFloor < s.ctlFloor)
      this.fault(`shard ${s.shard}: a floor fell`);
    for (const turn of record.turns) this.#turn(s, turn, record.now);
    for (const [table, key, value] of record.puts) this.#put(s, table, key, value);
    for (const [link, n] of record.linkIn) {
      const known = s.accepted.get(link) ?? 0;
      if (known !== n)
        this.fault(`shard ${s.shard}: link ${link} at ${n}, its turns end at ${known}`);
    }
    s.mailFloor = record.mailFloor;
    s.ctlFloor = record.ctlFloor;
  }

  #turn(s: ShardLedger, turn: Turn, now: number): void {
    this.turns++;
    const { input } = turn;
    // An outcome without a mailbox entry is reported again to the next owner: E4 drops the copies.
    if (!input.startsWith('s') && !input.startsWith('o')) {
      if (s.inputs.has(input)) this.fault(`shard ${s.shard}: input ${input} has two turns`);
      s.inputs.add(input);
    }
    const taken = this.#taken(s, turn);
    if (taken.link) this.#accept(s, taken.link, input);
    const rowOf = (): ActorRow | undefined => {
      const bytes = this.row(s.shard, TABLE.actor, turn.actor);
      return bytes && this.actorRow(bytes);
    };
    const before = rowOf();
    const wrote = turn.puts.some(([table, key]) => table === TABLE.actor && key === turn.actor);
    for (const [table, key, value] of turn.puts) this.#put(s, table, key, value);
    const after = wrote ? (rowOf() ?? null) : undefined;
    for (const [target, lane, n, item] of turn.out) {
      const link = `${target}/${lane}`;
      const items = s.outs.get(link) ?? [];
      s.outs.set(link, items);
      if (n !== items.length + 1)
        this.fault(`shard ${s.shard}: link ${link} has number ${n} after ${items.length}`);
      // without holes, also where a number is wrong
      items[Math.min(n - 1, items.length)] = { shard: s.shard, turnNo: turn.turnNo, item };
    }
    this.#onTurn({ shard: s.shard, turn, taken, now, before, after });
  }

  #put(s: ShardLedger, table: string, key: string, value: Uint8Array | null): void {
    this.putRow(s.shard, table, key, value);
    if (table !== TABLE.intent || !value) return;
    const { attempt, state } = decodeIntent(value);
    this.intents.add(`${key}@${attempt}@${state}`);
  }

  #accept(s: ShardLedger, { from, n }: { from: string; n: number }, input: string): void {
    const high = s.accepted.get(from) ?? 0;
    if (n !== high + 1)
      this.fault(`shard ${s.shard}: ${input} takes number ${n} of link ${from} after ${high}`);
    s.accepted.set(from, Math.max(high, n));
  }

  #taken(s: ShardLedger, { input, outcome }: Turn): Taken {
    if (input.startsWith('s')) return this.#stashed(s, input.slice(1));
    if (outcome) return this.#reported(s, { ...reportOfInput(input), outcome });
    const [lane, rest] = [input[0], input.slice(1)];
    if (lane !== 'm' && lane !== 'c') return {};
    const [position, index = '0'] = rest.split('.');
    const entry = this.mail.get(`${lane}${s.shard}`)?.[Number(position) - 1];
    if (!entry) return {};
    if (entry.kind === 'outcome') return this.#reported(s, entry);
    if (entry.kind === 'client') return { item: entry.item, client: entry, seen: entry.item.id };
    const item = entry.items[Number(index)]!;
    const link = { from: `${entry.src}/${entry.lane}`, n: entry.n + Number(index) };
    return { item, link, seen: item.id };
  }

  #reported(s: ShardLedger, outcome: OutcomeReport): Taken {
    const bytes = this.row(s.shard, TABLE.intent, outcome.intent);
    return { outcome, ...(bytes ? { intent: decodeIntent(bytes) } : {}) };
  }

  #stashed(s: ShardLedger, key: string): Taken {
    const bytes = s.rows.get(TABLE.stash)?.get(key);
    if (!bytes) return {};
    const stashed = decode<StashRow>(bytes);
    if (stashed.kind === 'message') return { item: stashed.item, seen: stashed.item.id };
    const seen = stashed.event.meta?.id;
    return seen === undefined ? {} : { seen };
  }

  // ---- outputs of a shard

  #mailed(shard: number, lane: 'm' | 'c', { position, bytes }: Stored): void {
    const entries = this.mail.get(`${lane}${shard}`) ?? [];
    this.mail.set(`${lane}${shard}`, entries);
    const entry = decodeMail(bytes);
    entries[position - 1] = entry;
    if (entry.kind !== 'links') return;
    entry.items.forEach((item, i) => {
      const out = this.#out(entry.src, shard, entry.lane, entry.n + i);
      if (out?.item.id !== item.id)
        this.fault(
          `number ${entry.n + i} of link ${entry.src}->${shard}/${entry.lane} (${item.id}) left a record that does not count`,
        );
    });
  }

  #out(src: number, target: LinkTarget, lane: string, n: number): OutView | undefined {
    return this.shards[src]?.outs.get(`${target}/${lane}`)?.[n - 1];
  }

  #keep(target: 'dlq' | 'transcript', { subject, bytes }: Stored): void {
    const item = decodeKept(bytes);
    const src = Number(item.id.split('-')[1]);
    const outs = this.shards[src]?.outs.get(`${target}/data`) ?? [];
    if (!outs.some((out) => out.item.id === item.id))
      this.fault(`${target}: ${item.id} left a record that does not count`);
    if (this.keptIds.has(`${target} ${item.id}`)) return;
    this.keptIds.add(`${target} ${item.id}`);
    const kept = this.kept.get(subject) ?? [];
    this.kept.set(subject, kept);
    kept.push(item);
  }
}
