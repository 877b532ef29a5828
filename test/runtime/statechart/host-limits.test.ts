import { describe, expect, it } from 'vitest';
import { assign, enqueueActions, log, raise, sendTo, setup, spawnChild } from 'xstate';
import { effect, hostActions } from '../../../protocols/statechart.ts';
import { initialState, failed, fired, step } from '../../../runtime/statechart/host.ts';
import { after, begin, job, send } from './driving.ts';
import { input, maze, meta, player } from './machines.ts';

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
    const { live, requests } = initialState(withDelay(delay), input, meta);
    expect(requests).toEqual([{ kind: 'timer', id: 'xstate.after.soon.m.a', key: '0.0', due }]);
    expect(live.snapshot.value).toBe('a');
  });

  it.each([undefined, '10', null])(
    'of the delay %j fails the step instead of firing at once',
    (delay) => {
      expect(() => initialState(withDelay(delay), input, meta)).toThrow(
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
    expect(first).toMatchObject({ outcome: 'unchanged', requests: [] });
    expect(first.live.timers['xstate.after.soon.m.a']).toMatchObject({ fired: true });
    expect(step(machine, first.live, cause, 1005).outcome).toBe('stale');
  });

  it('that is armed again under its id replaces the previous one', () => {
    const machine = setup({
      types: { events: {} as { type: 'again' } | { type: 'ring' } },
      delays: { soon: 5 },
    }).createMachine({
      id: 'm',
      on: { again: { actions: raise({ type: 'ring' }, { id: 'bell', delay: 'soon' }) } },
    });
    const once = after(machine, begin(machine), { type: 'again' });
    const twice = send(machine, once, { type: 'again' }, 1003);
    expect(twice.requests).toEqual([
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
  it('keeps the previous state and reports state, event and reason', () => {
    const live = begin(maze);
    const answer = send(maze, live, { type: 'fail' });
    expect(answer).toMatchObject({ outcome: 'failed', requests: [], error: { code: 'INTERNAL' } });
    expect(answer.live).toBe(live);
    expect(answer.error?.message).toBe('maze in "hall" on fail: the wall is hard');
    expect(answer.thrown).toBeInstanceOf(Error);
  });

  it('fails on the error of a job that no transition handles, and keeps its code', () => {
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

  it('fails in an endless loop of transitions instead of blocking the worker', () => {
    expect(send(maze, begin(maze), { type: 'loop' }).error?.message).toContain('Infinite loop');
  });

  it('is not created when its first state fails, or its context cannot be stored', () => {
    const thrower = setup({}).createMachine({
      id: 'm',
      context: () => {
        throw new Error('no name');
      },
    });
    expect(() => initialState(thrower, input, meta)).toThrow(/m cannot begin: no name/);
    const dated = setup({}).createMachine({ id: 'm', context: { at: { day: new Date(0) } } });
    expect(() => initialState(dated, input, meta)).toThrow(/context\.at\.day is a Date/);
  });

  const impure = setup({
    types: {
      context: {} as { child: unknown },
      events: {} as { type: 'spawn' | 'assign' | 'self' | 'log' | 'stop' | 'own' | 'send' },
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
    'fails when it bypasses its host by %s',
    (type) => {
      const live = begin(impure);
      expect(send(impure, live, { type })).toMatchObject({
        outcome: 'failed',
        live,
        requests: [],
        error: { code: 'INTERNAL' },
      });
    },
  );

  it('executes the next step without traces of the failed one', () => {
    const live = begin(impure);
    send(impure, live, { type: 'own' });
    expect(send(impure, live, { type: 'nothing' })).toEqual({
      live,
      requests: [],
      outcome: 'ignored',
    });
  });
});
