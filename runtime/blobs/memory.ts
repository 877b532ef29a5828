/** MemoryBlobs: blobs in the memory of a process. */
import type { Blobs } from './blobs.ts';
import { blobTaken, checkBlobName } from './name.ts';

export class MemoryBlobs implements Blobs {
  readonly #blobs = new Map<string, Buffer>();

  async put(name: string, bytes: Uint8Array): Promise<void> {
    checkBlobName(name);
    const stored = this.#blobs.get(name);
    if (stored !== undefined && !stored.equals(bytes)) throw blobTaken(name);
    this.#blobs.set(name, stored ?? Buffer.from(bytes));
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    checkBlobName(name);
    const stored = this.#blobs.get(name);
    return stored === undefined ? undefined : Uint8Array.from(stored);
  }

  async delete(name: string): Promise<void> {
    checkBlobName(name);
    this.#blobs.delete(name);
  }

  async list(prefix: string): Promise<readonly string[]> {
    return [...this.#blobs.keys()].filter((name) => name.startsWith(prefix)).sort();
  }
}
