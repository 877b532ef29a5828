/**
 * Estimates the number of stored tasks of a tenant, for the cap that refuses new tasks instead of
 * deleting old ones.
 *
 * Rows are counted in slices between other work. Tasks that this process added since the start of a
 * count are added to it. Between counts the number still includes tasks that have expired, and
 * misses tasks that other gateways added. A tenant is counted every ten minutes, and every minute
 * above half of the cap.
 */
import { defined } from '../../protocols/defined.ts';
import { TASKS_INDEX } from '../../protocols/task.ts';
import type { Clock, Index } from '../../runtime/index.ts';

export type TaskCountOptions = {
  readonly index: Pick<Index, 'list'>;
  readonly clock: Clock;
  /** read at each use, because it may change */
  readonly tasksMax: () => number;
};

type Count = {
  /** rows of the last complete count */
  counted: number;
  /** tasks added since the start of the last complete count */
  added: number;
};

const SLICE_ROWS = 1_000;
const SLICE_PAUSE_MS = 50;
const AGAIN_MS = { far: 600_000, near: 60_000 };

export class TaskCount {
  readonly #o: TaskCountOptions;
  readonly #counts = new Map<string, Count>();
  #closed = false;

  constructor(options: TaskCountOptions) {
    this.#o = options;
  }

  /** Whether the tenant has reached the cap. The first call for a tenant starts counting. */
  isFull(tenant: string): boolean {
    const { counted, added } = this.#of(tenant);
    return counted + added >= this.#o.tasksMax();
  }

  /** Adds an accepted task. */
  add(tenant: string): void {
    this.#of(tenant).added += 1;
  }

  close(): void {
    this.#closed = true;
  }

  #of(tenant: string): Count {
    const known = this.#counts.get(tenant);
    if (known) return known;
    const count = { counted: 0, added: 0 };
    this.#counts.set(tenant, count);
    this.#o.clock.after(0, () => this.#slice(tenant, count, { rows: 0, addedBefore: 0 }));
    return count;
  }

  #slice(
    tenant: string,
    count: Count,
    scan: { rows: number; addedBefore: number; after?: string },
  ): void {
    if (this.#closed) return;
    const { index, clock, tasksMax } = this.#o;
    const { rows, addedBefore, after } = scan;
    const page = index.list(TASKS_INDEX, tenant, {
      limit: SLICE_ROWS,
      ...defined({ after }),
    });
    const last = page.at(-1);
    if (last !== undefined && page.length === SLICE_ROWS) {
      const next = { rows: rows + page.length, addedBefore, after: last.key };
      clock.after(SLICE_PAUSE_MS, () => this.#slice(tenant, count, next));
      return;
    }
    count.counted = rows + page.length;
    count.added -= addedBefore;
    if (count.counted + count.added === 0) {
      // A tenant without tasks is dropped here, and counted again at its next request.
      this.#counts.delete(tenant);
      return;
    }
    const near = count.counted + count.added > tasksMax() / 2;
    clock.after(near ? AGAIN_MS.near : AGAIN_MS.far, () =>
      this.#slice(tenant, count, { rows: 0, addedBefore: count.added }),
    );
  }
}
