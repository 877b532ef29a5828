/**
 * CellFormat: the format in which a process writes records, which is the one of its cell. While
 * programs of two versions share a cell, it is the older one, so that the newer program can be
 * replaced by the older one again. `troupe upgrade finish` raises it.
 *
 * A process that has not noticed yet that it was raised writes the former one, which all can read.
 */
import { TroupeError } from '../protocols/errors.ts';
import { cellSubject } from '../protocols/subjects.ts';
import type { Raised } from '../protocols/upgrade.ts';
import { cellHeader, decodeCell, encodeCell } from './cell-record.ts';
import type { Log, LogEntry } from './log/log.ts';
import { FORMAT, type WriteFormat } from './shard/commit/record-format.ts';

type CellRecord = { readonly raised?: Raised };

export class CellFormat implements WriteFormat {
  readonly #log: Log;
  readonly #subject: string;
  #writes = FORMAT;

  private constructor(log: Log, env: string) {
    this.#log = log;
    this.#subject = cellSubject(env);
  }

  /**
   * Of a cell that exists. A log without a record of a cell has the newest format.
   * @throws TroupeError INTERNAL (NEWER_FORMAT) when only newer programs may open the cell;
   * UNAVAILABLE when the log does not answer
   */
  static async open(log: Log, env: string): Promise<CellFormat> {
    const opened = new CellFormat(log, env);
    await opened.read();
    return opened;
  }

  get writes(): number {
    return this.#writes;
  }

  /** What the cell's record says now; this process follows it. @throws as `open` */
  async read(): Promise<{ format: number; minReader: number; raised?: Raised }> {
    const last = await this.#log.readLast(this.#subject);
    return last ? this.#follow(last) : { format: FORMAT, minReader: FORMAT };
  }

  /**
   * Raises it to the newest format of this program. May be repeated, and by several processes at
   * once: one of them raises it. Resolves with whether this call did.
   * @throws TroupeError UNAVAILABLE when it is not known whether it was stored: repeat it; as
   * `open`
   */
  async raise(by: string, at: number): Promise<boolean> {
    const last = await this.#log.readLast(this.#subject);
    if (!last) throw new TroupeError('NOT_FOUND', `${this.#subject} has no record of a cell`);
    const { format: from } = this.#follow(last);
    if (from >= FORMAT) return false;
    const raised: Raised = { from, at, by };
    const bytes = encodeCell({ ...decodeCell<CellRecord>(last), raised });
    const answer = await this.#log.append(this.#subject, bytes, { expectedLast: last.position });
    await this.read();
    return answer.kind === 'stored';
  }

  #follow(last: LogEntry): { format: number; minReader: number; raised?: Raised } {
    const { raised } = decodeCell<CellRecord>(last);
    const header = cellHeader(last);
    this.#writes = Math.min(header.format, FORMAT);
    return { ...header, ...(raised && { raised }) };
  }
}
