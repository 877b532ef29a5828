import { describe, expect, it } from 'vitest';
import { raise, setup } from 'xstate';
import { type ActorInput, effect, type Message } from '../../../protocols/statechart.ts';
import {
  initialState,
  defers,
  failed,
  fired,
  isDone,
  load,
  save,
  settled,
  step,
} from '../../../runtime/statechart/host.ts';
import { after, begin, job, send } from './driving.ts';
import { input, maze, meta, order, player } from './machines.ts';

const charging = () => send(order, begin(order), { type: 'order.pay', total: 5 });

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) freeze(part);
  }
  return value;
}

describe('a new actor', () => {
  const quiet = setup({ types: { input: {} as ActorInput } }).createMachine({
    id: 'm',
    context: ({ input: { key } }) => {
      if (key === 'nameless') throw new Error('no name');
      return { key, seen: 0 };
    },
    initial: 'a',
    states: { a: { tags: 'idle', on: { go: 'b' } }, b: {} },
  });
  const busy = setup({ types: { input: {} as ActorInput }, delays: { soon: 5 } }).createMachine({
    id: 'm',
    context: ({ input: { key } }) => ({ key }),
    initial: 'a',
    states: { a: { always: { guard: ({ context }) => context.key === 'k2', target: 'b' } }, b: {} },
    after: { soon: {} },
  });

  // Bug it would catch: the second actor begins with the context or the children of the first one.
  it.each([quiet, busy])('begins as the first one of its machine would', (machine) => {
    const children = new Set<object>();
    for (const key of ['k1', 'k2', 'k3']) {
      const one = initialState(machine, { ...input, key }, meta);
      const first = initialState(machine.provide({}), { ...input, key }, meta);
      expect(save(one.live)).toEqual(save(first.live));
      expect(one.requests).toEqual(first.requests);
      expect(one.live.snapshot.tags).toEqual(first.live.snapshot.tags);
      children.add(one.live.snapshot.children);
    }
    expect(children.size).toBe(3);
  });

  it('whose context cannot be made is refused, also after others have begun', () => {
    begin(quiet);
    expect(() => initialState(quiet, { ...input, key: 'nameless' }, meta)).toThrow(
      /m cannot begin: no name/,
    );
  });
});

describe('a step', () => {
  it('returns the requests of a transition in the order of the chart', () => {
    const { outcome, requests, live } = charging();
    expect(outcome).toBe('moved');
    expect(requests).toEqual([
      { kind: 'action', type: 'reply', params: { to: { id: 'm1' }, result: { total: 5 } } },
      { kind: 'timer', id: 'xstate.after.patience.order.charging', key: '1.1', due: 31_000 },
      { kind: 'start', id: 'charge', src: 'charge', key: '1.2', input: { total: 5, attempt: 1 } },
    ]);
    expect(save(live)).toEqual({
      seq: 1,
      snap: {
        s: 'active',
        v: 'charging',
        c: { attempts: 1, total: 5, receipt: null, reply: null },
      },
      jobs: { charge: { src: 'charge', key: '1.2' } },
      timers: {
        'xstate.after.patience.order.charging': {
          due: 31_000,
          at: 1_000,
          key: '1.1',
          event: { type: 'xstate.after.patience.order.charging' },
        },
      },
    });
  });

  it('does not change its input, so that an uncommitted step can be dropped', () => {
    const { live } = charging();
    const before = freeze(structuredClone(save(live)));
    freeze(live.snapshot.context);
    freeze(live.jobs);
    freeze(live.timers);
    freeze(live.snapshot.children);
    const done = settled('charge', job(live, 'charge'), { receipt: 'r' }, meta);
    const first = step(order, live, done, 2000);
    expect(first.outcome).toBe('moved');
    expect(save(live)).toEqual(before);
    expect(step(order, live, done, 2000)).toEqual(first);
  });

  it('cancels the timer and removes the job of the state that it leaves by an outcome', () => {
    const { live } = charging();
    const { requests, live: next } = step(
      order,
      live,
      settled('charge', job(live, 'charge'), { receipt: 'r' }, meta),
      2000,
    );
    expect(requests).toEqual([
      { kind: 'cancel', id: 'xstate.after.patience.order.charging', key: '1.1', due: 31_000 },
      { kind: 'start', id: 'pack', src: 'pack', key: '2.2', input: { receipt: 'r' } },
    ]);
    expect(Object.keys(next.jobs)).toEqual(['pack']);
    expect(next.timers).toEqual({});
  });

  it('stops the job of a state that is left while it runs', () => {
    const { requests, live } = send(order, charging().live, { type: 'order.cancel' });
    expect(requests.map(({ kind }) => kind)).toEqual(['cancel', 'stop']);
    expect(isDone(live)).toBe(true);
    expect(live.snapshot.output).toEqual({ receipt: null });
  });

  it('does not stop a job again that has settled before its state is left', () => {
    const begun = after(player, begin(player), { type: 'power' }, { type: 'play' });
    const shown = step(player, begun, settled('fetch', job(begun, 'fetch'), 1, meta), 1000).live;
    expect(shown.jobs).toEqual({ fetch: { src: 'fetch', key: '2.0', settled: true } });
    const { requests, live } = send(player, shown, { type: 'stop' });
    expect(requests.map(({ kind }) => kind)).toEqual(['cancel']);
    expect(live.jobs).toEqual({});
  });

  it('starts a reentered job under a new key and drops the outcome of the old one', () => {
    const first = after(player, begin(player), { type: 'power' }, { type: 'play' });
    const again = send(player, first, { type: 'play' });
    expect(again.requests).toEqual([
      { kind: 'stop', id: 'fetch', key: '2.0' },
      { kind: 'start', id: 'fetch', src: 'fetch', key: '3.1', input: { plays: 1 } },
    ]);
    const late = step(player, again.live, settled('fetch', '2.0', 1, meta), 1000);
    expect(late).toEqual({ live: again.live, requests: [], outcome: 'stale' });
  });

  it('accepts an outcome once', () => {
    const begun = after(player, begin(player), { type: 'power' }, { type: 'play' });
    const done = settled('fetch', job(begun, 'fetch'), 1, meta);
    const { live } = step(player, begun, done, 1000);
    expect(step(player, live, done, 1000).outcome).toBe('stale');
  });

  it('ignores late errors and errors of unknown jobs', () => {
    const { live } = charging();
    const error = { code: 'UNAVAILABLE', message: 'no' } as const;
    for (const cause of [
      failed('charge', '0.9', error, meta),
      failed('unknown', '1.2', error, meta),
    ]) {
      expect(step(order, live, cause, 1000)).toEqual({ live, requests: [], outcome: 'stale' });
    }
  });

  it('requests nothing for a job and a timer that start and end in one step', () => {
    const tired = after(maze, begin(maze), { type: 'walk', far: 1 });
    const { requests, live } = send(maze, tired, { type: 'walk', far: 1 });
    expect(live.snapshot.value).toBe('porch');
    expect(requests).toMatchObject([
      { type: 'publish' },
      { kind: 'timer', id: 'xstate.after.nap.maze.porch', due: 1003 },
    ]);
    expect(live.jobs).toEqual({});
  });

  it('distinguishes unhandled events, events without a change, and events that only request effects', () => {
    const waiting = begin(order);
    expect(send(order, waiting, { type: 'order.cancel' })).toEqual({
      live: waiting,
      requests: [],
      outcome: 'ignored',
    });
    expect(send(order, waiting, { type: 'order.poke' }).outcome).toBe('ignored');
    expect(send(order, waiting, { type: 'order.pay', total: 0 }).outcome).toBe('ignored');
    const moving = after(player, begin(player), { type: 'power' }, { type: 'play' });
    const ticked = send(player, moving, { type: 'tick' });
    expect(ticked.outcome).toBe('unchanged');
    expect(ticked.requests).toHaveLength(1);
    expect(ticked.live.seq).toBe(moving.seq + 1);
  });

  it.each([
    undefined,
    '',
    '*',
    7,
    'xstate.stop',
    'xstate.done.actor.charge',
    'xstate.error.actor.x',
  ])('refuses the event type %j from outside', (type) => {
    const { live } = charging();
    const answer = step(order, live, { event: { type: type as string } }, 1000);
    expect(answer).toMatchObject({
      live,
      requests: [],
      outcome: 'ignored',
      error: { code: 'INVALID_ARGUMENT' },
    });
  });

  it('ignores every event after its end and cancels every timer at its end', () => {
    const machine = setup({
      delays: { soon: 5 },
      types: { events: {} as { type: 'end' } },
    }).createMachine({
      id: 'm',
      initial: 'a',
      entry: raise({ type: 'end' }, { delay: 'soon' }),
      after: { soon: {} },
      states: { a: { on: { end: 'b' } }, b: { type: 'final' } },
    });
    const { live, requests } = initialState(machine, input, meta);
    expect(requests.map((ask) => ask.kind === 'timer' && ask.id)).toEqual([
      'raise.0.0',
      'xstate.after.soon.m',
    ]);
    const ended = send(machine, live, { type: 'end' });
    expect(ended.requests.map((ask) => ask.kind === 'cancel' && ask.id).sort()).toEqual([
      'raise.0.0',
      'xstate.after.soon.m',
    ]);
    expect(save(ended.live)).toMatchObject({ jobs: {}, timers: {}, snap: { s: 'done' } });
    expect(send(machine, ended.live, { type: 'end' }).outcome).toBe('ignored');
  });

  it('receives the meta of the cause in events, outcomes and timers', () => {
    const seen: unknown[] = [];
    const machine = setup({
      types: { events: {} as { type: 'go' } },
      actors: { work: effect<number, null>() },
      delays: { soon: 5 },
      guards: { note: ({ event }) => seen.push([event.type, (event as Message)['meta']]) > 0 },
    }).createMachine({
      id: 'm',
      initial: 'a',
      states: {
        a: { on: { go: { guard: 'note', target: 'b' } } },
        b: {
          invoke: { id: 'w', src: 'work', input: null, onDone: { guard: 'note', target: 'c' } },
        },
        c: { after: { soon: { guard: 'note', target: 'a' } } },
      },
    });
    const b = after(machine, begin(machine), { type: 'go' });
    const c = step(machine, b, settled('w', job(b, 'w'), 1, { ...meta, id: 'm2' }), 1000).live;
    const id = 'xstate.after.soon.m.c';
    expect(
      step(machine, c, fired(c, id, c.timers[id]!.key, { ...meta, id: 'm3' }), 1005).outcome,
    ).toBe('moved');
    expect(seen).toEqual([
      ['go', meta],
      ['xstate.done.actor.w', { ...meta, id: 'm2' }],
      ['xstate.after.soon.m.c', { ...meta, id: 'm3' }],
    ]);
  });
});

describe('a stored machine', () => {
  it('continues with its history, in memory and after a restart alike', () => {
    let live = after(
      player,
      begin(player),
      { type: 'power' },
      { type: 'louder' },
      { type: 'mute' },
      { type: 'play' },
    );
    live = load(player, JSON.parse(JSON.stringify(save(live))));
    live = after(player, live, { type: 'mute' });
    expect(live.snapshot.value).toEqual({
      on: { sound: { audible: 'loud' }, film: { moving: 'loading' } },
    });
    expect(live.snapshot.hasTag('noisy')).toBe(true);
    const { requests } = send(player, live, { type: 'power' });
    expect(requests.map((ask) => ask.kind).sort()).toEqual(['cancel', 'stop']);
  });

  it('that is impossible for its machine is refused', () => {
    const row = save(begin(order));
    expect(() => load(order, { ...row, snap: { ...row.snap, v: 'gone' } })).toThrow(
      /order cannot continue/,
    );
    const past = { ...row.snap, h: { 'order.gone': ['order.waiting', 'order.lost'] } };
    expect(() => load(order, { ...row, snap: past })).toThrow(/no state 'order.lost'/);
  });
});

describe('deferral', () => {
  it('stashes events while an active state defers them, by name or by prefix', () => {
    const { live } = charging();
    const held = ['order.pay', 'note', 'note.a', 'note.a.b', 'order.cancel', 'notes', 'order'];
    expect(held.filter((type) => defers(order, live, type))).toEqual([
      'order.pay',
      'note',
      'note.a',
      'note.a.b',
    ]);
    expect(defers(order, begin(order), 'order.pay')).toBe(false);
    expect(defers(player, begin(player), 'note.a')).toBe(false);
  });
});
