/**
 * FolderRoom: bounds the bytes of a tenant in a folder of artifacts, and removes files that were
 * not stored or signed for a while. The modification time of a file is the time of its last use.
 *
 * Invariants: a file that is stored or signed during a sweep stays. The sweep moves a file away
 * first, and moves it back if it was used in the meantime. If the process ends in between, the next
 * sweep finishes.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../clock/clock.ts';
import { TenantRoom } from './tenant-room.ts';

export type FolderRoomOptions = {
  readonly path: string;
  /** folder inside it, of the same file system, where taken files wait */
  readonly aside: string;
  /** bytes of one tenant */
  readonly bytesMax: number;
  /** files are removed when they were not used for this time; 0: never */
  readonly keepMs: number;
  readonly clock: Clock;
};

const SWEEP_MS = 6 * 3_600_000;
const HASH = /^[0-9a-f]{64}$/;
const TAKEN = /^taken\.([a-z0-9_-]+)\.([0-9a-f]{64})\.[0-9a-f]+$/;

/** Whether a moved file was moved by a sweep, and is not one that is being written. */
export const isTaken = (name: string): boolean => TAKEN.test(name);

export class FolderRoom {
  readonly #o: FolderRoomOptions;
  readonly #room: TenantRoom;
  #sweptAtMs = -SWEEP_MS;

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
    this.#sweepNowAndThen();
    return this.#room.storing(tenant, bytes, write);
  }

  /** Removes files that were not used for `keepMs`; returns their number. */
  async sweep(): Promise<number> {
    const { path, aside, keepMs, clock } = this.#o;
    if (keepMs === 0) return 0;
    const dueMs = clock.wallMs() - keepMs;
    let removed = 0;
    for (const name of await readdir(aside))
      if (TAKEN.test(name)) removed += await this.#settle(name, dueMs);
    for await (const { tenant, hash, mtimeMs } of filesOf(path, aside)) {
      if (mtimeMs >= dueMs) continue;
      const name = `taken.${tenant}.${hash}.${randomBytes(8).toString('hex')}`;
      const wasThere = await rename(fileOf(path, tenant, hash), join(aside, name)).then(
        () => true,
        () => false,
      );
      if (wasThere) removed += await this.#settle(name, dueMs);
    }
    if (removed > 0) this.#room.recount();
    return removed;
  }

  /** Of a file that was moved away: deletes it, or moves it back. */
  async #settle(name: string, dueMs: number): Promise<number> {
    const { path, aside } = this.#o;
    const taken = join(aside, name);
    const found = await stat(taken).catch(() => undefined);
    if (!found) return 0;
    if (found.mtimeMs < dueMs) {
      await rm(taken, { force: true });
      return 1;
    }
    const [, tenant, hash] = TAKEN.exec(name)!;
    const file = fileOf(path, tenant!, hash!);
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    // A file that was stored there meanwhile is identical, because its name is the hash of its
    // contents.
    await rename(taken, file);
    return 0;
  }

  #sweepNowAndThen(): void {
    const nowMs = this.#o.clock.monotonicMs();
    if (nowMs - this.#sweptAtMs < SWEEP_MS) return;
    this.#sweptAtMs = nowMs;
    // The next sweep repeats failed removals.
    void this.sweep().catch(() => {});
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
