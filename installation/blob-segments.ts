/** BlobSegments: the vectors of one agent in blobs, which every process of a cluster reads. */
import { type SegmentStore, vectorsIn } from '../memory/index.ts';
import { type Address, parseAddress } from '../protocols/address.ts';
import { contentHashOf } from '../protocols/document.ts';
import type { Blobs } from '../runtime/blobs/blobs.ts';

/** Everything that is stored of the memory of one agent. */
export const memoryPrefix = (owner: Address): string =>
  `memory/${parseAddress(owner).tenant}/${contentHashOf(owner).slice(0, 32)}/`;

/** Vectors of messages are in a folder of their own among those of the notes. */
const SESSIONS = 'sessions/';

/** Vectors of messages of the agent's sessions. */
export const messagesPrefix = (owner: Address): string => memoryPrefix(owner) + SESSIONS;

/** Vectors of texts that still exist are made again when they are needed. */
export async function removeVectors(blobs: Blobs, prefix: string): Promise<void> {
  for (const name of await blobs.list(prefix)) await blobs.delete(name);
}

/** Counts the vectors below a prefix by the segments, whose contents are not checked. */
export async function countVectors(blobs: Blobs, prefix: string): Promise<number> {
  let count = 0;
  for (const name of await blobs.list(prefix)) {
    const bytes = await blobs.get(name);
    if (bytes) count += vectorsIn(bytes);
  }
  return count;
}

export class BlobSegments implements SegmentStore {
  readonly #blobs: Promise<Blobs>;
  readonly #prefix: string;

  constructor(blobs: Promise<Blobs>, owner: Address, of: 'notes' | 'sessions' = 'notes') {
    this.#blobs = blobs;
    this.#prefix = of === 'sessions' ? messagesPrefix(owner) : memoryPrefix(owner);
  }

  async list(): Promise<readonly string[]> {
    const names = await (await this.#blobs).list(this.#prefix);
    const own = names.map((name) => name.slice(this.#prefix.length));
    return own.filter((name) => !name.startsWith(SESSIONS));
  }

  async read(name: string): Promise<Uint8Array | undefined> {
    return (await this.#blobs).get(this.#prefix + name);
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    await (await this.#blobs).put(this.#prefix + name, bytes);
  }

  async remove(name: string): Promise<void> {
    await (await this.#blobs).delete(this.#prefix + name);
  }
}
