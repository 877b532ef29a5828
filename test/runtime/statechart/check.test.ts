import { describe, expect, it } from 'vitest';
import { type AnyStateMachine, createMachine, setup } from 'xstate';
import { effect } from '../../../protocols/statechart.ts';
import { checkRow, definitionHash } from '../../../runtime/statechart/check.ts';
import {
  initialState,
  fired,
  type MachineRow,
  save,
  step,
} from '../../../runtime/statechart/host.ts';
import { input, meta, order, player } from './machines.ts';

const actors = { work: effect<null, null>(), other: effect<null, null>() };
const build = (states: object, more: object = {}): AnyStateMachine =>
  createMachine(
    { id: 'm', initial: 'b', ...more, states } as never,
    { actors, guards: { never: () => false } } as never,
  );

const b = { invoke: { id: 'job', src: 'work', onDone: 'c' }, after: { 1000: 'c' } };
const old = build({ a: {}, b, c: {} });
const row: MachineRow = save(initialState(old, input, meta).live);

describe('a stored row', () => {
  it('matches the machine that wrote it, in every state of its life', () => {
    const machines: [AnyStateMachine, string[]][] = [
      [order, ['order.pay', 'order.cancel']],
      [player, ['power', 'louder', 'mute', 'play', 'mute', 'power', 'back']],
    ];
    for (const [machine, types] of machines) {
      let { live } = initialState(machine, input, meta);
      for (const type of types) {
        expect(checkRow(machine, save(live))).toEqual([]);
        const next = step(machine, live, { event: { type, total: 5, meta } }, 1000);
        expect(next.outcome).toBe('moved');
        live = next.live;
      }
      expect(checkRow(machine, JSON.parse(JSON.stringify(save(live))))).toEqual([]);
    }
  });

  it('matches after its timer has fired and a guard kept the state', () => {
    const machine = build({ b: { after: { 1000: { guard: 'never', target: 'c' } } }, c: {} });
    const { live } = initialState(machine, input, meta);
    const next = step(machine, live, fired(live, 'xstate.after.1000.m.b', '0.0', meta), 2000);
    expect(next.outcome).toBe('unchanged');
    expect(checkRow(machine, save(next.live))).toEqual([]);
  });

  it.each<[string, AnyStateMachine, string[]]>([
    ['its state is gone', build({ a: {}, c: {} }, { initial: 'a' }), ["m: there is no state 'b'"]],
    [
      'its state has states now',
      build({ b: { initial: 'x', states: { x: {} } } }),
      ['m.b: one of its states must be active, the row has undefined'],
    ],
    [
      'its state is parallel now',
      build({ b: { type: 'parallel', states: { x: {} } } }),
      ['m.b: all of its regions must be active, the row has undefined'],
    ],
    [
      'its state is final now',
      build({ b: { type: 'final' } }),
      [
        'm: the row is active, but its state is final',
        'job job: no active state invokes it',
        'timer xstate.after.1000.m.b: no active state waits for it',
      ],
    ],
    [
      'its invoke has another id',
      build({ b: { ...b, invoke: { ...b.invoke, id: 'job2' } }, c: {} }),
      [
        'job job: no active state invokes it',
        'invoke job2: its state is active, but it was never started',
      ],
    ],
    [
      'its invoke has another source',
      build({ b: { ...b, invoke: { ...b.invoke, src: 'other' } }, c: {} }),
      ["job job: it ran 'work', its state invokes 'other' now"],
    ],
    [
      'its delay has another name',
      build({ b: { ...b, after: { 2000: 'c' } }, c: {} }),
      [
        'timer xstate.after.1000.m.b: no active state waits for it',
        'timer xstate.after.2000.m.b: its state is active, but it was never armed',
      ],
    ],
    [
      'its state is a history now',
      build({ a: {}, b: { type: 'history' } }, { initial: 'a' }),
      ["m: there is no state 'b'"],
    ],
  ])('does not match when %s', (_, machine, problems) => {
    expect(checkRow(machine, row)).toEqual(problems);
  });

  const regions = build({ p: { type: 'parallel', states: { l: {}, r: {} } } }, { initial: 'p' });
  const parallel: MachineRow = save(initialState(regions, input, meta).live);
  it.each<[string, AnyStateMachine, string]>([
    [
      'a region is new',
      build({ p: { type: 'parallel', states: { l: {}, r: {}, z: {} } } }, { initial: 'p' }),
      "m.p: the region 'z' is not in the row",
    ],
    [
      'a region is missing',
      build({ p: { type: 'parallel', states: { l: {} } } }, { initial: 'p' }),
      "m.p: there is no region 'r'",
    ],
    [
      'its regions became states',
      build({ p: { initial: 'l', states: { l: {}, r: {} } } }, { initial: 'p' }),
      'm.p: one of its states must be active, the row has {"l":{},"r":{}}',
    ],
  ])('of a parallel state does not match when %s', (_, machine, problem) => {
    expect(checkRow(machine, parallel)).toEqual([problem]);
  });

  it.each(['constructor', '__proto__', 'toString'])('with the state %s is refused', (value) => {
    expect(checkRow(old, { ...row, snap: { ...row.snap, v: value } })).toEqual([
      `m: there is no state '${value}'`,
    ]);
  });

  it('with a history of a removed state is refused', () => {
    const snap = { ...row.snap, h: { 'm.h': ['m.b'], 'm.b': ['m.lost'] } };
    expect(checkRow(old, { ...row, snap })).toEqual([
      'm.h: a history refers to it, but there is no such state',
      'm.lost: a history refers to it, but there is no such state',
    ]);
  });
});

describe('the hash of a definition', () => {
  it('is equal for equal charts, regardless of their functions', () => {
    const one = setup({ delays: { soon: 5 } }).createMachine({
      id: 'm',
      initial: 'a',
      states: { a: { after: { soon: 'b' } }, b: {} },
    });
    const two = setup({ delays: { soon: () => 7 } }).createMachine({
      id: 'm',
      initial: 'a',
      states: { a: { after: { soon: 'b' } }, b: {} },
    });
    expect(definitionHash(one)).toBe(definitionHash(two));
    expect(definitionHash(one)).toMatch(/^[0-9a-f]{16}$/);
  });

  it('changes with a state, a target, a guard, an action, an invoke or the order of candidates', () => {
    const base = { on: { go: [{ target: 'b', guard: 'never' }, 'c'] } };
    const charts = [
      build({ b: base, c: {} }),
      build({ b: base, c: {}, d: {} }),
      build({ b: { on: { go: [{ target: 'c', guard: 'never' }, 'c'] } }, c: {} }),
      build({ b: { on: { go: [{ target: 'b' }, 'c'] } }, c: {} }),
      build({ b: { on: { go: ['c', { target: 'b', guard: 'never' }] } }, c: {} }),
      build({ b: { ...base, invoke: { id: 'w', src: 'work' } }, c: {} }),
      build({ b: { ...base, entry: 'x' }, c: {} }),
      build({ b: base, c: {} }, { initial: 'c' }),
    ];
    expect(new Set(charts.map(definitionHash)).size).toBe(charts.length);
  });
});
