/**
 * The contents of the stream: an entry with its bytes, or, when those are more than a message may
 * carry, an entry that names the blob which holds them (claim check).
 */
import { type MsgHdrs, headers } from '@nats-io/transport-node';
import type { Position } from './log.ts';

/** Where the bytes of a large entry are. */
export type Reference = { readonly blob: string; readonly bytes: number; readonly sha256: string };

export type StoredEntry = {
  readonly position: Position;
  readonly logTimeMs: number;
  /** empty where there is a reference */
  readonly bytes: Uint8Array;
  readonly reference: Reference | undefined;
  /** bytes of the complete entry */
  readonly size: number;
};

const BLOB = 'Troupe-Blob';
const BYTES = 'Troupe-Blob-Bytes';
const SHA256 = 'Troupe-Blob-SHA256';

export const storedEntry = (
  position: Position,
  logTimeMs: number,
  bytes: Uint8Array,
  headersOf: () => MsgHdrs | undefined,
): StoredEntry => {
  // Parsing headers costs more than the rest; an entry with bytes refers to no others.
  const carried = bytes.length === 0 ? headersOf() : undefined;
  const blob = carried?.get(BLOB);
  if (!carried || !blob)
    return { position, logTimeMs, bytes, reference: undefined, size: bytes.length };
  const reference = { blob, bytes: Number(carried.get(BYTES)), sha256: carried.get(SHA256) };
  return { position, logTimeMs, bytes, reference, size: reference.bytes };
};

export const referenceHeaders = ({ blob, bytes, sha256 }: Reference): MsgHdrs => {
  const carried = headers();
  carried.set(BLOB, blob);
  carried.set(BYTES, String(bytes));
  carried.set(SHA256, sha256);
  return carried;
};
