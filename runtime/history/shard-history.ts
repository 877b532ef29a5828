/**
 * ShardHistory: keeps what the turns of a shard did. Its owner collects committed turns in memory,
 * and stores them as one batch before it trims the journal and the mailbox that they are read from.
 *
 * Invariants:
 *  - history holds nothing that is not committed, and no turn waits for it;
 *  - a batch that cannot be stored is tried again, and lost after a few attempts: that loses
 *    history, never state, and the shard trims as without history;
 *  - after a crash the next owner reads from the journal what is behind the last segment, because
 *    nothing behind it was trimmed. What is stored twice is shown once, by its turn number;
 *  - bounded (I8): a batch, the batches that wait, and the bytes of all that is stored.
 */
import { errorData } from '../../protocols/errors.ts';
import { fullHistorySubject, historySubject } from '../../protocols/subjects.ts';
import type { Log, Position } from '../log/log.ts';
import { Batch, type CommittedTurns } from './batch.ts';
import { encodeFullTurns, removeFullTurns } from './full-turns.ts';
import { turnsOfJournal } from './journal-turns.ts';
import type { HistoryRules } from './policy.ts';
import { HistoryRoom } from './room.ts';
import {
  encodeSegment,
  type FullPlace,
  lastSegment,
  type SegmentHead,
  SEGMENTS_BACK,
} from './segment.ts';
import { openEffects } from './summary.ts';

export type ShardHistoryOptions = {
  readonly log: Log;
  readonly env: string;
  readonly shard: number;
  readonly rules: HistoryRules;
  /** position of the record with which this owner began */
  readonly epoch: Position;
  readonly alarm: (what: string) => void;
};

/** A batch of this size is stored at once. */
const BATCH_BYTES = 2 ** 20;
const ATTEMPTS_MAX = 3;
const WAITING_BATCHES_MAX = 16;

type Last = Pick<SegmentHead, 'covers' | 'total' | 'lastTurn'> & { readonly position: Position };
const NOTHING: Last = { covers: 0, total: 0, lastTurn: 0, position: 0 };

export class ShardHistory {
  readonly #o: ShardHistoryOptions;
  readonly #subject: string;
  readonly #effects = openEffects();
  readonly #room: HistoryRoom;
  #batch: Batch;
  /** batches that are to be stored, oldest first */
  #waiting: Batch[] = [];
  #attempts = 0;
  #storing: Promise<boolean> | undefined;
  /** the last segment; undefined until it was looked for */
  #last: Last | undefined;
  /** what former owners left is stored, or lost */
  #isCaughtUp = false;
  /** positions of the last segments of this owner */
  #recent: Position[] = [];
  #closed = false;

  constructor(options: ShardHistoryOptions) {
    const { log, env, shard, rules } = options;
    this.#o = options;
    this.#subject = historySubject(env, shard);
    const onFailed = (error: unknown) => this.#alarm('removing old history failed', error);
    this.#room = new HistoryRoom({ log, env, subject: this.#subject, rules, onFailed });
    this.#batch = this.#newBatch();
  }

  close(): void {
    this.#closed = true;
  }

  /** Turns of a record that counts, in the order of the journal. */
  committed(turns: CommittedTurns, position: Position): void {
    this.#batch.add(turns, position);
    if (this.#batch.bytes >= BATCH_BYTES || this.#batch.erases) void this.stored();
  }

  /**
   * Stores what was committed. Resolves with true when the journal may be trimmed up to there:
   * it is stored, or lost after several attempts. Never rejects.
   */
  async stored(): Promise<boolean> {
    this.#takeBatch();
    while (this.#storing) await this.#storing;
    const storing = this.#storeWaiting();
    this.#storing = storing;
    const isStored = await storing;
    this.#storing = undefined;
    return isStored;
  }

  #newBatch(): Batch {
    return new Batch(this.#o.rules, this.#effects);
  }

  #takeBatch(): void {
    if (this.#batch.isEmpty) return;
    if (this.#waiting.length < WAITING_BATCHES_MAX) this.#waiting.push(this.#batch);
    else {
      this.#alarm('the history of some turns is lost', new Error('the store is too slow'));
      this.#waiting = this.#removalsOf([...this.#waiting, this.#batch]);
    }
    this.#batch = this.#newBatch();
  }

  /** What remains of batches that are lost: what was erased must not be shown again. */
  #removalsOf(lost: readonly Batch[]): Batch[] {
    const rest = this.#newBatch();
    for (const { removals, covers } of lost)
      for (const { now, aheadMs, turn } of removals)
        rest.add({ now, aheadMs, turns: [turn] }, covers);
    return rest.isEmpty ? [] : [rest];
  }

  async #storeWaiting(): Promise<boolean> {
    try {
      if (!this.#isCaughtUp) await this.#catchUp();
      this.#isCaughtUp = true;
      while (this.#waiting.length > 0 && !this.#closed) {
        await this.#store(this.#waiting[0]!);
        this.#waiting.shift();
      }
      this.#attempts = 0;
      return !this.#closed;
    } catch (error) {
      return this.#failed(error);
    }
  }

  /** Whether to continue without what could not be stored. */
  #failed(error: unknown): boolean {
    if (this.#closed) return false;
    this.#attempts++;
    if (this.#attempts < ATTEMPTS_MAX) return false;
    this.#alarm('the history of some turns is lost', error);
    this.#attempts = 0;
    this.#isCaughtUp = true;
    this.#waiting = this.#removalsOf(this.#waiting);
    return true;
  }

  #alarm(what: string, error: unknown): void {
    if (!this.#closed)
      this.#o.alarm(`shard ${this.#o.shard}: ${what}: ${errorData(error).message}`);
  }

  /** Stores what former owners committed and did not store. */
  async #catchUp(): Promise<void> {
    const last = await this.#findLast();
    const left = { after: last.covers, before: this.#o.epoch };
    let batch = this.#newBatch();
    for await (const { position, now, turns } of turnsOfJournal(this.#o, left)) {
      if (this.#closed) return;
      // Before there was history, the mailbox was trimmed without it.
      const known = last.position > 0 ? turns : turns.filter(({ source }) => source);
      batch.add({ now, aheadMs: 0, turns: known }, position);
      if (batch.bytes < BATCH_BYTES) continue;
      await this.#store(batch);
      batch = this.#newBatch();
    }
    if (!batch.isEmpty) await this.#store(batch);
  }

  async #findLast(): Promise<Last> {
    const last = (await lastSegment(this.#o.log, this.#subject)) ?? NOTHING;
    this.#last = last;
    this.#recent = last.position > 0 ? [last.position] : [];
    return last;
  }

  async #store(batch: Batch): Promise<void> {
    const { log } = this.#o;
    const last = this.#last ?? (await this.#findLast());
    // Stored by an attempt without an answer, or by another owner.
    if (batch.lastTurn <= last.lastTurn) return;
    const { full, bytes: fullBytes } = await this.#storeFull(batch);
    const { covers, lastTurn, lastAt } = batch;
    const head = { covers, lastTurn, lastAt, back: this.#recent[0] ?? 0, full };
    let total = 0;
    const { summaries } = batch;
    const kept = { actors: batch.actors(), summaries };
    const bytes = await encodeSegment(
      head,
      kept,
      (size) => (total = last.total + size + fullBytes),
    );
    const answer = await log.append(this.#subject, bytes, { expectedLast: last.position });
    if (answer.kind === 'refused') {
      await this.#findLast();
      return this.#store(batch);
    }
    const { position } = answer;
    this.#last = { covers, total, lastTurn, position };
    this.#recent = [...this.#recent, position].slice(-SEGMENTS_BACK);
    await this.#room.keep({ total, lastAt });
  }

  /** Turns with bodies, of each actor apart. Those of an actor that was removed are, too. */
  async #storeFull({ full, removed }: Batch): Promise<{ full: FullPlace[]; bytes: number }> {
    const { log, env } = this.#o;
    const onFailed = (error: unknown) => this.#alarm('removing history failed', error);
    for (const actor of removed)
      await removeFullTurns(log, fullHistorySubject(env, actor), { onFailed });
    let bytes = 0;
    const places = Array.from(full, async ([actor, turns]): Promise<FullPlace | undefined> => {
      const entry = await encodeFullTurns(turns);
      bytes += entry.length;
      const answer = await log.append(fullHistorySubject(env, actor), entry);
      return answer.kind === 'stored' ? [actor, answer.position] : undefined;
    });
    const stored = await Promise.all(places);
    return { full: stored.filter((place) => place !== undefined), bytes };
  }
}
