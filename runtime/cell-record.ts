/**
 * The record of a cell: its number of shards, and its name where the store has none of its own. It
 * has the header of all records (record-format.ts), which here applies to the whole cell: `format`
 * is the one in which programs write, and `oldest reader` the lowest that a program must know to
 * open the cell. So every program that knows headers refuses a cell that it could not read. A
 * program from before headers would make dead letters of newer mail; it cannot open the cell.
 */
import { decode } from '../protocols/codec.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { Log, LogEntry } from './log/log.ts';
import {
  BASE_FORMAT,
  bodyStart,
  encodeEntry,
  FORMAT,
  formatNeeded,
  headerOf,
} from './shard/commit/record-format.ts';

/** What the header of a cell's record says. */
type CellHeader = { readonly format: number; readonly minReader: number };

/** @param format in which programs write; default the newest one, for a new cell */
export const encodeCell = (record: object, format: number = FORMAT): Buffer =>
  encodeEntry(record, format);

/** A record without a header is of a cell that every program may open. */
export const cellHeader = ({ bytes }: Pick<LogEntry, 'bytes'>): CellHeader => {
  const header = headerOf(bytes);
  if (!header) return { format: BASE_FORMAT, minReader: BASE_FORMAT };
  return { format: header.format, minReader: header.oldestReader };
};

/**
 * Fields are not checked.
 * @throws TroupeError INTERNAL, details.reason NEWER_FORMAT, when only newer programs may open the
 * cell; INTERNAL or CorruptRecord for other bytes
 */
export const decodeCell = <T extends object>({ bytes, position }: LogEntry): T =>
  decode<T>(bytes, cellBody(bytes, position));

function cellBody(bytes: Uint8Array, position?: number): number {
  try {
    return bodyStart(bytes, 'the record of the cell', position);
  } catch (error) {
    if (formatNeeded(error) === undefined) throw error;
    const { format, minReader } = cellHeader({ bytes });
    throw new TroupeError(
      'INTERNAL',
      `the record of the cell has format ${format}, which needs a program that reads format ` +
        `${minReader}, and this program reads formats up to ${FORMAT}: start the newer version of ` +
        'troupe again, or restore a backup from before `troupe upgrade finish`',
      { details: (error as TroupeError).details, cause: error },
    );
  }
}

/**
 * Adds the header to a record without one. May be repeated, and by several processes at once.
 * @throws as `Log.append`
 */
export async function renewCell(log: Log, subject: string, last: LogEntry): Promise<void> {
  if (headerOf(last.bytes)) return;
  const bytes = encodeCell(decode(last.bytes), BASE_FORMAT);
  await log.append(subject, bytes, { expectedLast: last.position });
}
