import { expect, it } from 'vitest';
import { assign, setup } from 'xstate';
import { address } from '../../protocols/address.ts';
import { type ActorInput, effect, hostActions } from '../../protocols/statechart.ts';
import { type Exploration, explore, type Ledger } from './coverage.ts';

const gate = setup({
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
  id: 'gate',
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
  machine: gate,
  self: address('default', 'gate', 'front'),
  ledger: () => nothing,
  key: ({ snapshot }) => [snapshot.value, (snapshot.context as { opened: number }).opened],
  moves: () => [
    { name: 'open', event: { type: 'open' } },
    { name: 'close', event: { type: 'close' } },
    { name: 'rang', job: 'ring', output: null },
  ],
};

it('names every state and every guarded branch that no path reaches', () => {
  expect(explore(exploration).unreached).toEqual([
    'transition gate.ajar on close [isNever] to gate.stuck',
    'transition gate.ringing on xstate.error.actor.ring to gate.broken',
    'state gate.stuck',
    'state gate.broken',
  ]);
});

it('names the path after which a check failed', () => {
  let asked = 0;
  const ledger: Ledger = {
    copy: () => ledger,
    take: ({ name }) => {
      if (name === 'timer:draught') asked++;
      if (asked > 0) throw new Error('a draught is not allowed');
    },
  };
  const walk = () => explore({ ...exploration, ledger: () => ledger });
  expect(walk).toThrow('after open, timer:draught: a draught is not allowed');
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
