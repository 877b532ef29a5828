/**
 * RecordWriter: stores the records of one owner, one at a time, applies each to the fold, and then
 * writes its rows to State.
 */
import { randomBytes } from 'node:crypto';
import type { Log, Position } from '../../log/log.ts';
import { checkPuts } from '../../state/row.ts';
import type { State } from '../../state/state.ts';
import { alongsideOf } from './alongside.ts';
import type { Fold } from './fold.ts';
import type { Committed, Journal } from './journal.ts';
import type { WriteFormat } from './record-format.ts';
import { encodeRecord, type JournalRecord, type RecordHead } from './records.ts';

export type RecordWriterOptions = {
  readonly log: Log;
  readonly state: State;
  readonly env: string;
  readonly cell: string;
  readonly fold: Fold;
  readonly journal: Journal;
  readonly now: () => number;
  readonly format: WriteFormat;
};

export class RecordWriter {
  readonly #o: RecordWriterOptions;
  readonly #name = randomBytes(12).toString('hex');
  #records = 0;
  #closed = false;
  /** position of the EPOCH record of this owner; 0 until it is stored */
  epoch: Position = 0;

  constructor(options: RecordWriterOptions) {
    this.#o = options;
  }

  /** What every record begins with. Each call names another record. */
  head(): RecordHead {
    const { cell, journal, now } = this.#o;
    this.#records++;
    const recId = `${this.#name}-${this.#records}`;
    return { cell, recId, epoch: this.epoch, prev: journal.last, now: now() };
  }

  /**
   * Stores a record that was built on the last one. `lost`: another owner wrote to the journal, or
   * the writer was closed.
   * @param onCounts called as soon as the record counts, before any other work
   * @throws TroupeError of a port; the record may be stored
   */
  async write(record: JournalRecord, onCounts?: (position: Position) => void): Promise<Committed> {
    if (this.#closed) return { kind: 'lost', why: 'closed' };
    const { log, state, env, fold, journal } = this.#o;
    const format = this.#o.format.writes;
    const bytes = encodeRecord(record, format);
    fold.applyScalars(record, bytes.length);
    const sealed = fold.seal();
    // A row that cannot be stored must be found before its record counts.
    checkPuts(sealed.puts);
    const alongside = log.atomic
      ? alongsideOf(record, { env, shard: fold.shard, format })
      : undefined;
    const answer = await journal.append(record.recId, bytes, alongside);
    // State may belong to another owner by now.
    if (this.#closed) return { kind: 'lost', why: 'closed' };
    if (answer.kind === 'lost') return answer;
    await state.write(sealed.puts);
    fold.settle(sealed.record, sealed.puts);
    onCounts?.(answer.position);
    return answer;
  }

  close(): void {
    this.#closed = true;
    this.#o.journal.close();
  }
}
