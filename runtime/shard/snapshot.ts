/**
 * Snapshot: the rows of a shard at a committed position as one immutable blob (I1), for logs whose
 * state is not stored with the journal. Written and read back before the SNAPSHOT record names it.
 */
import { encode } from '../../protocols/codec.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { Position } from '../log/log.ts';
import type { State } from '../state/state.ts';
import { sha256 } from './load.ts';

export type SnapshotBlob = {
  readonly covers: Position;
  readonly blob: string;
  readonly sha256: string;
  readonly bytes: number;
};

/** The rows at this moment: the caller calls it when State holds exactly the fold at `covers`. */
export function collectRows(state: State, shard: number): Buffer {
  const rows: [string, string, Uint8Array][] = [];
  for (const { table, key, value } of state.dump(shard)) rows.push([table, key, value]);
  return encode(rows);
}

/** Writes the blob and makes sure that it reads back whole. @throws when it does not */
export async function writeSnapshot(
  blobs: Blobs,
  name: string,
  rows: Uint8Array,
  covers: Position,
): Promise<SnapshotBlob> {
  await blobs.put(name, rows);
  const back = await blobs.get(name);
  const hash = sha256(rows);
  if (!back || sha256(back) !== hash)
    throw new Error(`snapshot ${name} does not read back as written`);
  return { covers, blob: name, sha256: hash, bytes: rows.length };
}

export const snapshotName = (
  cell: string,
  shard: number,
  covers: Position,
  epoch: Position,
): string => `snap/${cell}/${shard}/${covers}-${epoch}`;
