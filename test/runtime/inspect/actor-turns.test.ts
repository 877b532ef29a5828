/** What `troupe actors watch` shows of an actor, from the journal of a real store. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { assign, setup } from 'xstate';
import { type ActorTurn, turnsOf } from '../../../runtime/inspect/actor-turns.ts';
import { address } from '../../../protocols/address.ts';
import {
  type ActorInput,
  type Delivered,
  effect,
  hostActions,
  type Message,
} from '../../../protocols/statechart.ts';
import { createSystem, defineActor, openEmbedded } from '../../../runtime/index.ts';
import { MemoryState } from '../../../runtime/state/memory.ts';
import { eventually } from '../eventually.ts';

const lamp = address('t', 'lamp', 'desk');
const bell = address('t', 'lamp', 'bell');

/** Off, or warming up (an effect) and then lit until a timer puts it out. */
const lampMachine = setup({
  types: {
    context: {} as { rings: number },
    events: {} as Delivered<Message>,
    input: {} as ActorInput,
  },
  actors: { heat: effect<string, null>() },
  actions: { ...hostActions, countRing: assign({ rings: ({ context }) => context.rings + 1 }) },
  delays: { while: 20 },
}).createMachine({
  id: 'lamp',
  context: { rings: 0 },
  initial: 'off',
  states: {
    off: { on: { press: 'warming', ring: { actions: 'countRing' } } },
    warming: {
      meta: { defer: ['ring'] },
      invoke: { id: 'heat', src: 'heat', input: () => null, onDone: 'lit' },
    },
    lit: {
      after: {
        while: {
          target: 'off',
          actions: { type: 'tell', params: { to: bell, event: { type: 'ring' } } },
        },
      },
      on: { ring: { actions: 'countRing' } },
    },
  },
});

it('shows messages, those that waited, outcomes and timers, with the state after each', async () => {
  const path = mkdtempSync(join(tmpdir(), 'troupe-turns-'));
  const ports = await openEmbedded({ path });
  let warm: () => void = () => {};
  const heat = {
    class: 'repeatable' as const,
    run: () => new Promise<string>((resolve) => (warm = () => resolve('warm'))),
  };
  const actors = [
    defineActor({ type: 'lamp', version: 1, machine: lampMachine, effects: { heat } }),
  ];
  const system = await createSystem({ ...ports, actors, shards: 1 });
  const ended = new AbortController();
  onTestFinished(async () => {
    ended.abort();
    await system.stop();
    rmSync(path, { recursive: true, force: true });
  });
  const ada = { principal: { sub: 'ada', roles: ['user'] } };
  await system.tell(lamp, { type: 'ring' }, ada);
  await eventually(() => expect(system.inspect(lamp)).toBeDefined());

  const shown: ActorTurn[] = [];
  const watching = (async () => {
    // As in a cluster: separate rows, folded from the journal.
    const store = { ...ports.store, state: new MemoryState() };
    const where = { store, blobs: ports.blobs, env: 'local', shards: 1 };
    for await (const turn of turnsOf(lamp, where, ended.signal)) shown.push(turn);
  })();
  // What comes before the watcher has begun is history: knock until it is seen.
  await eventually(async () => {
    await system.tell(lamp, { type: 'ring' }, ada);
    expect(shown.length).toBeGreaterThan(0);
  });
  await system.tell(lamp, { type: 'press' }, ada);
  await system.tell(lamp, { type: 'ring' }, ada);
  await eventually(() => expect(shown.at(-1)?.result).toBe('stashed'));
  warm();
  await eventually(() => expect(shown.at(-1)?.sent).toHaveLength(1));
  ended.abort();
  await watching;

  const last = shown.slice(shown.findIndex(({ input }) => input === 'press'));
  expect(last.map(({ input, from, result, state }) => [input, from, result, state])).toEqual([
    ['press', 'ada', 'applied', 'warming'],
    ['ring', 'ada', 'stashed', 'warming'],
    ['outcome of heat: done', undefined, 'applied', 'lit'],
    ['ring', 'ada', 'applied', 'lit'],
    [expect.stringMatching(/^timer /), undefined, 'applied', 'off'],
  ]);
  expect(last.at(-1)?.sent).toEqual([{ to: bell, type: 'ring' }]);
  expect(shown.map(({ turn }) => turn)).toEqual(shown.map(({ turn }) => turn).toSorted(byNumber));
});

const byNumber = (a: number, b: number) => a - b;
