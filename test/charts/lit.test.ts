/** What a chart lights up for a turn: active states, open transitions, and those just taken. */
import { describe, expect, it } from 'vitest';
import { setup } from 'xstate';
import { shippedActors } from '../../actors/index.ts';
import { isCausedBy, litAt, takenEdges } from '../../charts/lit.ts';
import { edgeName } from '../../charts/svg.ts';
import { chartOf } from '../../runtime/statechart/picture/chart-of.ts';

const chart = chartOf(
  setup({}).createMachine({
    id: 'lamp',
    initial: 'off',
    states: {
      off: { on: { press: 'on', turn: 'on' } },
      on: {
        initial: 'dim',
        on: { press: 'off' },
        states: {
          dim: { on: { turn: 'bright', press: 'blinking' } },
          bright: { always: 'dim' },
          blinking: {},
        },
      },
    },
  }),
);
const names = (turn: Parameters<typeof takenEdges>[1]) =>
  takenEdges(chart, turn).map(({ from, to }) => edgeName(from, to));

describe('the transitions that a turn took', () => {
  it('lead from a state that was active to one that is entered', () => {
    expect(names({ event: 'press', before: 'off', state: { on: 'dim' } })).toEqual(['off>on']);
    expect(names({ event: 'turn', before: { on: 'dim' }, state: { on: 'bright' } })).toEqual([
      'on.dim>on.bright',
    ]);
  });

  it('are those of every step on the way', () => {
    const turn = {
      event: 'turn',
      before: { on: 'dim' },
      state: { on: 'dim' },
      path: [{ on: 'bright' }, { on: 'dim' }],
    };
    expect(names(turn)).toEqual(['on.dim>on.bright', 'on.bright>on.dim']);
  });

  it('have the cause of the turn, and the deepest source', () => {
    expect(names({ event: 'press', before: { on: 'dim' }, state: { on: 'blinking' } })).toEqual([
      'on.dim>on.blinking',
    ]);
    expect(names({ event: 'press', before: { on: 'bright' }, state: 'off' })).toEqual(['on>off']);
  });

  it('are none where the state did not change, or was not known before', () => {
    expect(names({ event: 'x', before: 'off', state: 'off' })).toEqual([]);
    expect(names({ event: 'press', state: { on: 'dim' } })).toEqual([]);
    expect(names({ event: 'press', before: 'off' })).toEqual([]);
  });
});

it('a drawing of one level lights the states that contain the active ones', () => {
  const turn = { event: 'turn', before: 'off', state: { on: 'dim' } };
  const lit = litAt(chart, 1, { on: 'dim' }, turn);
  expect([...lit.active]).toEqual(['', 'on']);
  expect([...lit.taken]).toEqual(['off>on']);
  expect([...lit.open]).toEqual(['on>off']);
});

it('every transition of every type has a cause that its event names', () => {
  const causes: readonly (readonly [string, string])[] = [
    ['done(model)', 'xstate.done.actor.model'],
    ['error(model) [isLast]', 'xstate.error.actor.model'],
    ['after quiet', 'xstate.after.quiet.session.idle'],
    ['done', 'xstate.done.state.a.b'],
    ['always [isOver]', ''],
    ['order.*', 'order.place'],
    ['order.place', 'order.place'],
  ];
  for (const [label, event] of causes) expect(isCausedBy(label, event)).toBe(true);
  expect(isCausedBy('after quiet', 'xstate.after.quietness.session.idle')).toBe(false);
  expect(isCausedBy('always', 'order.place')).toBe(false);
  const labels = shippedActors().flatMap(({ machine }) =>
    chartOf(machine).edges.flatMap((edge) => edge.labels),
  );
  expect(labels.filter((label) => label.startsWith('xstate.'))).toEqual([]);
});
