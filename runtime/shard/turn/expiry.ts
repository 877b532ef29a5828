/**
 * Expiry: rows that are removed by time: idempotency keys, and index rows with an expiry time. The
 * time is the log's, as mail shows it, not a worker's clock (F4). Each record removes some, in
 * hourly order.
 */
import { sortable } from './actor-row.ts';
import { type Fold, TABLE } from '../commit/fold.ts';
import type { Group } from '../commit/group.ts';
import type { RowPut } from '../commit/records.ts';

const HOUR_MS = 3_600_000;
/** Rows removed per record. */
const EXPIRED_PER_RECORD = 500;

/**
 * The row that makes another one leave, not before `at` and with the first record of a later hour.
 */
export const expiryOf = (table: string, key: string, at: number): RowPut => [
  TABLE.expiry,
  `${sortable(Math.ceil(at / HOUR_MS))}|${table}\0${key}`,
  Buffer.alloc(0),
];

/** The hour up to which no committed row was left. */
const donePerFold = new WeakMap<Fold, number>();

/**
 * Removes some of the rows whose time is over, oldest first. What is committed later with a time
 * that was over already leaves with the first record of the next hour.
 */
export function expireRows(fold: Fold, group: Group): void {
  const hour = Math.floor(group.keyNow / HOUR_MS);
  if (donePerFold.get(fold) === hour) return;
  const expired = fold.committed(TABLE.expiry, { to: sortable(hour), limit: EXPIRED_PER_RECORD });
  if (expired.length === 0) donePerFold.set(fold, hour);
  for (const { key } of expired) {
    if (fold.get(TABLE.expiry, key) === undefined) continue;
    const row = key.slice(key.indexOf('|') + 1);
    const end = row.indexOf('\0');
    group.put([TABLE.expiry, key, null]);
    group.put([row.slice(0, end), row.slice(end + 1), null]);
  }
}
