/**
 * Fold: the state of one shard, derived from its journal, and changes that are not committed yet.
 *
 * Committed rows are in the State port (on disk when embedded); uncommitted rows overlay them in
 * memory. An owner that loses its shard discards its Fold completely (A4). `Scalars` are one row
 * that is written with every record.
 */
import { decode, encode } from '../../../protocols/codec.ts';
import type { Position } from '../../log/log.ts';
import type { Put, Row, State, TableRow } from '../../state/state.ts';
import { PendingRow, sortable } from '../turn/actor-row.ts';
import { type JournalRecord, type LinkMark, type Turn, encodeOut } from './records.ts';

/** The names of a shard's tables; index rows are in `ix:{index}`. */
export const TABLE = {
  scalars: 'meta',
  actor: 'actor',
  intent: 'intent',
  timer: 'timer',
  key: 'key',
  expiry: 'expiry',
  stash: 'stash',
  out: 'out',
  /** domains of dead letters that machines gave up, by name */
  domain: 'domain',
} as const;

/** A row change of a turn that is not in a record yet. */
export type FoldPut = readonly [table: string, key: string, value: Uint8Array | PendingRow | null];

const SCALARS_KEY = 'head';
const PAGE = 500;
/** EPOCH times kept for the crash window (K1). */
const EPOCHS_KEPT = 8;

export type Scalars = {
  cell: string;
  /**
   * last folded record: its own id and its predecessor's position identify it where its position is
   * not yet known
   */
  recId: string;
  prev: Position;
  mailFloor: Position;
  ctlFloor: Position;
  turnNo: number;
  now: number;
  /** highest log time of mail read: the clock of key expiry (F4) */
  keyNow: number;
  keyCount: number;
  stashCount: number;
  /** link `dst/lane` -> number of the next item */
  linkOut: Record<string, number>;
  /** link `src/lane` -> highest accepted */
  linkIn: Record<string, number>;
  /** link `dst/lane` -> highest settled */
  outFloor: Record<string, number>;
  /** shard times of EPOCH records that no HANDOFF preceded (K1) */
  unclean: number[];
  handedOff: boolean;
  /** input -> TRY records without its Turn (K2) */
  tries: Record<string, number>;
  /** of the last SNAPSHOT record; absent before the first one, and where the log is atomic */
  snapshot?: SnapshotMark;
  /** journal after that record, or from the beginning */
  since: { records: number; bytes: number };
};

/** A snapshot that counts, and what was done when its record was written. */
export type SnapshotMark = {
  readonly covers: Position;
  readonly bytes: number;
  readonly mailFloor: Position;
  readonly ctlFloor: Position;
};

const outKey = (link: string, n: number) => `${link}|${sortable(n)}`;

const newScalars = (cell: string): Scalars => ({
  cell,
  recId: '',
  prev: 0,
  mailFloor: 0,
  ctlFloor: 0,
  turnNo: 0,
  now: 0,
  keyNow: 0,
  keyCount: 0,
  stashCount: 0,
  linkOut: {},
  linkIn: {},
  outFloor: {},
  unclean: [],
  handedOff: true,
  tries: {},
  since: { records: 0, bytes: 0 },
});

/** Whether this row stores the position up to which the other rows of its shard are folded. */
export const isHead = (table: string, key: string): boolean =>
  table === TABLE.scalars && key === SCALARS_KEY;

/** The row that holds the scalars. */
export const scalarsRow = (scalars: Scalars): TableRow => ({
  table: TABLE.scalars,
  key: SCALARS_KEY,
  value: encode(scalars),
});

const bytesOf = (value: FoldPut[2]): Uint8Array | null =>
  value instanceof PendingRow ? value.bytes : value;

export class Fold {
  readonly shard: number;
  readonly scalars: Scalars;
  readonly #state: State;
  /** outbox rows are kept where messages are relayed after the commit; an atomic log needs none */
  readonly keepsOutbox: boolean;
  readonly #overlay = new Map<string, { value: FoldPut[2]; record: number }>();
  /** ordinal of the record that is being built; rows in the overlay are tagged with theirs */
  #record = 1;
  #dirty = new Map<string, FoldPut>();

  constructor(shard: number, state: State, keepsOutbox: boolean, scalars: Scalars) {
    this.shard = shard;
    this.#state = state;
    this.keepsOutbox = keepsOutbox;
    this.scalars = scalars;
  }

  static empty(shard: number, state: State, keepsOutbox: boolean, cell: string): Fold {
    return new Fold(shard, state, keepsOutbox, newScalars(cell));
  }

  /** What the State port holds of this shard, or undefined when it holds nothing. */
  static fromState(shard: number, state: State, keepsOutbox: boolean): Fold | undefined {
    const bytes = state.get(shard, TABLE.scalars, SCALARS_KEY);
    if (!bytes) return undefined;
    const scalars = decode<Scalars>(bytes);
    return new Fold(shard, state, keepsOutbox, { ...newScalars(scalars.cell), ...scalars });
  }

  get(table: string, key: string): Uint8Array | undefined {
    const over = this.#overlay.get(`${table}\0${key}`);
    if (over) return bytesOf(over.value) ?? undefined;
    return this.#state.get(this.shard, table, key);
  }

  /** Committed rows only: callers add uncommitted ones themselves. */
  committed(table: string, options?: Parameters<State['range']>[2]) {
    return this.#state.range(this.shard, table, options);
  }

  /** Every committed row of a table, page by page. */
  *committedRows(table: string): Iterable<Row> {
    for (let from = ''; ; ) {
      const rows = this.committed(table, { from, limit: PAGE });
      yield* rows;
      if (rows.length < PAGE) return;
      from = `${rows.at(-1)!.key}\0`;
    }
  }

  put(put: FoldPut): void {
    const [table, key, value] = put;
    const id = `${table}\0${key}`;
    this.#countRows(table, key, value);
    this.#overlay.set(id, { value, record: this.#record });
    this.#dirty.set(id, put);
  }

  /**
   * Applies a record's scalars. Its row puts are applied by `put` where they are made or by
   * `replay`.
   * @param bytes of the record as it is stored
   */
  applyScalars(r: JournalRecord, bytes: number): void {
    const s = this.scalars;
    s.recId = r.recId;
    s.prev = r.prev;
    s.now = Math.max(s.now, r.now);
    this.#measure(r, bytes);
    if (r.t === 'EPOCH') this.#applyEpoch(r.now);
    if (r.t === 'HANDOFF') s.handedOff = true;
    if (r.t === 'TRY') s.tries[r.input] = (s.tries[r.input] ?? 0) + 1;
    if (r.t !== 'TURNS') return;
    s.mailFloor = r.mailFloor;
    s.ctlFloor = r.ctlFloor;
    s.keyNow = r.keyNow;
    const raise =
      (to: Record<string, number>) =>
      ([peer, n]: LinkMark) =>
        (to[peer] = n);
    r.linkIn.forEach(raise(s.linkIn));
    for (const [link, n] of r.outFloor) this.#settleOutbox(link, n);
    for (const turn of r.turns) {
      s.turnNo = turn.turnNo;
      this.#applyOut(turn);
      if (s.tries[turn.input] !== undefined) delete s.tries[turn.input];
    }
  }

  /** Folds one record that counts, read from the journal. */
  replay(r: JournalRecord, bytes: number): void {
    if (r.t === 'TURNS') {
      for (const turn of r.turns) turn.puts.forEach((p) => this.put(p));
      r.puts.forEach((p) => this.put(p));
    }
    this.applyScalars(r, bytes);
  }

  /**
   * Ends the record that is being built, or the run of records that were replayed: returns all rows
   * that they change, the scalars row last.
   */
  seal(): { record: number; puts: Put[] } {
    const puts = Array.from(
      this.#dirty.values(),
      ([table, key, value]): Put => ({ shard: this.shard, table, key, value: bytesOf(value) }),
    );
    puts.push({ shard: this.shard, ...scalarsRow(this.scalars) });
    const sealed = { record: this.#record, puts };
    this.#record++;
    this.#dirty = new Map();
    return sealed;
  }

  /** The record's rows are now readable in State: drops them from the overlay. */
  settle(record: number, puts: readonly Put[]): void {
    for (const { table, key } of puts) {
      const id = `${table}\0${key}`;
      if (this.#overlay.get(id)?.record === record) this.#overlay.delete(id);
    }
  }

  #applyOut(turn: Turn): void {
    for (const [target, lane, n, item] of turn.out) {
      const link = `${target}/${lane}`;
      this.scalars.linkOut[link] = n + 1;
      if (this.keepsOutbox)
        this.put([TABLE.out, outKey(link, n), encodeOut(target, lane, n, item)]);
    }
  }

  /** What is settled leaves the fold (D5). */
  #settleOutbox(link: string, settled: number): void {
    const from = (this.scalars.outFloor[link] ?? 0) + 1;
    this.scalars.outFloor[link] = settled;
    for (let n = from; n <= settled; n++) this.put([TABLE.out, outKey(link, n), null]);
  }

  #applyEpoch(now: number): void {
    const s = this.scalars;
    if (!s.handedOff) s.unclean = [...s.unclean, now].slice(-EPOCHS_KEPT);
    s.handedOff = false;
  }

  #measure(r: JournalRecord, bytes: number): void {
    const s = this.scalars;
    if (r.t !== 'SNAPSHOT') {
      s.since.records++;
      s.since.bytes += bytes;
      return;
    }
    const { mailFloor, ctlFloor } = s;
    s.snapshot = { covers: r.covers, bytes: r.bytes, mailFloor, ctlFloor };
    s.since = { records: 0, bytes: 0 };
  }

  #countRows(table: string, key: string, value: FoldPut[2]): void {
    if (table !== TABLE.key && table !== TABLE.stash) return;
    const change = Number(value !== null) - Number(this.get(table, key) !== undefined);
    if (table === TABLE.key) this.scalars.keyCount += change;
    else this.scalars.stashCount += change;
  }
}
