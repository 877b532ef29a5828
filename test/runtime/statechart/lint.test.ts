import { describe, expect, it } from 'vitest';
import {
  type AnyStateMachine,
  and,
  assign,
  createMachine,
  emit,
  enqueueActions,
  fromCallback,
  fromPromise,
  log,
  not,
  raise,
  sendParent,
  sendTo,
  setup,
  spawnChild,
  stopChild,
} from 'xstate';
import { effect, hostActions } from '../../../protocols/statechart.ts';
import { boundLoops, lintMachine, MAX_ITERATIONS } from '../../../runtime/statechart/lint.ts';
import { maze, order, player } from './machines.ts';

const lint = (machine: AnyStateMachine, effects: string[] = ['work']) =>
  lintMachine(machine, { effects }).map(({ state, message }) => `${state}: ${message}`);

/** A machine in plain JavaScript, whose names TypeScript does not check. */
const loose = (
  state: Record<string, unknown>,
  more: Record<string, unknown> = {},
  implementations: object = {},
) =>
  createMachine(
    { id: 'm', initial: 'a', ...more, states: { a: state, b: {} } } as never,
    implementations as never,
  );

describe('lint', () => {
  it('finds no fault in the charts of these tests', () => {
    expect(lint(order, ['charge', 'pack'])).toEqual([]);
    expect(lint(player, ['fetch'])).toEqual([]);
    expect(lint(maze, ['scout'])).toEqual([]);
  });

  const work = { actors: { work: effect<null, null>() } };
  it.each<[string, AnyStateMachine, RegExp]>([
    [
      'an action that does not exist',
      loose({ entry: 'typo' }),
      /m\.a: the action 'typo' does not exist/,
    ],
    [
      'an action of a transition that does not exist',
      loose({ on: { go: { actions: 'typo' } } }),
      /m\.a: the action 'typo'/,
    ],
    [
      'an action of an initial transition',
      loose({ initial: { target: 'x', actions: 'typo' }, states: { x: {} } }),
      /m\.a: the action 'typo'/,
    ],
    [
      'an inline action',
      loose({ exit: () => {} }),
      /m\.a: an inline action is a function that a host never runs/,
    ],
    [
      'a custom action',
      loose({ entry: 'own' }, {}, { actions: { own: () => {} } }),
      /m\.a: the action 'own' is a function/,
    ],
    [
      'a host action without params',
      loose({ entry: 'tell' }, {}, { actions: hostActions }),
      /m\.a: the action 'tell' needs params/,
    ],
    [
      'an own action by a name of the host',
      loose({ entry: { type: 'tell', params: {} } }, {}, { actions: { tell: assign({}) } }),
      /'tell' belongs to the host/,
    ],
    [
      'sendTo',
      loose({ entry: sendTo('x', { type: 'y' }) }),
      /m\.a: an inline action: .*use the action tell/,
    ],
    ['sendParent', loose({ entry: sendParent({ type: 'y' }) }), /m\.a: .*(tell)/],
    ['emit', loose({ entry: emit({ type: 'y' }) }), /m\.a: .*use the action publish/],
    ['log', loose({ entry: log('y') }), /m\.a: .*does not log/],
    ['spawnChild', loose({ entry: spawnChild('work') }, {}, work), /m\.a: .*invoke an effect/],
    ['stopChild', loose({ entry: stopChild('work') }, {}, work), /m\.a: .*leave the state/],
    [
      'a spawn inside assign',
      loose({ entry: assign({ kid: ({ spawn }) => spawn('work') }) }, {}, work),
      /m\.a: .*live reference/,
    ],
    [
      'a spawn inside a whole assign',
      loose({ entry: assign(({ spawn }) => ({ kid: spawn('work') })) }, {}, work),
      /live reference/,
    ],
    [
      'a spawn inside the context',
      loose(
        {},
        { context: ({ spawn }: { spawn: (src: string) => unknown }) => ({ kid: spawn('work') }) },
        work,
      ),
      /m: it spawns/,
    ],
    [
      'a spawn inside enqueueActions',
      loose({ entry: enqueueActions(({ enqueue }) => enqueue.spawnChild('work')) }, {}, work),
      /m\.a: .*spawns/,
    ],
    [
      'a guard that does not exist',
      loose({ on: { go: { guard: 'typo', target: 'b' } } }),
      /m\.a: the guard 'typo' does not exist/,
    ],
    [
      'a guard inside and()',
      loose({ always: { guard: and(['typo', not('other')]), target: 'b' } }),
      /'typo'.*\n.*'other'/,
    ],
    [
      'a guard inside a named guard',
      loose({ on: { go: { guard: 'both' } } }, {}, { guards: { both: and(['typo']) } }),
      /m\.a: the guard 'typo'/,
    ],
    [
      'an inline guard',
      loose({ on: { go: { guard: () => true, target: 'b' } } }),
      /m\.a: an inline guard/,
    ],
    [
      'a delay of after that does not exist',
      loose({ after: { typo: 'b' } }),
      /m\.a: the delay 'typo' does not exist and would fire at once/,
    ],
    [
      'a delay of raise that does not exist',
      loose({ entry: raise({ type: 'x' }, { delay: 'typo' as never }) }),
      /m\.a: the delay 'typo'/,
    ],
    [
      'an inline delay',
      loose({ entry: raise({ type: 'x' }, { delay: () => 5 }) }),
      /m\.a: .*name it in setup\(\{ delays \}\)/,
    ],
    ['a negative delay', loose({ after: { '-5': 'b' } }), /m\.a: a delay of -5 ms/],
    [
      'a delay that is no number',
      loose({}, {}, { delays: { soon: '10' } }),
      /m: the delay 'soon' is "10"/,
    ],
    [
      'an actor that does not exist',
      loose({ invoke: { id: 'w', src: 'typo' } }),
      /m\.a: invoke 'w': the actor 'typo' does not exist/,
    ],
    [
      'an inline actor',
      loose({ invoke: { id: 'w', src: fromPromise(async () => 1) } }),
      /m\.a: invoke 'w' has inline logic/,
    ],
    [
      'a promise actor',
      loose(
        { invoke: { id: 'w', src: 'work' } },
        {},
        { actors: { work: fromPromise(async () => 1) } },
      ),
      /m\.a: invoke 'w': 'work' is host work that a restart loses/,
    ],
    [
      'a callback actor',
      loose({ invoke: { id: 'w', src: 'work' } }, {}, { actors: { work: fromCallback(() => {}) } }),
      /host work/,
    ],
    [
      'a live child machine',
      loose({ invoke: { id: 'w', src: 'work' } }, {}, { actors: { work: order } }),
      /m\.a: invoke 'w': 'work' is a live child machine/,
    ],
    [
      'an effect without a definition',
      loose({ invoke: { id: 'w', src: 'other' } }, {}, { actors: { other: effect() } }),
      /m\.a: invoke 'w': the effect 'other' has no definition/,
    ],
    [
      'a systemId',
      loose({ invoke: { id: 'w', src: 'work', systemId: 's' } }, {}, work),
      /m\.a: invoke 'w': a systemId/,
    ],
    [
      'onSnapshot',
      loose({ invoke: { id: 'w', src: 'work', onSnapshot: 'b' } }, {}, work),
      /m\.a: invoke 'w': .*onSnapshot/,
    ],
    ['a route', loose({ id: 'r', route: {} }), /r: a route/],
    [
      'an invalid bound on loops',
      loose({}, { options: { maxIterations: Infinity } }),
      /m: options\.maxIterations is Infinity/,
    ],
    [
      'a context that cannot be stored',
      loose({}, { context: { at: new Map() } }),
      /m: the initial context cannot be stored: context\.at is a Map/,
    ],
    [
      'a deferral that is no list',
      loose({ meta: { defer: 'x' } }),
      /m\.a: meta\.defer must be a list/,
    ],
    ['a deferral of everything', loose({ meta: { defer: ['*'] } }), /m\.a: meta\.defer has "\*"/],
    [
      'a deferral of outcomes',
      loose({ meta: { defer: ['xstate.done.*'] } }),
      /m\.a: meta\.defer has "xstate/,
    ],
    [
      'an event that is both deferred and accepted',
      loose({ meta: { defer: ['go'] }, on: { go: 'b' } }),
      /m\.a: 'go' is deferred here and has a transition here/,
    ],
  ])('refuses %s, with the state', (_, machine, problem) => {
    expect(lint(machine).join('\n')).toMatch(problem);
  });

  it('refuses an invoke id that two states use', () => {
    const machine = setup(work).createMachine({
      id: 'm',
      initial: 'a',
      states: {
        a: { invoke: { id: 'w', src: 'work', input: null } },
        b: { invoke: { id: 'w', src: 'work', input: null } },
      },
    });
    expect(lint(machine)).toEqual([
      "m.b: the invoke id 'w' is taken by m.a: ids are unique in a machine",
    ]);
  });

  it('reports every fault at once', () => {
    const faults = lint(
      loose({ entry: ['one', 'two'], after: { typo: 'b' }, invoke: { src: 'gone' } }),
    );
    expect(faults).toHaveLength(4);
  });

  it('bounds the microsteps of a machine that sets no bound, and keeps its own', () => {
    const free = createMachine({
      id: 'm',
      initial: 'a',
      states: { a: { always: 'b' }, b: { always: 'a' } },
    });
    boundLoops(free);
    boundLoops(maze);
    expect([free.options.maxIterations, maze.options.maxIterations]).toEqual([MAX_ITERATIONS, 50]);
  });
});
