/**
 * Workers with two versions of a statechart. An actor that the newer one has migrated stays on
 * newer workers; where only older ones are left, its messages are refused and stored, and none is
 * lost.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { assign, setup } from 'xstate';
import { address, shardOf } from '../../../protocols/address.ts';
import {
  type ActorInput,
  type Delivered,
  hostActions,
  type Message,
} from '../../../protocols/statechart.ts';
import { defineActor, type System } from '../../../runtime/index.ts';
import { eventually } from '../eventually.ts';
import { ask, ClusterWorld } from './world.ts';

type Count = { readonly n?: number; readonly total?: number };
const NO_COUNT: Count = {};
const machineOf = (field: 'n' | 'total') =>
  setup({
    types: { context: NO_COUNT, events: {} as Delivered<Message>, input: {} as ActorInput },
    actions: {
      ...hostActions,
      count: assign({ [field]: ({ context }: { context: Count }) => (context[field] ?? 0) + 1 }),
    },
  }).createMachine({
    id: 'counter',
    context: { [field]: 0 },
    on: {
      add: {
        actions: [
          'count',
          {
            type: 'reply',
            params: ({ context, event }) => ({ to: event.meta.reply, result: context }),
          },
        ],
      },
    },
  });

const older = { actors: [defineActor({ type: 'counter', version: 1, machine: machineOf('n') })] };
const newer = {
  actors: [
    defineActor({
      type: 'counter',
      version: 2,
      machine: machineOf('total'),
      migrate: {
        1: (row) => ({ ...row, snap: { ...row.snap, c: { total: (row.snap.c as Count).n } } }),
      },
    }),
  ],
};

let world: ClusterWorld;
beforeEach(() => {
  world = new ClusterWorld();
});
afterEach(() => world.close());

const counter = address('t', 'counter', 'c');
const ownerOf = (system: System) => {
  const found = system.status().find(({ shard }) => shard === shardOf(counter, 8));
  return found?.state === 'owned' ? found.node?.split('-')[0] : undefined;
};
const add = (system: System) => ask(system, counter, { type: 'add' });

it('a migrated actor is taken by a newer worker, and is refused without loss by an older one', async () => {
  const gateway = await world.gateway('g', newer);
  await world.worker('old', older);
  expect(await add(gateway)).toMatchObject({ result: { n: 1 } });

  await world.worker('newa', newer);
  await world.stop('old');
  expect(await add(gateway)).toMatchObject({ result: { total: 2 } });

  // Both take part, and the newer one is preferred for what has no owner.
  await world.worker('old', older);
  await world.worker('newb', newer);
  await world.stop('newa');
  await eventually(() => expect(ownerOf(gateway)).toBe('newb'));
  expect(await add(gateway)).toMatchObject({ result: { total: 3 } });

  // A rollback: only the older one is left.
  await world.stop('newb');
  await eventually(() => expect(ownerOf(gateway)).toBe('old'));
  expect(await add(gateway)).toMatchObject({
    kind: 'refused',
    error: { code: 'UNAVAILABLE', message: expect.stringContaining('counter@2') as string },
  });
  const [letter, ...more] = await eventually(async () => {
    const letters = await gateway.deadLetters.list();
    expect(letters).toMatchObject([{ reason: 'UNFIT', to: counter }]);
    return letters;
  });
  expect(more).toEqual([]);

  // The newer version again: the message is applied, once.
  await world.worker('newc', newer);
  await world.stop('old');
  await eventually(() => expect(ownerOf(gateway)).toBe('newc'));
  await gateway.deadLetters.redrive(letter!.position, { who: 'ann', why: 'the newer version' });
  expect(await add(gateway)).toMatchObject({ result: { total: 5 } });
});
