/** Receivers that are down for long, in virtual time, while the process is killed. */
import { defineActor } from 'troupe';
import { simulate } from 'troupe/test';
import { expect, it } from 'vitest';
import { assign, setup } from 'xstate';
import { shippedActors } from '../../../actors/index.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import {
  type PushConfig,
  type PushConfigure,
  type PushDelivery,
  pushAddress,
  pushKey,
} from '../../../protocols/push.ts';
import { type Delivered, hostActions } from '../../../protocols/statechart.ts';
import type { TaskView } from '../../../protocols/task.ts';
import type { TaskWatch } from '../../../protocols/task-watch.ts';

const HOUR_MS = 3_600_000;
const TASK = '0190c7a4-7f3e-7000-8000-000000000001';
const key = pushKey(TASK, 'first');
const STATES = ['WORKING', 'INPUT_REQUIRED', 'SUCCEEDED'] as const;

/** A task that sends its first watcher three changes. */
const task = defineActor({
  type: 'task',
  version: 1,
  machine: setup({
    types: {
      context: {} as { watched: number },
      events: {} as Delivered<TaskWatch>,
    },
    actions: { ...hostActions, count: assign(({ context }) => ({ watched: context.watched + 1 })) },
  }).createMachine({
    context: { watched: 0 },
    initial: 'alone',
    states: {
      alone: {
        on: {
          'task.watch': {
            target: 'watched',
            actions: [
              'count',
              ...STATES.map((state) => ({
                type: 'tell' as const,
                params: ({ event }: { event: TaskWatch }) => {
                  const view = { task_id: TASK, state } as Partial<TaskView> as TaskView;
                  return {
                    to: event.watcher,
                    event: { type: 'task.changed', task: view },
                  };
                },
              })),
            ],
          },
        },
      },
      watched: {},
    },
  }),
});
const push = shippedActors().find(({ name }) => name.startsWith('push'))!;

const config: PushConfig = {
  task_id: TASK,
  config_id: 'first',
  url: 'https://receiver.example/hook',
  principal: 'test',
};
const configure: PushConfigure = { type: 'push.configure', config };
const load = [{ to: pushAddress('default', key), event: configure, key: 'configure' }];

type Receiver = {
  readonly push: (delivery: PushDelivery) => Promise<void>;
  readonly attempts: number[];
  readonly accepted: { readonly id: string; readonly state: string; readonly at: number }[];
};

/** A receiver that refuses everything until a time, which may be after it was given up. */
function simulateReceiver(
  upAtMs: number,
  { runs, attemptsMax }: { readonly runs: number; readonly attemptsMax: number },
) {
  const isGivenUp = upAtMs > 24 * HOUR_MS;
  return simulate<Receiver>({
    actors: [push, task],
    load,
    services: (world) => {
      const receiver: Receiver = {
        attempts: [],
        accepted: [],
        async push({ id, view }) {
          receiver.attempts.push(world.nowMs);
          await world.sleep(50);
          if (world.nowMs < upAtMs) throw new TroupeError('UNAVAILABLE', 'it answers 500');
          receiver.accepted.push({ id, state: view.state, at: world.nowMs });
        },
      };
      return receiver;
    },
    faults: { delay: 0, clock: 0 },
    seed: 1,
    runs,
    restMs: upAtMs + 2 * HOUR_MS,
    atRest: {
      'each change arrives, in order': ({ services: { accepted } }) => {
        const ids = [...new Set(accepted.map(({ id }) => id))];
        const states = ids.map((id) => accepted.find((one) => one.id === id)!.state).join();
        return states === (isGivenUp ? '' : STATES.join()) || `accepted: ${states}`;
      },
      'it is asked at sensible intervals': ({ services: { attempts } }) =>
        attempts.length < attemptsMax || `${attempts.length} attempts`,
      'a receiver has a day': ({ services: { attempts } }) =>
        !isGivenUp || attempts.at(-1)! - attempts[0]! >= 24 * HOUR_MS,
      'the configuration ends as it should': ({ actor }) => {
        const { value } = actor(pushAddress('default', key)) ?? {};
        return value === (isGivenUp ? 'disabled' : 'finished') || JSON.stringify(value);
      },
    },
    print: () => {},
  });
}

it('a receiver that was down for an hour gets every change, in order', async () => {
  const report = await simulateReceiver(HOUR_MS, { runs: 60, attemptsMax: 60 });
  expect(report.failure?.text).toBeUndefined();
  expect(report.faults.kill).toBeGreaterThan(5);
  expect(report.effects).toBeGreaterThan(60 * 8);
});

it('a receiver that is down for more than a day is given up after a day', async () => {
  const report = await simulateReceiver(48 * HOUR_MS, { runs: 10, attemptsMax: 400 });
  expect(report.failure?.text).toBeUndefined();
});
