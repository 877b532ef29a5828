/**
 * Which effects still run when a new owner takes over (G2, G4), queried over a bus that loses
 * messages.
 */
import { beforeEach, expect, it } from 'vitest';
import { RunningEffects } from '../../../runtime/cluster/running-effects.ts';
import { Random } from '../../../library/simulation/random.ts';
import { SimBus } from '../../../library/simulation/sim-bus.ts';
import { VirtualClock } from '../../../library/simulation/virtual-clock.ts';

let clock: VirtualClock;
let bus: SimBus;
let alive: Set<string>;

type Node = {
  readonly runners: RunningEffects;
  readonly runs: Set<string>;
  readonly aborted: string[];
};

const openNode = (node: string): Node => {
  alive.add(node);
  const runs = new Set<string>();
  const aborted: string[] = [];
  const runners = new RunningEffects({
    bus,
    clock,
    node,
    others: () => [...alive].filter((other) => other !== node),
    isRunning: (id) => runs.has(id),
    run: () => false,
    abort: (id) => aborted.push(id),
  });
  return { runners, runs, aborted };
};

beforeEach(() => {
  clock = new VirtualClock();
  bus = new SimBus(clock, new Random(7));
  alive = new Set();
});

const adopt = (node: Node, ids: readonly string[]) => {
  const orphaned: string[] = [];
  const stop = node.runners.adopt(ids, (id) => orphaned.push(id));
  return { orphaned, stop };
};

it('reports everything to a node that is alone, each id once', async () => {
  const a = openNode('a');
  const { orphaned } = adopt(a, ['1', '2', '3']);
  await clock.run(60_000);
  expect(orphaned).toEqual(['1', '2', '3']);
});

it('keeps an effect that another node runs, until that node has ended it', async () => {
  const [a, b] = [openNode('a'), openNode('b')];
  b.runs.add('2');
  const { orphaned } = adopt(a, ['1', '2']);
  await clock.run(30_000);
  expect(orphaned).toEqual(['1']);
  b.runs.delete('2');
  await clock.run(60_000);
  expect(orphaned).toEqual(['1', '2']);
});

it('reports the effects of a dead node', async () => {
  const [a, b] = [openNode('a'), openNode('b')];
  b.runs.add('1');
  const { orphaned } = adopt(a, ['1']);
  await clock.run(10_000);
  expect(orphaned).toEqual([]);
  b.runners.close();
  alive.delete('b');
  await clock.run(11_000);
  expect(orphaned).toEqual(['1']);
});

it('waits a bounded time for a node that is alive and silent', async () => {
  const a = openNode('a');
  alive.add('frozen');
  const { orphaned } = adopt(a, ['1']);
  await clock.run(1_500);
  expect(orphaned).toEqual([]);
  await clock.run(5_000);
  expect(orphaned).toEqual(['1']);
});

it('draws no wrong conclusion from lost or duplicate messages', async () => {
  bus.faults = { lost: 0.3, doubled: 0.3 };
  const [a, b] = [openNode('a'), openNode('b')];
  const mine = Array.from({ length: 50 }, (_, i) => `run-${i}`);
  const { orphaned } = adopt(a, ['gone', ...mine]);
  for (const id of mine) b.runs.add(id);
  await clock.run(1_900);
  expect(orphaned.filter((id) => id !== 'gone')).toEqual([]);
  for (const id of mine) b.runs.delete(id);
  await clock.run(60_000);
  expect(new Set(orphaned)).toEqual(new Set(['gone', ...mine]));
  expect(orphaned).toHaveLength(51);
});

it('sends no further requests after the owner has stopped', async () => {
  const a = openNode('a');
  const { orphaned, stop } = adopt(a, ['1']);
  stop();
  await clock.run(60_000);
  expect(orphaned).toEqual([]);
});

it('notifies every other node that an outcome is no longer needed', async () => {
  const [a, b] = [openNode('a'), openNode('b')];
  a.runners.abortElsewhere('1');
  await clock.run(1_000);
  expect(b.aborted).toEqual(['1']);
});
