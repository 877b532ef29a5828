import { describe, expect, it } from 'vitest';
import { SimCluster, type SimNode, steadyCluster } from './sim-cluster.ts';

const ended = async (cluster: SimCluster, node: SimNode): Promise<void> => {
  let isOver = false;
  void node.stop().then(() => (isOver = true));
  for (let tries = 0; !isOver && tries < 5_000; tries++) await cluster.run(10);
  expect(isOver).toBe(true);
};

describe('workers that start', () => {
  it.each([
    [1, 64],
    [3, 64],
    [10, 64],
    [1, 1_024],
    [3, 1_024],
    [10, 1_024],
    [100, 1_024],
  ])(
    '%d together take each of %d shards once, and no shard moves afterwards',
    async (workers, shards) => {
      const cluster = new SimCluster(shards);
      const nodes = cluster.startAll(workers);
      await cluster.converge(10_000);
      await cluster.run(5_000);
      expect(cluster.misplaced()).toEqual([]);
      expect(cluster.journals.takes).toBe(shards);
      expect(nodes.every(({ hasStarted }) => hasStarted)).toBe(true);
      expect(Math.max(...nodes.map(({ host }) => host.takesAtOnceMax))).toBeLessThanOrEqual(16);
    },
    120_000,
  );

  it('take no shard before they have received the heartbeats of the others', async () => {
    const { cluster, takes } = await steadyCluster(3);
    const late = cluster.start('late');
    await cluster.run(450);
    expect(late.host.status()).toEqual([]);
    await cluster.run(550);
    expect(cluster.journals.takes).toBe(takes);
  });

  it('one after another get their shares, and shards move only to the new worker', async () => {
    const cluster = new SimCluster(64);
    for (let at = 0; at < 5; at++) {
      cluster.start(`w${at}`);
      await cluster.run(700);
    }
    await cluster.converge();
    // The first took all shards, and every later one its share: 1/2 + 1/3 + 1/4 + 1/5 of the shards
    // on average, fewer where a shard was already placed at a later one.
    expect(cluster.journals.takes - 64).toBeLessThan(1.5 * 64 * (1 / 2 + 1 / 3 + 1 / 4 + 1 / 5));
    await cluster.run(10_000);
    expect(cluster.misplaced()).toEqual([]);
  });

  it('join a running cluster: only their share moves, with short pauses', async () => {
    const { cluster, takes } = await steadyCluster(4);
    const joiner = cluster.start('joiner');
    await cluster.converge();
    await cluster.run(5_000);
    expect(cluster.journals.takes - takes).toBe(joiner.shards);
    expect(joiner.host.prepared).toHaveLength(joiner.shards);
    expect(cluster.longestGapMs).toBeLessThan(200);
  });

  it('get no shard before they are ready for it', async () => {
    const { cluster, nodes } = await steadyCluster(3);
    const joiner = cluster.start('joiner');
    joiner.host.prepare = () => Promise.reject(new Error('no room'));
    await cluster.run(10_000);
    expect(joiner.shards).toBe(0);
    expect(nodes.some((node) => node.count('move failed') > 1)).toBe(true);
    expect(cluster.longestGapMs).toBe(0);
  });

  it('own shards in proportion to their weight, and none without weight', async () => {
    const cluster = new SimCluster(1_024);
    const big = cluster.start('big', { weight: 3 });
    const small = cluster.start('small');
    const none = cluster.start('none', { weight: 0 });
    await cluster.converge();
    expect(none.shards).toBe(0);
    expect(big.shards / small.shards).toBeGreaterThan(2.3);
    expect(big.shards / small.shards).toBeLessThan(3.9);
  });

  it('return shards when their weight falls', async () => {
    const { cluster, nodes, takes } = await steadyCluster(3, 1_024);
    const before = nodes[1]!.shards;
    nodes[1]!.weight = 0.5;
    await cluster.converge();
    expect(nodes[1]!.shards).toBeLessThan(before * 0.75);
    expect(cluster.journals.takes - takes).toBe(before - nodes[1]!.shards);
  });

  it('keep their shards and take no others while they are cordoned', async () => {
    const { cluster, nodes, takes } = await steadyCluster(3);
    const [cordoned, dying] = nodes as [SimNode, SimNode];
    cordoned.isCordoned = true;
    const before = cordoned.shards;
    await cluster.run(10_000);
    expect(cordoned.shards).toBe(before);
    expect(cluster.journals.takes).toBe(takes);
    dying.process.kill();
    await cluster.run(30_000);
    expect(cordoned.shards).toBe(before);
    expect(cluster.servers()).not.toContain(undefined);
    cordoned.isCordoned = false;
    await cluster.converge();
    expect(cordoned.shards).toBeGreaterThan(before);
  });

  it('take the shards of a dead worker when all are cordoned', async () => {
    const { cluster, nodes } = await steadyCluster(2);
    for (const node of nodes) node.isCordoned = true;
    await cluster.run(2_000);
    nodes[1]!.process.kill();
    await cluster.run(20_000);
    expect(cluster.servers()).not.toContain(undefined);
  });

  it('move a shard only to workers that know its types (M1)', async () => {
    const { cluster, nodes } = await steadyCluster(2);
    const old = cluster.start('old', { types: ['invoice@1'] });
    await cluster.run(20_000);
    expect(old.shards).toBe(0);
    const young = cluster.start('young', { types: ['order@1', 'invoice@1'] });
    await cluster.run(20_000);
    expect(young.shards).toBeGreaterThan(0);
    // Nor does it take the shard over while a suitable worker starts.
    expect(old.count('took')).toBe(0);
    // A worker that parks unknown types (M2) is better than no owner.
    for (const { process } of [...nodes, young]) process.kill();
    await cluster.converge();
    expect(old.shards).toBe(64);
  });
});

describe('a worker that ends', () => {
  it('hands every shard to its next owner, which is prepared', async () => {
    const { cluster, nodes, takes } = await steadyCluster(4);
    const share = nodes[1]!.shards;
    await ended(cluster, nodes[1]!);
    expect(nodes[1]!.count('handed off')).toBe(share);
    await cluster.converge();
    await cluster.run(5_000);
    expect(cluster.journals.takes - takes).toBe(share);
    expect(cluster.longestGapMs).toBeLessThan(200);
    expect(nodes[0]!.count('left')).toBe(1);
  });

  it('releases all shards when it is the last one', async () => {
    const { cluster, nodes } = await steadyCluster(1);
    await ended(cluster, nodes[0]!);
    expect(nodes[0]!.host.status().every(({ state }) => state === 'stopped')).toBe(true);
  });

  it('hands its shards over to workers of another version when there are no others', async () => {
    const { cluster, nodes } = await steadyCluster(1);
    const next = cluster.start('next', { types: ['order@2'] });
    await cluster.run(3_000);
    await ended(cluster, nodes[0]!);
    await cluster.run(1_000);
    expect(next.shards).toBe(64);
  });

  it('continues when a successor does not respond', async () => {
    const { cluster, nodes } = await steadyCluster(3);
    nodes[1]!.process.pause();
    await cluster.run(100);
    await ended(cluster, nodes[0]!);
    await cluster.run(1_000);
    expect(nodes[2]!.shards).toBe(64);
  });

  it('can be restarted, one after another, without a gap', async () => {
    const { cluster, nodes, takes } = await steadyCluster(5);
    for (const node of nodes) {
      await ended(cluster, node);
      await cluster.run(200);
      cluster.start(node.name);
      await cluster.run(5_000);
    }
    await cluster.converge();
    // Each worker leaves and returns with its share.
    expect(cluster.journals.takes - takes).toBe(2 * 64);
    expect(cluster.longestGapMs).toBeLessThan(200);
  });
});
