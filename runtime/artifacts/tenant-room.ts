/**
 * TenantRoom: limits the bytes of a tenant's files in a bucket of any kind.
 *
 * Any number of processes use one bucket. Each process counts a tenant's files when necessary, and
 * again periodically. Therefore a tenant may exceed its limit by the files that other processes
 * have written since the last count.
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { Clock } from '../clock/clock.ts';

export type TenantRoomOptions = {
  /** bytes of one tenant; read again for each file */
  readonly bytesMax: () => number;
  readonly clock: Clock;
  /** bytes of a tenant's files that are stored now */
  readonly bytesOf: (tenant: string) => Promise<number>;
};

type Count = {
  /** of the files that existed when the count started */
  readonly counted: Promise<number>;
  readonly atMs: number;
  /** stored since then, or being stored */
  more: number;
};

const COUNT_MS = 600_000;
const FULL_RETRY_MS = 3_600_000;

export class TenantRoom {
  readonly #o: TenantRoomOptions;
  readonly #counts = new Map<string, Count>();
  /** bytes by tenant that are being written, which a new count must include */
  readonly #writing = new Map<string, number>();

  constructor(options: TenantRoomOptions) {
    this.#o = options;
  }

  /**
   * Runs `write`, which stores a file of this number of bytes, if there is space.
   * @throws TroupeError RATE_LIMIT_EXCEEDED; what `write` throws
   */
  async storing<T>(tenant: string, bytes: number, write: () => Promise<T>): Promise<T> {
    const count = this.#count(tenant);
    count.more += bytes;
    this.#writing.set(tenant, (this.#writing.get(tenant) ?? 0) + bytes);
    try {
      const stored = (await count.counted) + count.more;
      const bytesMax = this.#o.bytesMax();
      if (stored > bytesMax) throw full(bytesMax);
      return await write();
    } catch (error) {
      count.more -= bytes;
      throw error;
    } finally {
      const left = this.#writing.get(tenant)! - bytes;
      if (left === 0) this.#writing.delete(tenant);
      else this.#writing.set(tenant, left);
    }
  }

  /** Counts again from now on, because files were removed. */
  recount(): void {
    this.#counts.clear();
  }

  #count(tenant: string): Count {
    const { bytesOf, clock } = this.#o;
    const known = this.#counts.get(tenant);
    const nowMs = clock.monotonicMs();
    if (known && nowMs - known.atMs < COUNT_MS) return known;
    const counted = bytesOf(tenant);
    const fresh: Count = { counted, atMs: nowMs, more: this.#writing.get(tenant) ?? 0 };
    counted.catch(() => this.#counts.delete(tenant));
    this.#counts.set(tenant, fresh);
    return fresh;
  }
}

const full = (bytesMax: number): TroupeError =>
  new TroupeError(
    'RATE_LIMIT_EXCEEDED',
    `the tenant’s files have reached their limit of ${bytesMax} bytes (a2a.artifacts.bytesMax): files are removed a2a.artifacts.keepDays after their last use`,
    { retryAfterMs: FULL_RETRY_MS, details: { limit: 'artifacts', bytesMax } },
  );
