/** What the views of actors show, as data: rows of the tree, reasons, and the visible part. */
import { describe, expect, it } from 'vitest';
import { setup } from 'xstate';
import type { ActorSummary, ActorView, ActorWait } from '../../../protocols/actor-view.ts';
import { chartOf } from '../../../runtime/statechart/picture/chart-of.ts';
import type { ShownActor } from '../../../web/actors/actor-watch.ts';
import { strings } from '../../../web/actors/strings.ts';
import { NO_RATES, ratesOf, turnsOfLastMinute } from '../../../web/actors/rates.ts';
import { filtered, rowsOf, shortState, stateText } from '../../../web/actors/tree-rows.ts';
import { timerName, whyItWaits } from '../../../web/actors/why-it-waits.ts';
import { around, focusOn, zoomed } from '../../../web/charts/view-box.ts';

const summary = (actor: string, status = 'active', state: unknown = 'open'): ActorSummary => ({
  actor,
  machine: `${actor.split('/')[1]}@1`,
  status,
  state,
  steps: 0,
  shardLag: 0,
  effects: 0,
  timers: 0,
  stashed: 0,
});
const actors = [
  summary('default/agent/main'),
  summary('default/session/a', 'active', { running: { working: 'thinking' } }),
  summary('default/session/b', 'quarantined'),
];

describe('the tree of actors', () => {
  it('has a row for each type, with those that need attention, and its actors below', () => {
    expect(rowsOf(actors, new Set(), false)).toMatchObject([
      { kind: 'type', type: 'agent', count: 1, troubled: 0, isOpen: true },
      { kind: 'actor', position: 1, of: 1 },
      { kind: 'type', type: 'session', count: 2, troubled: 1, isOpen: true },
      { kind: 'actor', position: 1, of: 2 },
      { kind: 'actor', position: 2, of: 2 },
    ]);
  });

  it('begins closed where a type has many actors, and open where they were searched', () => {
    const many = Array.from({ length: 100 }, (_, n) => summary(`default/counter/${n}`));
    expect(rowsOf(many, new Set(), false)).toHaveLength(1);
    expect(rowsOf(many, new Set(['counter']), false)).toHaveLength(101);
    expect(rowsOf(many, new Set(), true)).toHaveLength(101);
  });

  it('is searched by words of address, status and state', () => {
    const find = (text: string, more = {}) =>
      filtered(actors, { text, type: '', status: '', ...more }).map(({ actor }) => actor);
    expect(find('')).toHaveLength(3);
    expect(find('session THINK')).toEqual(['default/session/a']);
    expect(find('', { status: 'quarantined' })).toEqual(['default/session/b']);
    expect(find('main', { type: 'session' })).toEqual([]);
  });

  it('names the innermost active states', () => {
    expect(stateText({ a: { b: 'c' }, d: 'e' })).toBe('a.b.c, d.e');
    expect(shortState({ a: { b: 'c' }, d: 'e' })).toBe('c, e');
  });
});

describe('the rate of an actor', () => {
  const reading = (steps: number) => [{ ...summary('default/counter/a'), steps }];

  it('is what its machine took since the reading before, and nothing at the first', () => {
    const first = ratesOf(reading(10), 60_000, NO_RATES);
    expect(first.perMinute.size).toBe(0);
    const second = ratesOf(reading(16), 90_000, first);
    expect(second.perMinute.get('default/counter/a')).toBe(12);
    // Restarted: it counts from 0 again.
    expect(ratesOf(reading(1), 120_000, second).perMinute.size).toBe(0);
  });

  it('is summed for its type, with the longest mailbox', () => {
    const busy = [
      { ...summary('default/counter/a'), shardLag: 3 },
      { ...summary('default/counter/b'), shardLag: 5 },
    ];
    const perMinute = new Map([
      ['default/counter/a', 4],
      ['default/counter/b', 6],
    ]);
    expect(rowsOf(busy, new Set(), true, perMinute)[0]).toMatchObject({ perMinute: 10, lag: 5 });
    const starting = [...busy, { ...summary('default/counter/c'), shardLagUnknown: true }];
    expect(rowsOf(starting, new Set(), true, perMinute)[0]).toMatchObject({ lag: '?' });
  });

  it('of the open actor counts the turns of the last minute', () => {
    const turns = [{ at: 1_000 }, { at: 50_000 }, { at: 62_000 }];
    expect(turnsOfLastMinute(turns, 70_000)).toBe(2);
  });
});

describe('why an actor waits', () => {
  const chart = chartOf(
    setup({}).createMachine({
      id: 'shop',
      initial: 'busy',
      states: { busy: { meta: { defer: ['order.*'] }, on: { done: 'free' } }, free: {} },
    }),
  );
  const times = { span: (ms: number) => `${ms} ms`, until: (ms: number) => `in ${ms} ms` };
  const view: ActorView = {
    actor: 'default/shop/a',
    machine: 'shop@1',
    status: 'active',
    state: 'busy',
    accepts: [],
    effects: [],
    timers: [],
    stash: [],
    steps: 0,
    shard: { shard: 0, state: 'owned' },
    shardLag: 0,
  };
  const why = (change: Partial<ShownActor>) =>
    whyItWaits({ ...view, ...change }, chart, 1_000, { texts: strings, times });

  it('names the state that defers a stashed message', () => {
    expect(why({ stash: [{ type: 'order.place' }] })).toEqual([
      'order.place waits in the stash because the state busy defers it.',
    ]);
    expect(why({ stash: [{ type: 'other' }] })).toEqual(['other waits in the stash.']);
  });

  it('names effects, the lag of its shard and timers', () => {
    const effects = [
      { id: '1', effect: 'pay', state: 'started', attempt: 2, since: 400 },
      { id: '2', effect: 'ship', state: 'unknown', attempt: 1, since: 0 },
    ] as const;
    const timers = [{ event: 'xstate.after.patience.shop.busy', due: 3_000 }];
    expect(why({ effects, timers, shardLag: 4 })).toEqual([
      'Its effect pay runs, attempt 2, for 600 ms.',
      'It is unknown whether its effect ship happened: it waits for a decision.',
      '4 messages of its shard wait for their turn.',
      'after patience in 2000 ms.',
    ]);
    expect(why({ shardLagUnknown: true })).toEqual([
      '? messages of its shard wait for their turn.',
    ]);
  });

  it('names what only the gateway knows: shard, approval, budget, slot, and missing labels', () => {
    const waits: ActorWait[] = [
      { kind: 'shard', text: '', on: { shard: 3, state: 'unowned' } },
      { kind: 'approval', text: '', on: { id: 'r1.c1', title: 'rm -r build' } },
      { kind: 'budget', text: '', on: { spent: 'tokensPerDay' } },
      { kind: 'slot', text: '', on: { agent: 'main', running: 2, waiting: 1 } },
      { kind: 'timer', text: 'the page says it itself' },
    ];
    const effects = [
      { id: '1', effect: 'build', state: 'open', attempt: 1, since: 0, lacks: 'gpu=yes' },
    ] as const;
    expect(why({ waits, effects })).toEqual([
      'No worker owns its shard 3, so nothing is processed: start a worker.',
      'It waits for the approval r1.c1: rm -r build',
      'The budget is exhausted (tokensPerDay): no run starts before 00:00 UTC.',
      'It waits for a slot of the agent main: 2 runs have one, 1 wait.',
      'Its effect build needs a worker with the labels gpu=yes, and none is there.',
    ]);
  });

  it('says when a failed effect is tried again', () => {
    const timers = [{ event: 'xstate.after.retryBackoff.session.running', due: 3_000 }];
    expect(why({ timers })).toEqual(['Its next try follows in 2000 ms (after retryBackoff).']);
  });

  it('says what a stopped actor waits for, and nothing else', () => {
    const effects = [{ id: '1', effect: 'pay', state: 'open', attempt: 0, since: 0 }] as const;
    expect(why({ status: 'quarantined', why: 'it crashed', effects })).toEqual([
      'It is quarantined: it crashed. An operator has to act.',
    ]);
    expect(why({ status: 'done' })).toEqual(['It has ended.']);
    expect(why({})).toEqual(['It waits for a message.']);
    expect(timerName('order.late')).toBe('order.late');
  });
});

describe('the visible part of a chart', () => {
  const pane = { width: 400, height: 200 };
  const whole = { x: 0, y: 0, width: 4_000, height: 2_000 };

  it('has the proportions of the pane and is not magnified', () => {
    expect(around({ x: 0, y: 0, width: 100, height: 100 }, pane)).toEqual({
      x: -150,
      y: -50,
      width: 400,
      height: 200,
    });
    expect(around(whole, pane)).toEqual(whole);
  });

  it('is the surroundings of an active state where they are readable', () => {
    const near = { x: 1_000, y: 1_000, width: 200, height: 100 };
    const view = focusOn({ x: 1_010, y: 1_010, width: 50, height: 30 }, near, whole, pane);
    expect(view).toEqual(around({ x: 976, y: 976, width: 248, height: 148 }, pane));
  });

  it('is the state itself where they are not, and stays inside of the drawing', () => {
    const view = focusOn({ x: 10, y: 10, width: 50, height: 30 }, whole, whole, pane);
    expect(view).toEqual({ x: 0, y: 0, width: 500, height: 250 });
  });

  it('keeps the point under the pointer when it is scaled, within limits', () => {
    const view = { x: 100, y: 100, width: 400, height: 200 };
    const closer = zoomed(view, 2, pane, 0.25, 0.5);
    expect(closer).toEqual({ x: 150, y: 150, width: 200, height: 100 });
    expect(zoomed(closer, 100, pane).width).toBe(160);
  });
});
