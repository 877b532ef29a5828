/**
 * FolderRoom: bounds the bytes of a tenant in a folder of artifacts, and removes files that were
 * not stored or signed for a while. The modification time of a file is the time of its last use.
 *
 * Invariants: a file that is stored or signed during its removal stays. It is moved away first, and
 * moved back if it was used in the meantime. If the process ends in between, it is listed again.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../clock/clock.ts';
import type { UnusedArtifacts } from './artifacts.ts';
import { TenantRoom } from './tenant-room.ts';

export type FolderRoomOptions = {
  readonly path: string;
  /** folder inside it, of the same file system, where taken files wait */
  readonly aside: string;
  /** bytes of one tenant */
  readonly bytesMax: () => number;
  readonly clock: Clock;
};

const HASH = /^[0-9a-f]{64}$/;
const TAKEN = /^taken\.([a-z0-9_-]+)\.([0-9a-f]{64})\.[0-9a-f]+$/;

/** Whether a moved file was moved by a sweep, and is not one that is being written. */
export const isTaken = (name: string): boolean => TAKEN.test(name);

export class FolderRoom implements UnusedArtifacts {
  readonly #o: FolderRoomOptions;
  readonly #room: TenantRoom;

  constructor(options: FolderRoomOptions) {
    this.#o = options;
    const { path, aside, bytesMax, clock } = options;
    const bytes = (tenant: string) => bytesOf(path, aside, tenant);
    this.#room = new TenantRoom({ bytesMax, clock, bytesOf: bytes });
  }

  /**
   * Runs `write`, which stores a file of this number of bytes, if there is space.
   * @throws TroupeError RATE_LIMIT_EXCEEDED; what `write` throws
   */
  async storing<T>(tenant: string, bytes: number, write: () => Promise<T>): Promise<T> {
    return this.#room.storing(tenant, bytes, write);
  }

  async list(tenant: string, before: number, after = ''): Promise<readonly string[]> {
    const { path, aside } = this.#o;
    const found = new Set((await this.#taken(tenant)).map(({ hash }) => hash));
    for await (const { hash, mtimeMs } of filesOf(path, aside, tenant))
      if (mtimeMs < before) found.add(hash);
    return [...found].filter((hash) => hash > after).toSorted();
  }

  async bytesOf(tenant: string, hash: string): Promise<number> {
    const found = await stat(fileOf(this.#o.path, tenant, hash)).catch(() => undefined);
    return found?.size ?? 0;
  }

  async remove(tenant: string, hash: string, before: number): Promise<boolean> {
    const { path, aside } = this.#o;
    const file = fileOf(path, tenant, hash);
    const found = await stat(file).catch(() => undefined);
    if (found && found.mtimeMs < before) {
      const name = `taken.${tenant}.${hash}.${randomBytes(8).toString('hex')}`;
      // Another process may have moved it.
      await rename(file, join(aside, name)).catch(() => {});
    }
    let isUsed = found !== undefined && found.mtimeMs >= before;
    for (const taken of await this.#taken(tenant))
      if (taken.hash === hash && !(await this.#settle(taken.name, before))) isUsed = true;
    if (!isUsed) this.#room.recount();
    return !isUsed;
  }

  /** Files of a tenant that were moved away. */
  async #taken(tenant: string): Promise<{ readonly name: string; readonly hash: string }[]> {
    const names = await readdir(this.#o.aside).catch(() => []);
    return names.flatMap((name) => {
      const [, owner, hash] = TAKEN.exec(name) ?? [];
      return owner === tenant && hash !== undefined ? [{ name, hash }] : [];
    });
  }

  /** Of a file that was moved away: deletes it, or moves it back; false when it was used. */
  async #settle(name: string, dueMs: number): Promise<boolean> {
    const { path, aside } = this.#o;
    const taken = join(aside, name);
    const found = await stat(taken).catch(() => undefined);
    if (!found) return true;
    if (found.mtimeMs < dueMs) {
      await rm(taken, { force: true });
      return true;
    }
    const [, tenant, hash] = TAKEN.exec(name)!;
    const file = fileOf(path, tenant!, hash!);
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    // A file that was stored there meanwhile is identical, because its name is the hash of its
    // contents.
    await rename(taken, file).catch((error: NodeJS.ErrnoException) => {
      // Another process has moved it back.
      if (error.code !== 'ENOENT') throw error;
    });
    return false;
  }
}

/** The path of a file in the folder. */
export const fileOf = (path: string, tenant: string, hash: string): string =>
  join(path, tenant, hash.slice(0, 2), hash);

type Found = { readonly tenant: string; readonly hash: string } & {
  readonly size: number;
  readonly mtimeMs: number;
};

async function bytesOf(path: string, aside: string, tenant: string): Promise<number> {
  let bytes = 0;
  for await (const { size } of filesOf(path, aside, tenant)) bytes += size;
  return bytes;
}

/** Files of all tenants, or of one; those that vanish in the meantime are left out. */
export async function* filesOf(path: string, aside: string, only?: string): AsyncGenerator<Found> {
  for (const tenant of only === undefined ? await foldersIn(path) : [only]) {
    if (join(path, tenant) === aside) continue;
    for (const first of await foldersIn(join(path, tenant)))
      for (const hash of await readdir(join(path, tenant, first)).catch(() => [])) {
        if (!HASH.test(hash)) continue;
        const found = await stat(fileOf(path, tenant, hash)).catch(() => undefined);
        if (found) yield { tenant, hash, size: found.size, mtimeMs: found.mtimeMs };
      }
  }
}

async function foldersIn(path: string): Promise<string[]> {
  const found = await readdir(path, { withFileTypes: true }).catch(() => []);
  return found.filter((one) => one.isDirectory()).map(({ name }) => name);
}
