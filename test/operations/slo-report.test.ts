import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TaskRow, TaskView } from '../../protocols/task.ts';
import type { DeadLetter, Index, IndexRow } from '../../runtime/index.ts';
import { type SloOptions, type SloReport, sloReport } from '../../operations/slo-report.ts';

const now = Date.UTC(2026, 10, 21, 12);
const HOUR = 3_600_000;

/** Ids like those of tasks: digests, whose order has no meaning. */
const idOf = (n: number): string => createHash('sha256').update(String(n)).digest('hex');

type Task = { readonly acceptedAgo: number; readonly tookSec?: number; readonly etaSec?: number };
const rowOf = ({ acceptedAgo, tookSec, etaSec = 300 }: Task, n: number): IndexRow<TaskRow> => {
  const accepted = now - acceptedAgo;
  const view: Partial<TaskView> = {
    task_id: idOf(n),
    accepted_at: new Date(accepted).toISOString(),
    eta_sec: etaSec,
    ...(tookSec === undefined
      ? { state: 'RUNNING' }
      : { state: 'SUCCEEDED', finished_at: new Date(accepted + tookSec * 1_000).toISOString() }),
  };
  return { key: idOf(n), value: { view: view as TaskView, payloadHash: '' } };
};

/** Rows in key order, as in every index. */
const indexOf = (tasks: readonly Task[]): Index => {
  const rows = tasks.map(rowOf).toSorted((a, b) => (a.key < b.key ? -1 : 1));
  return {
    get: () => undefined,
    list: <V>(_: string, tenant: string, { after = '', limit = 1_000 } = {}) => {
      if (tenant !== 'acme') return [];
      const page: readonly IndexRow[] = rows.filter(({ key }) => key > after).slice(0, limit);
      return page as readonly IndexRow<V>[];
    },
    scan: () => Promise.reject(new Error('objectives are read from pages')),
  };
};

type Letter = { readonly agoMs: number; readonly to?: string; readonly resolved?: boolean };
const lettersOf = (letters: readonly Letter[]): SloOptions['deadLetters'] => {
  const all = letters.map(
    ({ agoMs, to = 'acme/task/1' }, at): DeadLetter => ({
      domain: 'orders',
      position: at + 1,
      at: now - agoMs,
      id: String(at),
      to,
      reason: 'EXHAUSTED',
      error: { code: 'INTERNAL', message: '' },
    }),
  );
  return {
    domains: async () => ['actors', 'orders'],
    list: async ({ domain, from = 1, limit = 1_000, includeResolved } = {}) =>
      domain === 'orders'
        ? all
            .filter(({ position }) => position >= from)
            .filter(({ position }) => includeResolved || !letters[position - 1]!.resolved)
            .slice(0, limit)
        : [],
  };
};

const report = (
  tasks: readonly Task[],
  letters: readonly Letter[] = [],
  more: Partial<SloOptions> = {},
): Promise<SloReport> =>
  sloReport({
    index: indexOf(tasks),
    deadLetters: lettersOf(letters),
    metrics: { ack: () => undefined },
    tenant: 'acme',
    hours: 24,
    now,
    ...more,
  });
const objective = ({ objectives }: SloReport, name: string) =>
  objectives.find((one) => one.name === name)!;
const tasks = (count: number, task: Task): Task[] => Array.from({ length: count }, () => task);
const done: Task = { acceptedAgo: HOUR, tookSec: 1 };

describe('the report of objectives', () => {
  it('meets all without measurements', async () => {
    const whole = await report([]);
    expect(whole.objectives.map(({ measured, kept }) => [measured, kept])).toEqual([
      [null, null],
      [null, null],
      [null, null],
    ]);
    expect(whole.kept).toBe(true);
  });

  it('compares the end of 95 in 100 tasks with their ETA and 60 s', async () => {
    const late = { acceptedAgo: HOUR, tookSec: 361 };
    const kept = await report([...tasks(95, done), ...tasks(5, late)]);
    expect(objective(kept, 'done_p95')).toMatchObject({ measured: -299, samples: 100, kept: true });
    const broken = await report([...tasks(94, done), ...tasks(6, late)]);
    expect(objective(broken, 'done_p95')).toMatchObject({ measured: 61, kept: false });
    expect(broken.kept).toBe(false);
  });

  it('counts an overdue task as late, and a running task in time as not late', async () => {
    const stuck = await report(tasks(10, { acceptedAgo: HOUR }));
    expect(objective(stuck, 'done_p95')).toMatchObject({ measured: 3_300, kept: false });
    const running = await report(tasks(10, { acceptedAgo: 10_000 }));
    expect(objective(running, 'done_p95')).toMatchObject({ measured: null, kept: null });
    expect(running.tasks).toBe(10);
  });

  it('ignores tasks that were accepted before the period', async () => {
    const old = { acceptedAgo: 2 * HOUR, tookSec: 4_000 };
    const whole = await report([...tasks(3, done), ...tasks(50, old)], [], { hours: 1 });
    expect(whole).toMatchObject({ tasks: 3, estimated: false, kept: true });
  });

  it('allows one dead letter in a thousand tasks, redriven and dropped ones included', async () => {
    const letter = { agoMs: HOUR };
    const many = tasks(1_000, done);
    expect(objective(await report(many, [letter]), 'dead_letters')).toMatchObject({
      measured: 0.001,
      kept: true,
    });
    const two = await report(many, [letter, { ...letter, resolved: true }]);
    expect(objective(two, 'dead_letters')).toMatchObject({ measured: 0.002, kept: false });
    const others = [letter, { agoMs: 30 * HOUR }, { ...letter, to: 'other/task/1' }];
    expect(objective(await report(many, others), 'dead_letters').measured).toBe(0.001);
  });

  it('compares the time to accept with a second, and names the gateway', async () => {
    const ack = (p95Ms: number) => ({ ack: () => ({ p95Ms, count: 10, since: now - HOUR }) });
    const slow = await report([], [], { metrics: ack(1_001) });
    expect(objective(slow, 'ack_p95')).toMatchObject({ measured: 1_001, kept: false });
    expect(objective(slow, 'ack_p95').what).toContain('since 2026-11-21T11:00:00.000Z');
    expect((await report([], [], { metrics: ack(999) })).kept).toBe(true);
  });

  it('uses a fair sample of too many tasks, and marks the result as an estimate', async () => {
    const whole = await report(tasks(20_000, done), [], { rowsMax: 4_000 });
    expect(whole.estimated).toBe(true);
    expect(objective(whole, 'done_p95').samples).toBe(4_000);
    expect(whole.tasks).toBeGreaterThan(18_000);
    expect(whole.tasks).toBeLessThan(22_000);
  });

  it('yields to the event loop between slices', async () => {
    let ticks = 0;
    const count = () => {
      ticks++;
      timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    await report(tasks(5_000, done));
    clearImmediate(timer);
    expect(ticks).toBeGreaterThanOrEqual(9);
  });

  it('computes the 95th percentile of any number of tasks', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 1, maxLength: 60 }),
        async (took) => {
          const whole = await report(took.map((tookSec) => ({ acceptedAgo: HOUR, tookSec })));
          const { measured } = objective(whole, 'done_p95');
          const within = took.filter((sec) => sec - 300 <= measured!).length;
          expect(within / took.length).toBeGreaterThanOrEqual(0.95);
          const below = took.filter((sec) => sec - 300 < measured!).length;
          expect(below / took.length).toBeLessThan(0.95);
        },
      ),
      { numRuns: 50 },
    );
  });
});
