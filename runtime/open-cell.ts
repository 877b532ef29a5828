/** Opens the cell of a store: the record that names it and its number of shards. */
import { assertShards } from '../protocols/address.ts';
import { TroupeError } from '../protocols/errors.ts';
import { cellSubject } from '../protocols/subjects.ts';
import { decodeCell, encodeCell, renewCell } from './cell-record.ts';
import type { Log } from './log/log.ts';

type OpenCellOptions = {
  readonly store: { readonly log: Log; readonly cell: string };
  /** default `local` */
  readonly env?: string;
  /** of a new cell; default 8 */
  readonly shards?: number;
  readonly onAlarm?: (what: string) => void;
};

/**
 * The number of shards of the cell, written once, because the hash of an address depends on it.
 * @throws TroupeError INVALID_ARGUMENT for an invalid number of shards; UNAVAILABLE while an import
 * is under way
 */
export async function openCell({
  store,
  env = 'local',
  shards = 8,
  onAlarm,
}: OpenCellOptions): Promise<number> {
  assertShards(shards);
  const subject = cellSubject(env);
  await store.log.append(subject, encodeCell({ shards, createdAt: Date.now() }), {
    expectedLast: 0,
  });
  const last = await store.log.readLast(subject);
  if (!last)
    throw new TroupeError('INTERNAL', `the record of the cell (${subject}) cannot be read`);
  const record = decodeCell<{ shards: number; cell?: string; importing?: boolean }>(last);
  if (record.importing)
    throw new TroupeError('UNAVAILABLE', `an import into ${env} is under way, or was interrupted`);
  if (record.cell !== undefined && record.cell !== store.cell)
    throw new TroupeError('INTERNAL', `${subject} names another cell, ${record.cell}`);
  await renewCell(store.log, subject, last);
  const { shards: stored } = record;
  if (stored !== shards) {
    onAlarm?.(
      `${shards} shards were requested, but this store was created with ${stored}, which cannot change`,
    );
  }
  return stored;
}
