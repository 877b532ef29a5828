/** The events that a scheduled job can receive, and the invariants that hold on every path. */
import type { Looked, ScheduleContext } from '../../../actors/schedule/job.ts';
import { scheduleMachine } from '../../../actors/schedule/machine.ts';
import {
  scheduleAddress,
  type ScheduleChange,
  type ScheduleFire,
  type ScheduleJob,
  type ScheduleRow,
  SCHEDULES_INDEX,
} from '../../../protocols/schedule.ts';
import type { Project, Publish, Reply, Tell } from '../../../protocols/statechart.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

/** The messages to sessions, and the projected row. */
class Seen {
  row: ScheduleRow | null = null;
  runIds: readonly string[] = [];

  copy(): Seen {
    return Object.assign(new Seen(), this);
  }

  take({ meta, step }: Happened): void {
    const { firing, runs } = step.live.snapshot.context as ScheduleContext;
    for (const { event } of requestsOf<Tell>(step.requests, 'tell')) {
      if (event.type === 'session.reset') continue;
      const { runId } = event as unknown as { runId: string };
      demand(this.runIds, 'each time fires once').not.toContain(runId);
      this.runIds = [...this.runIds, runId];
      const { dueAt, firedAt } = firing as ScheduleFire;
      demand(firedAt).toBe(meta.now);
      if (dueAt !== undefined) demand(dueAt, 'never early').toBeLessThanOrEqual(firedAt);
    }
    for (const { index, value } of requestsOf<Project>(step.requests, 'project')) {
      if (index !== SCHEDULES_INDEX) continue;
      this.row = value as ScheduleRow | null;
    }
    for (const { to, error } of requestsOf<Reply>(step.requests, 'reply')) {
      if (to && !error) continue;
      if (error) demand(error.message).toMatch(/job/);
    }
    if (step.live.snapshot.status === 'active' && this.row)
      demand(this.row.state === 'running', 'the row shows whether a run is active').toBe(
        firing !== null,
      );
    if (this.row?.state === 'waiting') demand(this.row.nextAt).toBeGreaterThan(0);
    demand(runs.every(({ status }) => status !== 'running')).toBe(true);
    for (const { event } of requestsOf<Publish>(step.requests, 'publish'))
      demand((event as ScheduleChange).row.jobId).toBe('mail');
  }
}

const every: ScheduleJob = {
  agentId: 'main',
  when: { kind: 'every', everyMs: 60_000 },
  text: 'look at the mail',
};
const put = (name: string, job: ScheduleJob): Move => ({
  name,
  event: { type: 'schedule.put', job },
});
const away = { code: 'UNAVAILABLE', message: 'away' } as const;
const ended: Looked = { status: 'ok', endedAt: 5_000 };

const looks = (count: number): string[] =>
  Array.from({ length: count }, () => ['timer:untilLook', 'still running']).flat();

export const exploration: Exploration = {
  machine: scheduleMachine,
  self: scheduleAddress('default', 'mail'),
  moves: (_, now) => [
    put('put every', every),
    put('put once', { ...every, when: { kind: 'at', at: now + 100 } }),
    put('put a time long ago', { ...every, when: { kind: 'at', at: 0 } }),
    put('put once, skip', { ...every, when: { kind: 'at', at: now + 100 }, missed: 'skip' }),
    put('put off', { ...every, enabled: false }),
    put('put skip', { ...every, missed: 'skip' }),
    put('put fresh', { ...every, fresh: true }),
    put('put once, then away', {
      ...every,
      when: { kind: 'at', at: now + 100 },
      deleteAfterRun: true,
    }),
    { name: 'put over', event: { type: 'schedule.put', job: every, ifUpdatedAt: 1 } },
    { name: 'get', event: { type: 'schedule.get' } },
    { name: 'on', event: { type: 'schedule.enable', enabled: true } },
    { name: 'off', event: { type: 'schedule.enable', enabled: false } },
    { name: 'run', event: { type: 'schedule.run' } },
    { name: 'runs', event: { type: 'schedule.runs' } },
    { name: 'remove', event: { type: 'schedule.remove' } },
    { name: 'accepted', event: { type: 'reply', to: 'x', result: { runId: 'r' } }, tell: true },
    { name: 'not accepted', event: { type: 'reply', to: 'x', error: away }, tell: true },
    {
      name: 'refused',
      event: { type: 'refused', to: 'x', message: 'session.receive', error: away },
      tell: true,
    },
    { name: 'ended', job: 'look', output: ended },
    { name: 'still running', job: 'look', output: null },
    { name: 'not readable', job: 'look', error: away },
  ],
  key: ({ snapshot, jobs }) => {
    const { job, firing, nextAt, runs, fires } = snapshot.context as ScheduleContext;
    return [
      snapshot.value,
      snapshot.status,
      Object.keys(jobs),
      job?.when.kind,
      job?.enabled,
      job?.missed,
      job?.fresh,
      job?.deleteAfterRun,
      nextAt === null,
      Math.min(firing?.looks ?? 0, 1),
      Math.min(runs.length, 1),
      runs[0]?.status === 'ok',
      Math.min(fires, 1),
    ];
  },
  ledger: () => new Seen(),
  setBackMs: 4 * 3_600_000,
  scripts: [
    // a run that takes longer than the time until the next due time
    ['put once, skip', 'run', ...looks(9), 'timer:untilLook', 'ended', 'timer:untilDue'],
    // a run without a report for a day: half a minute, then half a minute each
    ['put every', 'run', ...looks(2_886)],
  ],
};
