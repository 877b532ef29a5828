/** Versions: a stored actor is loaded by another machine than the one that stored it. */
import { assign, setup } from 'xstate';
import { describe, expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import {
  type ActorInput,
  type Delivered,
  hostActions,
  type Message,
} from '../../../protocols/statechart.ts';
import { type ActorDefinition, type ActorOptions, defineActor } from '../../../runtime/index.ts';
import { eventually } from '../eventually.ts';
import { ShiftedClock } from './shifted-clock.ts';
import { operator, openWorld, type World } from './world.ts';

const a = address('t', 'counter', 'a');
const b = address('t', 'counter', 'b');

type Count = { readonly n?: number; readonly total?: number; readonly rings: number };

/**
 * A counter; `field` is the name of the count in its version, `rests` whether it has the state
 * `resting`.
 */
const machineOf = (field: 'n' | 'total', rests: boolean) =>
  setup({
    types: {
      context: {} as Count,
      events: {} as Delivered<Message>,
      input: {} as ActorInput,
    },
    actions: {
      ...hostActions,
      count: assign({ [field]: ({ context }: { context: Count }) => (context[field] ?? 0) + 1 }),
      ring: assign({ rings: ({ context }) => context.rings + 1 }),
    },
    delays: { nap: 60_000 },
  }).createMachine({
    id: 'counter',
    context: { [field]: 0, rings: 0 },
    initial: 'counting',
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
    states: {
      counting: { on: rests ? { rest: 'resting' } : {} },
      ...(rests && {
        resting: {
          meta: { defer: ['add'] },
          on: { wake: 'counting' },
          after: { nap: { target: 'counting', actions: 'ring' } },
        },
      }),
    },
  });

type Options = Pick<ActorOptions<ReturnType<typeof machineOf>>, 'migrate'>;
const v1 = defineActor({ type: 'counter', version: 1, machine: machineOf('n', true), idleMs: 0 });
const v2 = (options: Options = {}): ActorDefinition =>
  defineActor({
    type: 'counter',
    version: 2,
    machine: machineOf('total', true),
    idleMs: 0,
    ...options,
  });
const migrate: Options['migrate'] = {
  1: (row) => {
    const { n, rings } = row.snap.c as Count;
    return { ...row, snap: { ...row.snap, c: { total: n, rings } } };
  },
};
const unfit: [string, ActorDefinition[]][] = [
  ['of a version without a migration', [v2()]],
  [
    'of a version whose migration throws',
    [
      v2({
        migrate: {
          1: () => {
            throw new Error('cannot migrate');
          },
        },
      }),
    ],
  ],
  [
    'of a version whose migration returns an invalid row',
    [v2({ migrate: { 1: () => ({}) as never } })],
  ],
  [
    'of the same version without its current state',
    [defineActor({ type: 'counter', version: 1, machine: machineOf('n', false) })],
  ],
];

/** An actor that rests with one stashed message, stored by version 1. */
async function resting(): Promise<{ world: World; clock: ShiftedClock }> {
  const clock = new ShiftedClock();
  const world = await openWorld({ clock, actors: [v1], shards: 1 });
  await world.ask(a, { type: 'add' });
  await world.tell(a, { type: 'rest' });
  await world.tell(a, { type: 'add' });
  await eventually(() => expect(world.system.inspect(a)?.value).toBe('resting'));
  return { world, clock };
}

it('a migration rewrites the row once, at the next use of its actor', async () => {
  const { world } = await resting();
  await world.restart({ actors: [v2({ migrate })] });
  expect(world.system.inspect(a)?.machine).toBe('counter@1');
  await world.tell(a, { type: 'wake' });
  await eventually(() =>
    expect(world.system.inspect(a)).toMatchObject({ machine: 'counter@2', context: { total: 2 } }),
  );
  await world.restart();
  expect(await world.ask(a, { type: 'add' })).toMatchObject({ result: { total: 3 } });
});

it('a migrated actor keeps its timers', async () => {
  const { world, clock } = await resting();
  await world.restart({ actors: [v2({ migrate })] });
  clock.shift(61_000);
  await eventually(() => expect(world.system.inspect(a)?.context).toEqual({ total: 2, rings: 1 }));
});

it('two versions coexist: stored actors keep theirs, and new ones get the newest', async () => {
  const { world } = await resting();
  await world.restart({ actors: [v1, v2()] });
  await world.tell(a, { type: 'wake' });
  expect(await world.ask(a, { type: 'add' })).toMatchObject({ result: { n: 3 } });
  expect(await world.ask(b, { type: 'add' })).toMatchObject({ result: { total: 1 } });
  expect(world.system.inspect(a)?.machine).toBe('counter@1');
  expect(world.system.inspect(b)?.machine).toBe('counter@2');
});

describe.each(unfit)('an actor that is loaded by a machine %s', (_, actors) => {
  it('is unchanged; its messages are refused and stored, and it continues when its version returns', async () => {
    const { world, clock } = await resting();
    const before = world.system.inspect(a);
    await world.restart({ actors });
    expect(await world.ask(a, { type: 'wake' }, { key: 'k' })).toMatchObject({
      kind: 'refused',
      error: { code: 'UNAVAILABLE', message: expect.stringContaining('counter@1') },
    });
    await world.tell(a, { type: 'wake' });
    clock.shift(61_000);
    for (const type of ['sys.restart', 'sys.stop'])
      expect(await world.ask(a, { type }, { principal: operator })).toMatchObject({
        error: { code: 'UNAVAILABLE' },
      });
    const letters = await world.letters(4);
    expect(letters).toMatchObject(Array.from({ length: 4 }, () => ({ reason: 'UNFIT' })));
    expect(world.system.inspect(a)).toEqual(before);
    await eventually(() => expect(world.system.status()).toMatchObject([{ state: 'owned' }]));

    await world.restart({ actors: [v1] });
    await eventually(() => expect(world.system.inspect(a)?.context).toEqual({ n: 2, rings: 1 }));
    expect(await world.ask(a, { type: 'add' }, { key: 'k' })).toMatchObject({ kind: 'answered' });
  });

  it('does not block other actors', async () => {
    const { world } = await resting();
    await world.restart({ actors });
    void world.ask(a, { type: 'wake' });
    expect(await world.ask(b, { type: 'add' })).toMatchObject({ kind: 'answered' });
  });
});

it('messages to an unregistered type are refused, and its actors continue when it is registered', async () => {
  const { world } = await resting();
  await world.restart({
    actors: [defineActor({ type: 'other', version: 1, machine: machineOf('n', false) })],
  });
  expect(await world.tell(a, { type: 'wake' })).toMatchObject({ error: { code: 'NOT_FOUND' } });
  await world.restart({ actors: [v1] });
  await world.tell(a, { type: 'wake' });
  await eventually(() => expect(world.system.inspect(a)?.context).toEqual({ n: 2, rings: 0 }));
});
