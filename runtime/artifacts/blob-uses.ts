/**
 * BlobUses: when each file of a bucket in blobs was last stored or signed, how many bytes a
 * tenant's files have, and the removal of files that were not used for long. blob-artifacts.ts
 * explains what is stored where and why.
 */
import type { Blobs } from '../blobs/blobs.ts';
import type { Clock } from '../clock/clock.ts';
import type { Artifact, UnusedArtifacts } from './artifacts.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { TenantRoom } from './tenant-room.ts';

export type BlobUsesOptions = {
  readonly blobs: Blobs;
  /** bytes of one tenant */
  readonly bytesMax: () => number;
  readonly clock: Clock;
  /** name of a file's blob */
  readonly fileOf: (tenant: string, hash: string) => string;
};

type Use = { readonly name: string; readonly day: number; readonly bytes: number };

const DAY_MS = 86_400_000;
const USES = 'artifact-uses';
const DUE = 'artifact-due';
const NAME = /^artifact-uses\/([^/]+)\/([0-9a-f]{64})\/(\d+)-(\d+)$/;
const DUE_NAME = /^artifact-due\/([^/]+)\/([0-9a-f]{64})$/;

export class BlobUses implements UnusedArtifacts {
  readonly #o: BlobUsesOptions;
  readonly #room: TenantRoom;

  constructor(options: BlobUsesOptions) {
    this.#o = options;
    const { bytesMax, clock } = options;
    const bytesOf = (tenant: string) => this.#bytesOf(tenant);
    this.#room = new TenantRoom({ bytesMax, clock, bytesOf });
  }

  /** As of `TenantRoom`. */
  storing<T>(tenant: string, bytes: number, write: () => Promise<T>): Promise<T> {
    return this.#room.storing(tenant, bytes, write);
  }

  /** The type and size of a file that was recorded; the file itself may be absent. */
  async find(tenant: string, hash: string): Promise<Artifact | undefined> {
    for (const { name, bytes } of await this.#usesOf(tenant, hash)) {
      const type = await this.#o.blobs.get(name);
      if (type) return { hash, contentType: Buffer.from(type).toString(), bytes };
    }
    return undefined;
  }

  /** Records a use today, which extends the retention of the file. */
  async record(tenant: string, { hash, contentType, bytes }: Artifact): Promise<void> {
    const { blobs } = this.#o;
    const uses = await this.#usesOf(tenant, hash);
    const today = this.#today();
    if (uses.some(({ day }) => day === today)) return;
    const name = `${USES}/${tenant}/${hash}/${String(today).padStart(6, '0')}-${bytes}`;
    try {
      await blobs.put(name, Buffer.from(contentType));
    } catch (error) {
      // Another process recorded the same use, with another type.
      if (!(error instanceof TroupeError) || error.code !== 'CONFLICT') throw error;
    }
    for (const { name: older, day } of uses) if (day < today) await blobs.delete(older);
  }

  /** A day counts as a whole: a file that was used on the day of `before` is not listed. */
  async list(tenant: string, before: number, after = ''): Promise<readonly string[]> {
    const { blobs } = this.#o;
    const found = new Map<string, boolean>();
    for (const name of await blobs.list(`${USES}/${tenant}/`)) {
      const [, , hash, day] = NAME.exec(name) ?? [];
      if (hash) found.set(hash, (found.get(hash) ?? true) && isBefore(Number(day), before));
    }
    for (const name of await blobs.list(`${DUE}/${tenant}/`)) {
      const [, , hash] = DUE_NAME.exec(name) ?? [];
      if (hash) found.set(hash, true);
    }
    return [...found].flatMap(([hash, isDue]) => (isDue && hash > after ? [hash] : [])).toSorted();
  }

  async bytesOf(tenant: string, hash: string): Promise<number> {
    return (await this.#usesOf(tenant, hash))[0]?.bytes ?? 0;
  }

  /** Removes a file with the records of its uses. */
  async forget(tenant: string, hash: string): Promise<void> {
    const { blobs, fileOf } = this.#o;
    await blobs.delete(fileOf(tenant, hash));
    await blobs.delete(`${DUE}/${tenant}/${hash}`);
    for (const { name } of await this.#usesOf(tenant, hash)) await blobs.delete(name);
    this.#room.recount();
  }

  async remove(tenant: string, hash: string, before: number): Promise<boolean> {
    const { blobs, fileOf } = this.#o;
    const [file, due] = [fileOf(tenant, hash), `${DUE}/${tenant}/${hash}`];
    if (await this.#isUsed(tenant, hash, before)) {
      await this.#restore(file, due);
      return false;
    }
    const contents = await blobs.get(file);
    if (contents) {
      await blobs.delete(due);
      await blobs.put(due, contents);
    }
    await blobs.delete(file);
    if (await this.#isUsed(tenant, hash, before)) {
      await this.#restore(file, due);
      return false;
    }
    for (const { name } of await this.#usesOf(tenant, hash)) await blobs.delete(name);
    await blobs.delete(due);
    this.#room.recount();
    return true;
  }

  async #restore(file: string, due: string): Promise<void> {
    const { blobs } = this.#o;
    const contents = await blobs.get(due);
    try {
      if (contents) await blobs.put(file, contents);
    } catch (error) {
      // It was stored again meanwhile, sealed with another nonce.
      if (!(error instanceof TroupeError) || error.code !== 'CONFLICT') throw error;
    }
    await blobs.delete(due);
  }

  async #isUsed(tenant: string, hash: string, before: number): Promise<boolean> {
    return (await this.#usesOf(tenant, hash)).some(({ day }) => !isBefore(day, before));
  }

  #today(): number {
    return Math.floor(this.#o.clock.wallMs() / DAY_MS);
  }

  /** The last one first. */
  async #usesOf(tenant: string, hash: string): Promise<Use[]> {
    const names = await this.#o.blobs.list(`${USES}/${tenant}/${hash}/`);
    return names
      .map((name) => {
        const [, , , day, bytes] = NAME.exec(name) ?? [];
        return { name, day: Number(day), bytes: Number(bytes) };
      })
      .sort((a, b) => b.day - a.day);
  }

  async #bytesOf(tenant: string): Promise<number> {
    const files = new Map<string, number>();
    for (const name of await this.#o.blobs.list(`${USES}/${tenant}/`)) {
      const [, , hash, , bytes] = NAME.exec(name) ?? [];
      if (hash) files.set(hash, Number(bytes));
    }
    return [...files.values()].reduce((sum, bytes) => sum + bytes, 0);
  }
}

/** Whether all of a day is before a time. */
const isBefore = (day: number, before: number): boolean => day < Math.floor(before / DAY_MS);
