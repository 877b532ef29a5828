/**
 * The record of a cell: its number of shards, and its name where the store has none of its own. It
 * has the header of all records (record-format.ts), so a program of before the header, which would
 * make dead letters of newer mail, cannot open the cell.
 */
import { decode } from '../protocols/codec.ts';
import type { Log, LogEntry } from './log/log.ts';
import { bodyStart, encodeEntry } from './shard/commit/record-format.ts';

export const encodeCell = (record: object): Buffer => encodeEntry(record);

/**
 * Fields are not checked.
 * @throws TroupeError INTERNAL, details.reason NEWER_FORMAT, when only newer programs may open the
 * cell; INTERNAL or CorruptRecord for other bytes
 */
export const decodeCell = <T extends object>({ bytes, position }: LogEntry): T =>
  decode<T>(bytes, bodyStart(bytes, 'the record of the cell', position));

/**
 * Gives a record of before the header one. May be repeated, and by several processes at once.
 * @throws as `Log.append`
 */
export async function renewCell(log: Log, subject: string, last: LogEntry): Promise<void> {
  if (bodyStart(last.bytes, 'the record of the cell') > 0) return;
  await log.append(subject, encodeCell(decode(last.bytes)), { expectedLast: last.position });
}
