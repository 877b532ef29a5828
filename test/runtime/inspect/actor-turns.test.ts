/** The turns that `troupe actors watch` shows of an actor, from the journal of a real store. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { assign, setup } from 'xstate';
import type { ActorTurn } from '../../../protocols/actor-view.ts';
import { address } from '../../../protocols/address.ts';
import {
  type ActorInput,
  type Delivered,
  effect,
  hostActions,
  type Message,
} from '../../../protocols/statechart.ts';
import { createSystem, defineActor, openEmbedded } from '../../../runtime/index.ts';
import { eventually } from '../eventually.ts';

const lamp = address('t', 'lamp', 'desk');
const bell = address('t', 'lamp', 'bell');

/** A lamp: off, warming up (an effect), or lit until a timer turns it off. */
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

it('shows messages, stashed messages, outcomes and timers, with the transitions of each', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-turns-'));
  const ports = await openEmbedded({ path: folder });
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
    rmSync(folder, { recursive: true, force: true });
  });
  const ada = { principal: { sub: 'ada', roles: ['user'] } };
  await system.tell(lamp, { type: 'ring' }, ada);
  await eventually(() => expect(system.inspect(lamp)).toBeDefined());

  const shown: ActorTurn[] = [];
  const turns = await system.actors.turns(lamp, ended.signal);
  await system.tell(lamp, { type: 'press' }, ada);
  // Committed before the stream is read, so it is part of the stream.
  await eventually(() => expect(system.inspect(lamp)?.value).toBe('warming'));
  const watching = (async () => {
    for await (const turn of turns) shown.push(turn);
  })();
  await system.tell(lamp, { type: 'ring' }, ada);
  await eventually(() => expect(shown.at(-1)?.result).toBe('stashed'));
  warm();
  await eventually(() => expect(shown.at(-1)?.sent).toHaveLength(1));
  ended.abort();
  await watching;

  expect(
    shown.map(({ input, from, result, before, path, opened, ended: over }) => [
      input,
      from,
      result,
      before,
      path,
      opened,
      over,
    ]),
  ).toEqual([
    ['press', 'ada', 'applied', 'off', ['warming'], ['heat'], []],
    ['ring', 'ada', 'stashed', 'warming', undefined, [], []],
    ['outcome of heat: done', undefined, 'applied', 'warming', ['lit'], [], ['heat']],
    ['ring', 'ada', 'applied', 'lit', ['lit'], [], []],
    ['timer while', undefined, 'applied', 'lit', ['off'], [], []],
  ]);
  expect(shown.map(({ state }) => state)).toEqual(['warming', 'warming', 'lit', 'lit', 'off']);
  expect(shown.at(-1)?.sent).toEqual([{ to: bell, type: 'ring' }]);
  expect(shown.map(({ turn }) => turn)).toEqual(shown.map(({ turn }) => turn).toSorted(byNumber));
});

const byNumber = (a: number, b: number) => a - b;
