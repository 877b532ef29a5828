/**
 * Several nodes on one log: owners of shards, hand-overs, reads on a gateway, effects that move.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { System } from '../../../runtime/index.ts';
import { eventually } from '../eventually.ts';
import type { Hands } from '../system/puppet.ts';
import { ask, ClusterWorld, known, puppet } from './world.ts';

let world: ClusterWorld;
beforeEach(() => {
  world = new ClusterWorld();
});
afterEach(() => world.close());

const owners = (system: System) => new Set(system.status().map(({ node }) => node));
const heldBy = (system: System, name: string) =>
  system.status().filter(({ node, state }) => node?.startsWith(`${name}-`) && state === 'owned')
    .length;
const allOwned = (system: System) =>
  eventually(() => {
    const states = system.status().map(({ state }) => state);
    expect(states).toEqual(Array.from({ length: 8 }, () => 'owned'));
  });

it('assigns every shard to one worker, and a gateway knows which', async () => {
  const [a] = await Promise.all([world.worker('a'), world.worker('b'), world.gateway('g')]);
  const gateway = world.nodes.get('g')!;
  await allOwned(gateway);
  await eventually(() => expect(owners(gateway).size).toBe(2));
  expect(
    gateway
      .nodes()
      .map(({ name }) => name)
      .sort(),
  ).toEqual(['a', 'b', 'g']);
  expect(a.nodes()).toHaveLength(3);
});

it('carries messages from a gateway to actors on any worker, once each, in order', async () => {
  await Promise.all([world.worker('a'), world.worker('b')]);
  const gateway = await world.gateway('g');
  for (let i = 0; i < 40; i++)
    expect(await ask(gateway, puppet(`p${i % 10}`), { type: 'do', n: i })).toMatchObject({
      kind: 'answered',
    });
  for (let p = 0; p < 10; p++)
    expect(known(gateway, puppet(`p${p}`)).seen).toEqual([0, 10, 20, 30].map((n) => `do:${n + p}`));
});

it('a caller on the gateway reads its own write at once', async () => {
  await world.worker('a');
  const gateway = await world.gateway('g');
  for (let i = 0; i < 50; i++) {
    const value = { n: i };
    await ask(gateway, puppet('p'), { type: 'do', projects: { index: 'things', key: 'k', value } });
    expect(gateway.index.get('things', 't', 'k')).toEqual(value);
  }
});

it('moves shards to a worker that joins and back when it drains, under load, without losing or repeating a message', async () => {
  await world.worker('a');
  const gateway = await world.gateway('g');
  const sent: number[] = [];
  let isOver = false;
  const load = (async () => {
    for (let i = 0; !isOver; i++) {
      const answer = await ask(gateway, puppet(`p${i % 16}`), { type: 'do', n: i });
      expect(answer.kind).toBe('answered');
      sent.push(i);
    }
  })();
  const b = await world.worker('b');
  await eventually(() => expect(heldBy(gateway, 'b')).toBeGreaterThan(1));
  expect(heldBy(b, 'a') + heldBy(b, 'b')).toBe(8);
  await world.stop('a');
  await eventually(() => expect(heldBy(gateway, 'b')).toBe(8));
  isOver = true;
  await load;
  for (let p = 0; p < 16; p++)
    expect(known(gateway, puppet(`p${p}`)).seen).toEqual(
      sent.filter((i) => i % 16 === p).map((i) => `do:${i}`),
    );
});

it('lets an effect on a worker read rows of actors that other workers own', async () => {
  const services: Hands = {
    run: async (_, context) => (await context.index()).list('things', 't'),
  };
  await Promise.all([world.worker('a', { services }), world.worker('b', { services })]);
  const gateway = await world.gateway('g');
  for (let i = 0; i < 16; i++) {
    const projects = { index: 'things', key: `k${i}`, value: i };
    await ask(gateway, puppet(`p${i}`), { type: 'do', projects });
  }
  for (const key of ['p0', 'p1', 'p2', 'p3']) {
    await ask(gateway, puppet(key), { type: 'work', input: null });
    await eventually(() => {
      const [outcome] = known(gateway, puppet(key)).received as readonly { output?: unknown }[];
      expect(outcome?.output).toHaveLength(16);
    });
  }
});
