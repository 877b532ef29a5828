import { expect, it } from 'vitest';
import { assign, setup } from 'xstate';
import { address } from '../../protocols/address.ts';
import { type ActorInput, effect, hostActions } from '../../protocols/statechart.ts';
import { type Exploration, explore, type Ledger } from './coverage.ts';

const door = setup({
  types: {
    context: {} as { opened: number },
    events: {} as { type: 'open' } | { type: 'close' },
    input: {} as ActorInput,
  },
  actors: { ring: effect<null, null>() },
  actions: { ...hostActions, count: assign({ opened: ({ context }) => context.opened + 1 }) },
  guards: { isWorn: ({ context }) => context.opened > 2, isNever: () => false },
  delays: { draught: 500 },
}).createMachine({
  id: 'door',
  context: { opened: 0 },
  initial: 'shut',
  states: {
    shut: {
      on: {
        open: [
          { guard: 'isWorn', target: 'ringing' },
          { target: 'ajar', actions: 'count' },
        ],
      },
    },
    ajar: {
      on: { close: [{ guard: 'isNever', target: 'stuck' }, { target: 'shut' }] },
      after: { draught: 'shut' },
    },
    ringing: {
      invoke: {
        id: 'ring',
        src: 'ring',
        input: () => null,
        onDone: { target: 'shut' },
        onError: 'broken',
      },
    },
    stuck: {},
    broken: {},
  },
});

const nothing: Ledger = { copy: () => nothing, take: () => {} };
const exploration: Exploration = {
  machine: door,
  self: address('default', 'door', 'front'),
  ledger: () => nothing,
  key: ({ snapshot }) => [snapshot.value, (snapshot.context as { opened: number }).opened],
  moves: () => [
    { name: 'open', event: { type: 'open' } },
    { name: 'close', event: { type: 'close' } },
    { name: 'rang', job: 'ring', output: null },
  ],
};

it('names every state and every guarded branch that nothing reaches', () => {
  expect(explore(exploration).unreached).toEqual([
    'transition door.ajar on close [isNever] to door.stuck',
    'transition door.ringing on xstate.error.actor.ring to door.broken',
    'state door.stuck',
    'state door.broken',
  ]);
});

it('says after which path a promise was broken', () => {
  let asked = 0;
  const ledger: Ledger = {
    copy: () => ledger,
    take: ({ name }) => {
      if (name === 'timer:draught') asked++;
      if (asked > 0) throw new Error('nobody may feel a draught');
    },
  };
  const walk = () => explore({ ...exploration, ledger: () => ledger });
  expect(walk).toThrow('after open, timer:draught: nobody may feel a draught');
});

it('refuses a machine that behaves differently after it was stored', () => {
  const wound = new WeakSet<object>();
  const wind = () => {
    const spring = {};
    wound.add(spring);
    return spring;
  };
  const watch = setup({
    types: { context: {} as { spring: object } },
    actions: { ...hostActions, wind: assign({ spring: wind }) },
  }).createMachine({
    id: 'watch',
    context: { spring: {} },
    on: {
      wind: { actions: 'wind' },
      look: {
        actions: {
          type: 'reply',
          params: ({ context }) => ({ to: undefined, result: wound.has(context.spring) }),
        },
      },
    },
  });
  const walk = () =>
    explore({
      ...exploration,
      machine: watch,
      moves: () => [
        { name: 'wind', event: { type: 'wind' } },
        { name: 'look', event: { type: 'look' } },
      ],
      key: ({ snapshot }) => wound.has((snapshot.context as { spring: object }).spring),
      scripts: [['wind']],
    });
  expect(walk).toThrow('wind, look: after it was stored and loaded');
});
