/**
 * LargeEntries: the bytes of entries that exceed a message, as blobs under
 * `big/{subject}/{random}`, with the subject as a hash. The entry contains the blob's name, length
 * and SHA-256.
 *
 * Invariants: a blob is complete before the entry that names it is appended, and removed after that
 * entry. A blob is never shared: a repeated append creates another one. A blob of an append with an
 * unknown outcome stays, because no clock shows when it is safe to remove.
 */
import { createHash, randomBytes } from 'node:crypto';
import { TroupeError } from '../../protocols/errors.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { Reference, StoredEntry } from './nats-entry.ts';

export class LargeEntries {
  readonly #blobs: Blobs;

  constructor(blobs: Blobs) {
    this.#blobs = blobs;
  }

  /** @throws TroupeError UNAVAILABLE */
  async put(subject: string, bytes: Uint8Array): Promise<Reference> {
    const blob = prefixOf(subject) + randomBytes(8).toString('hex');
    await this.#blobs.put(blob, bytes);
    return { blob, bytes: bytes.length, sha256: sha256(bytes) };
  }

  /** undefined when there is no such blob. @throws TroupeError INTERNAL, reason CORRUPT */
  async get(subject: string, entry: StoredEntry): Promise<Uint8Array | undefined> {
    if (entry.reference === undefined) return entry.bytes;
    const { blob, bytes, sha256: hash } = entry.reference;
    const found = await this.#blobs.get(blob);
    if (found === undefined) return undefined;
    if (found.length === bytes && sha256(found) === hash) return found;
    throw corruptEntry(subject, entry.position, `its blob ${blob} holds other bytes`);
  }

  /** Whether the subject has any, also such as no entry names. */
  async any(subject: string): Promise<boolean> {
    return (await this.#blobs.list(prefixOf(subject))).length > 0;
  }

  async delete(blobs: readonly string[]): Promise<void> {
    for (const blob of blobs) await this.#blobs.delete(blob);
  }
}

export const corruptEntry = (subject: string, position: number, why: string): TroupeError =>
  new TroupeError('INTERNAL', `entry ${position} of ${subject} cannot be read: ${why}`, {
    details: { reason: 'CORRUPT', subject, position },
  });

const prefixOf = (subject: string): string => `big/${sha256(subject).slice(0, 32)}/`;

const sha256 = (bytes: Uint8Array | string): string =>
  createHash('sha256').update(bytes).digest('hex');
