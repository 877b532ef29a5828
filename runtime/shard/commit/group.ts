/**
 * Group: the turns of the next journal record (group commit), and the actions that may run only
 * after that record counts (C1, I2). `Draft` collects one turn; a dropped draft leaves no trace.
 */
import type { Address } from '../../../protocols/address.ts';
import type { DeadLetterAsk, Lane, Message } from '../../../protocols/statechart.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import { type Fold, type FoldPut, TABLE } from './fold.ts';
import type { ShardTime } from '../shard-time.ts';
import { roughBytes } from '../limits.ts';
import { PendingRow } from '../turn/actor-row.ts';
import type { TurnSource } from '../turn/turn-source.ts';
import { outlineAtEnd, type TurnOutline } from './turn-outline.ts';
import type { LinkMark, LinkTarget, Outcome, OutItem, RowPut, Turn } from './records.ts';

/**
 * What an owner does after the commit. Volatile: lost with the process, found again by the next
 * owner from the rows.
 */
export type AfterCommit =
  | {
      readonly kind: 'respond';
      readonly inbox: string;
      readonly id: string;
      readonly keyRow?: string;
      readonly result?: unknown;
      readonly error?: ErrorData;
    }
  /** a request that repeats a pending one: it gets the same answer (F7) */
  | { readonly kind: 'wait'; readonly inbox: string; readonly id: string; readonly keyRow: string }
  | { readonly kind: 'publish'; readonly topic: string; readonly event: Message }
  | { readonly kind: 'start'; readonly intent: string }
  | { readonly kind: 'abort'; readonly intent: string }
  | { readonly kind: 'arm'; readonly due: number; readonly timer: string }
  | { readonly kind: 'abandoned'; readonly letter: DeadLetterAsk }
  /** the runner of an effect may forget its outcome */
  | { readonly kind: 'reported'; readonly onCounts: () => void }
  /** of a turn that is traced */
  | { readonly kind: 'span'; readonly span: { end(): void } };

export class Draft {
  readonly puts = new Map<string, FoldPut>();
  readonly out: { target: LinkTarget; lane: Lane; item: OutItem }[] = [];
  readonly after: AfterCommit[] = [];
  /** the actor may take now what waits in its stash */
  unstash: Address | undefined;
  bytes = 0;

  put(table: string, key: string, value: FoldPut[2]): void {
    const put: FoldPut = [table, key, value];
    this.puts.set(`${table}\0${key}`, put);
    this.bytes += bytesOf(put);
  }

  /** The bytes that the turn has put; null for a removed row, undefined for one not put. */
  get(table: string, key: string): Uint8Array | null | undefined {
    const put = this.puts.get(`${table}\0${key}`);
    return put && stored(put)[2];
  }

  send(target: LinkTarget, lane: Lane, item: OutItem): void {
    this.out.push({ target, lane, item });
    this.bytes += roughBytes(item.event) + 200;
  }
}

const bytesOf = ([, key, value]: FoldPut): number =>
  key.length + (value instanceof PendingRow ? value.roughBytes : (value?.length ?? 0));

/** A turn of the group. Its rows of actors may not be encoded yet. */
export type OpenTurn = Omit<Turn, 'puts' | 'state' | 'outcome'> & {
  puts: readonly FoldPut[];
  state?: unknown;
  outcome?: Outcome;
  readonly source?: TurnSource | undefined;
  /** absent from turns that were read */
  readonly outline?: TurnOutline | undefined;
};

/** How an input ended. Every input has exactly one (B2, I9). */
export type Verdict = Pick<Turn, 'actor' | 'machine' | 'result' | 'why'>;

/** The time of one record: it does not pass while its turns run. */
export type GroupTime = Pick<ShardTime, 'now' | 'aheadMs' | 'stampLagMs'>;

export class Group {
  readonly turns: OpenTurn[] = [];
  readonly puts: RowPut[] = [];
  readonly after: AfterCommit[] = [];
  bytes = 0;
  mailFloor: number;
  ctlFloor: number;
  /** the latest log time of a client's message: idempotency keys expire by it */
  keyNow: number;
  readonly now: number;
  /** how far `now` is ahead of the log's clock, which was set back; normally 0 */
  readonly aheadMs: number;
  /** how far the time of a new mailbox entry is behind `now` */
  readonly stampLagMs: number;
  readonly #fold: Fold;
  readonly #unstash: Set<Address>;
  readonly #linkOut = new Map<string, number>();
  readonly #linkIn = new Map<string, number>();
  /** the last turn that wrote the row of an actor, by its address */
  readonly #writers = new Map<string, OpenTurn>();

  /** @param unstash actors whose stash is to be looked at before more mail is taken (I4) */
  constructor(fold: Fold, time: GroupTime, unstash: Set<Address>) {
    this.#fold = fold;
    this.#unstash = unstash;
    // The fold's time may not fall within a record either.
    this.now = Math.max(time.now(), fold.scalars.now);
    this.aheadMs = time.aheadMs();
    this.stampLagMs = time.stampLagMs();
    this.mailFloor = fold.scalars.mailFloor;
    this.ctlFloor = fold.scalars.ctlFloor;
    this.keyNow = fold.scalars.keyNow;
  }

  /** False while there is nothing worth a record. */
  get dirty(): boolean {
    const { mailFloor, ctlFloor } = this.#fold.scalars;
    return (
      this.turns.length > 0 ||
      this.puts.length > 0 ||
      this.mailFloor !== mailFloor ||
      this.ctlFloor !== ctlFloor
    );
  }

  get nextTurnNo(): number {
    return this.#fold.scalars.turnNo + this.turns.length + 1;
  }

  /** Highest number accepted on the link from `src` (E1). */
  accepted(src: string): number {
    return this.#linkIn.get(src) ?? this.#fold.scalars.linkIn[src] ?? 0;
  }

  accept(src: string, n: number): void {
    this.#linkIn.set(src, n);
  }

  get linkIn(): LinkMark[] {
    return [...this.#linkIn];
  }

  /**
   * Ends a turn: numbers its output links (D1) and makes its rows visible to the turns that follow.
   */
  finish(draft: Draft, facts: Verdict & Pick<Turn, 'input'>, source?: TurnSource): void {
    const out = draft.out.map(
      ({ target, lane, item }) => [target, lane, this.#number(target, lane), item] as const,
    );
    const puts = [...draft.puts.values()];
    for (const put of puts) this.#fold.put(put);
    const outline = outlineAtEnd({ puts, actor: facts.actor, out, source });
    const turn = { turnNo: this.nextTurnNo, ...facts, puts, out, source, outline };
    this.turns.push(turn);
    for (const [table, key] of puts) if (table === TABLE.actor) this.#replaceRow(key, turn);
    this.after.push(...draft.after);
    if (draft.unstash) this.#unstash.add(draft.unstash);
    this.bytes += draft.bytes + 100;
  }

  /**
   * Stores the input of the last turn with it: an outcome that no mailbox entry has (G6). One that
   * was dropped is not stored.
   */
  attach(outcome: Outcome, onCounts: () => void): void {
    const turn = this.turns.at(-1)!;
    if (turn.result !== 'dropped') {
      turn.outcome = outcome;
      this.bytes += roughBytes(outcome);
    }
    this.after.push({ kind: 'reported', onCounts });
  }

  /** The turns as a record has them: with the bytes of their rows. */
  sealed(): readonly Turn[] {
    return this.turns.map((turn) => ({ ...turn, puts: turn.puts.map(stored) }));
  }

  /**
   * An actor's row is in the record once, with the last turn that wrote it. Of an earlier turn the
   * record has the state only.
   */
  #replaceRow(actor: string, turn: OpenTurn): void {
    const before = this.#writers.get(actor);
    this.#writers.set(actor, turn);
    const put = before?.puts.find(([table, key]) => table === TABLE.actor && key === actor);
    if (!before || !(put?.[2] instanceof PendingRow)) return;
    before.puts = before.puts.filter((one) => one !== put);
    before.state = put[2].row.row.snap.v;
    if (before.outline) before.outline.status = undefined;
    this.bytes -= bytesOf(put);
  }

  /** A row change that belongs to no turn. */
  put(put: RowPut): void {
    this.#fold.put(put);
    this.puts.push(put);
    this.bytes += put[1].length + (put[2]?.length ?? 0);
  }

  #number(target: LinkTarget, lane: Lane): number {
    const link = `${target}/${lane}`;
    const n = this.#linkOut.get(link) ?? this.#fold.scalars.linkOut[link] ?? 1;
    this.#linkOut.set(link, n + 1);
    return n;
  }
}

const stored = (put: FoldPut): RowPut => {
  const [table, key, value] = put;
  return isStored(put) ? put : [table, key, value instanceof PendingRow ? value.bytes : value];
};

const isStored = (put: FoldPut): put is RowPut => !(put[2] instanceof PendingRow);
