/**
 * Scheduled jobs on a running system: real store, real restarts, a clock that the test advances.
 */
import { describe, expect, it } from 'vitest';
import { assign, setup } from 'xstate';
import { look } from '../../../actors/schedule/effects/look.ts';
import { scheduleMachine } from '../../../actors/schedule/machine.ts';
import { address } from '../../../protocols/address.ts';
import {
  type MissedPolicy,
  scheduleAddress,
  type ScheduleFire,
  type ScheduleJob,
  type ScheduleRow,
  SCHEDULES_INDEX,
} from '../../../protocols/schedule.ts';
import type { SessionReceive } from '../../../protocols/session.ts';
import { type ActorInput, type Delivered, hostActions } from '../../../protocols/statechart.ts';
import { defineActor } from '../../../runtime/index.ts';
import { eventually } from '../../runtime/eventually.ts';
import { ShiftedClock } from '../../runtime/system/shifted-clock.ts';
import { openWorld, type World } from '../../runtime/system/world.ts';

/** Ends each run at once and records every message that it received. */
const session = setup({
  types: {
    context: {} as { runIds: readonly string[] },
    events: {} as Delivered<SessionReceive>,
    input: {} as ActorInput,
  },
  actions: {
    ...hostActions,
    take: assign(({ context, event }) => ({ runIds: [...context.runIds, event.runId] })),
  },
}).createMachine({
  id: 'session',
  context: { runIds: [] },
  initial: 'idle',
  states: {
    idle: {
      on: {
        'session.receive': {
          actions: [
            'take',
            {
              type: 'project',
              params: ({ event: { runId, meta } }) => ({
                index: 'runs',
                key: runId,
                value: { runId, status: 'ok', acceptedAt: meta.now, endedAt: meta.now },
              }),
            },
            {
              type: 'reply',
              params: ({ event }) => ({ to: event.meta.reply, result: { runId: event.runId } }),
            },
          ],
        },
      },
    },
  },
});

const actors = [
  defineActor({
    type: 'schedule',
    version: 1,
    machine: scheduleMachine,
    effects: { look },
    whenDone: 'forget',
  }),
  defineActor({ type: 'session', version: 1, machine: session }),
];
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const job = scheduleAddress('default', 'mail');
const its = address('default', 'session', 'agent:main:cron:mail');

const received = (world: World): readonly string[] =>
  (world.system.inspect(its)?.context as { runIds: readonly string[] } | undefined)?.runIds ?? [];
const row = (world: World) =>
  world.system.index.get<ScheduleRow>(SCHEDULES_INDEX, 'default', 'mail');
const runs = async (world: World): Promise<readonly ScheduleFire[]> => {
  const answer = await world.ask(job, { type: 'schedule.runs' });
  return answer.kind === 'answered' ? (answer.result as { runs: ScheduleFire[] }).runs : [];
};

async function scheduled(when: ScheduleJob['when'], missed: MissedPolicy = 'once') {
  const clock = new ShiftedClock();
  const world = await openWorld({ clock, actors });
  const set: ScheduleJob = { agentId: 'main', text: 'look at the mail', when, missed };
  expect(await world.ask(job, { type: 'schedule.put', job: set })).toMatchObject({
    kind: 'answered',
    result: { jobId: 'mail', state: 'waiting', sessionKey: 'agent:main:cron:mail' },
  });
  return { clock, world };
}

/**
 * Advances the clock after every active run has ended. The row is visible when it is stored. The
 * reply shows that the shard has processed it too, so the clock may advance again.
 */
const idleAgain = async (world: World, fires: number) => {
  await eventually(() => expect(row(world)).toMatchObject({ fires, last: { status: 'ok' } }));
  await world.ask(job, { type: 'schedule.runs' });
};

describe('a job on a running system', () => {
  it('fires at its times, one run for each, and records their ends', async () => {
    const { clock, world } = await scheduled({ kind: 'every', everyMs: HOUR });
    for (let fire = 1; fire <= 3; fire++) {
      clock.shift(HOUR);
      await idleAgain(world, fire);
    }
    const ids = received(world);
    expect(new Set(ids).size).toBe(3);
    expect((await runs(world)).map(({ runId }) => runId)).toEqual(ids.toReversed());
    expect(row(world)!.nextAt).toBeGreaterThan(clock.wallMs());
  });

  it('that was due while the system was stopped fires exactly once after the start', async () => {
    const { clock, world } = await scheduled({ kind: 'every', everyMs: HOUR });
    await world.stop();
    clock.shift(5 * HOUR + MINUTE);
    await world.start();
    await idleAgain(world, 1);
    await world.restart();
    expect(received(world)).toEqual([`mail.${(await runs(world))[0]!.dueAt}`]);
    expect(row(world)).toMatchObject({ state: 'waiting', fires: 1, skipped: 4 });
  });

  it('fires for each missed time with `fire-late`, also across a restart between', async () => {
    const { clock, world } = await scheduled({ kind: 'every', everyMs: HOUR }, 'fire-late');
    await world.stop();
    clock.shift(3 * HOUR + MINUTE);
    await world.start();
    await eventually(() => expect(received(world).length).toBeGreaterThan(0));
    await world.restart();
    await idleAgain(world, 3);
    const ids = received(world);
    expect([ids.length, new Set(ids).size]).toEqual([3, 3]);
  });

  it('does not fire for missed times with `skip`', async () => {
    const { clock, world } = await scheduled({ kind: 'every', everyMs: HOUR }, 'skip');
    await world.stop();
    clock.shift(2 * HOUR + 30 * MINUTE);
    await world.start();
    await eventually(() => expect(row(world)).toMatchObject({ skipped: 2, state: 'waiting' }));
    expect(received(world)).toEqual([]);
  });

  it('can be fired at any time, returns the same answer for one key, and can be removed', async () => {
    const { world } = await scheduled({ kind: 'every', everyMs: HOUR });
    const first = await world.ask(job, { type: 'schedule.run' }, { key: 'now' });
    const again = await world.ask(job, { type: 'schedule.run' }, { key: 'now' });
    expect(again).toEqual(first);
    await idleAgain(world, 1);
    expect(received(world)).toHaveLength(1);
    await world.ask(job, { type: 'schedule.remove' });
    expect(row(world)).toBeUndefined();
    expect(await world.ask(job, { type: 'schedule.run' })).toMatchObject({
      kind: 'refused',
      error: { code: 'NOT_FOUND' },
    });
  });

  it('reports a message that the session refuses, and continues', async () => {
    const { clock, world } = await scheduled({ kind: 'every', everyMs: HOUR });
    await world.restart({ actors: actors.slice(0, 1) });
    clock.shift(HOUR);
    await eventually(() => expect(row(world)).toMatchObject({ last: { status: 'error' } }));
    expect(row(world)).toMatchObject({ state: 'waiting' });
  });
});
