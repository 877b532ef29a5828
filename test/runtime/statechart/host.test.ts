import { describe, expect, it } from 'vitest';
import {
  type AnyStateMachine,
  assign,
  enqueueActions,
  log,
  raise,
  sendTo,
  setup,
  spawnChild,
} from 'xstate';
import { effect, hostActions, type Message } from '../../../protocols/statechart.ts';
import {
  born,
  defers,
  failed,
  fired,
  isDone,
  type Live,
  load,
  outputOf,
  type Step,
  save,
  settled,
  step,
} from '../../../runtime/statechart/host.ts';
import { input, maze, meta, order, player } from './machines.ts';

const begin = (machine: AnyStateMachine): Live => born(machine, input, meta).live;
const send = (machine: AnyStateMachine, live: Live, event: Message, now = 1000): Step =>
  step(machine, live, { event: { ...event, meta } }, now);
const after = (machine: AnyStateMachine, live: Live, ...events: Message[]): Live =>
  events.reduce((at, event) => {
    const { outcome, live: next, error } = send(machine, at, event);
    expect(outcome, error?.message).toMatch(/moved|unchanged/);
    return next;
  }, live);
const charging = () => send(order, begin(order), { type: 'order.pay', total: 5 });
const job = (live: Live, id: string): string => live.jobs[id]!.key;

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) freeze(part);
  }
  return value;
}

describe('a step', () => {
  it('answers the asks of a transition in the order of the chart', () => {
    const { outcome, asks, live } = charging();
    expect(outcome).toBe('moved');
    expect(asks).toEqual([
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
          key: '1.1',
          event: { type: 'xstate.after.patience.order.charging' },
        },
      },
    });
  });

  it('changes nothing of the machine it was given, so that an uncommitted step can be dropped', () => {
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

  it('cancels the timer and keeps no job of the state it leaves by an outcome', () => {
    const { live } = charging();
    const { asks, live: next } = step(
      order,
      live,
      settled('charge', job(live, 'charge'), { receipt: 'r' }, meta),
      2000,
    );
    expect(asks).toEqual([
      { kind: 'cancel', id: 'xstate.after.patience.order.charging', key: '1.1', due: 31_000 },
      { kind: 'start', id: 'pack', src: 'pack', key: '2.2', input: { receipt: 'r' } },
    ]);
    expect(Object.keys(next.jobs)).toEqual(['pack']);
    expect(next.timers).toEqual({});
  });

  it('stops the job of a state that is left while it runs', () => {
    const { asks, live } = send(order, charging().live, { type: 'order.cancel' });
    expect(asks.map(({ kind }) => kind)).toEqual(['cancel', 'stop']);
    expect(isDone(live)).toBe(true);
    expect(outputOf(live)).toEqual({ receipt: null });
  });

  it('does not stop a job again that has settled before its state is left', () => {
    const begun = after(player, begin(player), { type: 'power' }, { type: 'play' });
    const shown = step(player, begun, settled('fetch', job(begun, 'fetch'), 1, meta), 1000).live;
    expect(shown.jobs).toEqual({ fetch: { src: 'fetch', key: '2.0', settled: true } });
    const { asks, live } = send(player, shown, { type: 'stop' });
    expect(asks.map(({ kind }) => kind)).toEqual(['cancel']);
    expect(live.jobs).toEqual({});
  });

  it('starts a reentered job under a new key and drops the outcome of the old one', () => {
    const first = after(player, begin(player), { type: 'power' }, { type: 'play' });
    const again = send(player, first, { type: 'play' });
    expect(again.asks).toEqual([
      { kind: 'stop', id: 'fetch', key: '2.0' },
      { kind: 'start', id: 'fetch', src: 'fetch', key: '3.1', input: { plays: 1 } },
    ]);
    const late = step(player, again.live, settled('fetch', '2.0', 1, meta), 1000);
    expect(late).toEqual({ live: again.live, asks: [], outcome: 'stale' });
  });

  it('takes an outcome once', () => {
    const begun = after(player, begin(player), { type: 'power' }, { type: 'play' });
    const done = settled('fetch', job(begun, 'fetch'), 1, meta);
    const { live } = step(player, begun, done, 1000);
    expect(step(player, live, done, 1000).outcome).toBe('stale');
  });

  it('lets neither a late error nor one of an unknown job crash the machine', () => {
    const { live } = charging();
    const error = { code: 'UNAVAILABLE', message: 'no' } as const;
    for (const cause of [
      failed('charge', '0.9', error, meta),
      failed('nobody', '1.2', error, meta),
    ]) {
      expect(step(order, live, cause, 1000)).toEqual({ live, asks: [], outcome: 'stale' });
    }
  });

  it('asks nothing for a job and a timer that are begun and ended in one step', () => {
    const tired = after(maze, begin(maze), { type: 'walk', far: 1 });
    const { asks, live } = send(maze, tired, { type: 'walk', far: 1 });
    expect(live.snapshot.value).toBe('porch');
    expect(asks).toMatchObject([
      { type: 'publish' },
      { kind: 'timer', id: 'xstate.after.nap.maze.porch', due: 1003 },
    ]);
    expect(live.jobs).toEqual({});
  });

  it('tells apart what is not taken, what changes nothing and what only asks', () => {
    const waiting = begin(order);
    expect(send(order, waiting, { type: 'order.cancel' })).toEqual({
      live: waiting,
      asks: [],
      outcome: 'ignored',
    });
    expect(send(order, waiting, { type: 'order.poke' }).outcome).toBe('ignored');
    expect(send(order, waiting, { type: 'order.pay', total: 0 }).outcome).toBe('ignored');
    const moving = after(player, begin(player), { type: 'power' }, { type: 'play' });
    const ticked = send(player, moving, { type: 'tick' });
    expect(ticked.outcome).toBe('unchanged');
    expect(ticked.asks).toHaveLength(1);
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
      asks: [],
      outcome: 'ignored',
      error: { code: 'INVALID_ARGUMENT' },
    });
  });

  it('ignores every event after the end and sweeps every timer with it', () => {
    const machine = setup({
      delays: { soon: 5 },
      types: {} as { events: { type: 'end' } },
    }).createMachine({
      id: 'm',
      initial: 'a',
      entry: raise({ type: 'end' }, { delay: 'soon' }),
      after: { soon: {} },
      states: { a: { on: { end: 'b' } }, b: { type: 'final' } },
    });
    const { live, asks } = born(machine, input, meta);
    expect(asks.map((ask) => ask.kind === 'timer' && ask.id)).toEqual([
      'raise.0.0',
      'xstate.after.soon.m',
    ]);
    const ended = send(machine, live, { type: 'end' });
    expect(ended.asks.map((ask) => ask.kind === 'cancel' && ask.id).sort()).toEqual([
      'raise.0.0',
      'xstate.after.soon.m',
    ]);
    expect(save(ended.live)).toMatchObject({ jobs: {}, timers: {}, snap: { s: 'done' } });
    expect(send(machine, ended.live, { type: 'end' }).outcome).toBe('ignored');
  });

  it('sees the meta of the cause in events, outcomes and timers', () => {
    const seen: unknown[] = [];
    const machine = setup({
      types: {} as { events: { type: 'go' } },
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

describe('a timer', () => {
  const withDelay = (delay: unknown) => {
    const soon = () => delay as number;
    return setup({ delays: { soon } }).createMachine({
      id: 'm',
      initial: 'a',
      states: { a: { after: { soon: 'b' } }, b: {} },
    });
  };

  it.each([
    [10.2, 1011],
    [0, 1000],
    [-5, 1000],
    [Number.NaN, 1000],
    [Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER],
    [2 ** 60, Number.MAX_SAFE_INTEGER],
  ])('of %d ms is due at %d', (delay, due) => {
    const { live, asks } = born(withDelay(delay), input, meta);
    expect(asks).toEqual([{ kind: 'timer', id: 'xstate.after.soon.m.a', key: '0.0', due }]);
    expect(live.snapshot.value).toBe('a');
  });

  it.each([undefined, '10', null])(
    'of the delay %j fails the step instead of firing at once',
    (delay) => {
      expect(() => born(withDelay(delay), input, meta)).toThrow(
        /delay of xstate\.after\.soon\.m\.a .* not a number/,
      );
    },
  );

  it('fires once, also when a guard keeps its state active', () => {
    const machine = setup({ delays: { soon: 5 }, guards: { never: () => false } }).createMachine({
      id: 'm',
      initial: 'a',
      states: { a: { after: { soon: { guard: 'never', target: 'b' } } }, b: {} },
    });
    const live = begin(machine);
    const cause = fired(live, 'xstate.after.soon.m.a', '0.0', meta);
    const first = step(machine, live, cause, 1005);
    expect(first).toMatchObject({ outcome: 'unchanged', asks: [] });
    expect(first.live.timers['xstate.after.soon.m.a']).toMatchObject({ fired: true });
    expect(step(machine, first.live, cause, 1005).outcome).toBe('stale');
  });

  it('that was armed again under its id replaces the one before', () => {
    const machine = setup({
      types: {} as { events: { type: 'again' } | { type: 'ring' } },
      delays: { soon: 5 },
    }).createMachine({
      id: 'm',
      on: { again: { actions: raise({ type: 'ring' }, { id: 'bell', delay: 'soon' }) } },
    });
    const once = after(machine, begin(machine), { type: 'again' });
    const twice = send(machine, once, { type: 'again' }, 1003);
    expect(twice.asks).toEqual([
      { kind: 'cancel', id: 'bell', key: '1.0', due: 1005 },
      { kind: 'timer', id: 'bell', key: '2.0', due: 1008 },
    ]);
    expect(step(machine, twice.live, fired(twice.live, 'bell', '1.0', meta), 1005).outcome).toBe(
      'stale',
    );
    expect(
      step(machine, twice.live, fired(twice.live, 'bell', '2.0', meta), 1008).live.timers,
    ).toEqual({});
  });
});

describe('a machine that fails', () => {
  it('leaves the step with the state before and says where, on what and why', () => {
    const live = begin(maze);
    const answer = send(maze, live, { type: 'fail' });
    expect(answer).toMatchObject({ outcome: 'failed', asks: [], error: { code: 'INTERNAL' } });
    expect(answer.live).toBe(live);
    expect(answer.error?.message).toBe('maze in "hall" on fail: the wall is hard');
    expect(answer.thrown).toBeInstanceOf(Error);
  });

  it('fails on the error of a job that no transition takes, and keeps its code', () => {
    const begun = after(player, begin(player), { type: 'power' }, { type: 'play' });
    const answer = step(
      player,
      begun,
      failed('fetch', job(begun, 'fetch'), { code: 'UNAVAILABLE', message: 'off' }, meta),
      1000,
    );
    expect(answer).toMatchObject({
      live: begun,
      outcome: 'failed',
      error: { code: 'UNAVAILABLE' },
    });
  });

  it('fails in an endless loop of transitions instead of holding the worker', () => {
    expect(send(maze, begin(maze), { type: 'loop' }).error?.message).toContain('Infinite loop');
  });

  it('is not born when its first state can not be made, or its context can not be stored', () => {
    const thrower = setup({}).createMachine({
      id: 'm',
      context: () => {
        throw new Error('no name');
      },
    });
    expect(() => born(thrower, input, meta)).toThrow(/m can not begin: no name/);
    const dated = setup({}).createMachine({ id: 'm', context: { at: { day: new Date(0) } } });
    expect(() => born(dated, input, meta)).toThrow(/context\.at\.day is a Date/);
  });

  const impure = setup({
    types: {} as {
      context: { child: unknown };
      events: { type: 'spawn' | 'assign' | 'self' | 'log' | 'stop' | 'own' | 'send' };
    },
    actors: { work: effect<number, null>() },
    actions: { ...hostActions, own: () => {} },
  }).createMachine({
    id: 'm',
    context: { child: null },
    invoke: { id: 'w', src: 'work', input: null },
    on: {
      spawn: { actions: spawnChild('work', { id: 'x', input: null }) },
      assign: {
        actions: assign({ child: ({ spawn }) => spawn('work', { id: 'x', input: null }) }),
      },
      self: { actions: assign({ child: ({ self }) => self.send({ type: 'log' }) }) },
      log: { actions: log('hello') },
      stop: { actions: enqueueActions(({ enqueue }) => enqueue.stopChild('w')) },
      own: { actions: 'own' },
      send: { actions: sendTo(({ self }) => self, { type: 'log' }) },
    },
  });
  it.each(['spawn', 'assign', 'self', 'log', 'stop', 'own', 'send'])(
    'fails when it reaches past its host by %s',
    (type) => {
      const live = begin(impure);
      expect(send(impure, live, { type })).toMatchObject({
        outcome: 'failed',
        live,
        asks: [],
        error: { code: 'INTERNAL' },
      });
    },
  );

  it('meets no trace of a failed step in the next one', () => {
    const live = begin(impure);
    send(impure, live, { type: 'own' });
    expect(send(impure, live, { type: 'nothing' })).toEqual({ live, asks: [], outcome: 'ignored' });
  });
});

describe('a stored machine', () => {
  it('goes on where it was, with its history, in memory and after a restart alike', () => {
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
    const { asks } = send(player, live, { type: 'power' });
    expect(asks.map((ask) => ask.kind).sort()).toEqual(['cancel', 'stop']);
  });

  it('that no machine can have is refused', () => {
    const row = save(begin(order));
    expect(() => load(order, { ...row, snap: { ...row.snap, v: 'gone' } })).toThrow(
      /order can not go on/,
    );
    const past = { ...row.snap, h: { 'order.gone': ['order.waiting', 'order.lost'] } };
    expect(() => load(order, { ...row, snap: past })).toThrow(/no state 'order.lost'/);
  });
});

describe('deferral', () => {
  it('holds events while an active state wants them to wait, by name or by prefix', () => {
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
