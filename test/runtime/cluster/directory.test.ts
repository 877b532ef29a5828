import { beforeEach, describe, expect, it } from 'vitest';
import type { Heartbeat } from '../../../runtime/cluster/heartbeat.ts';
import { Directory } from '../../../runtime/cluster/directory.ts';
import { Members } from '../../../runtime/cluster/members.ts';
import type { ShardStatus } from '../../../runtime/system.ts';
import { SimProcess } from '../../../library/simulation/process.ts';
import { Random } from '../../../library/simulation/random.ts';
import { VirtualClock } from '../../../library/simulation/virtual-clock.ts';
import { Link, SimNetwork } from './sim-network.ts';

const claim = (
  shard: number,
  state: ShardStatus['state'],
  epoch: number,
  lag = 0,
): ShardStatus => ({
  shard,
  state,
  epoch,
  lag,
  position: 0,
  turnNo: 0,
  mailFloor: 0,
  ctlFloor: 0,
  now: 0,
  residents: 0,
});

const heartbeat = (node: string, shards: readonly ShardStatus[]): Omit<Heartbeat, 'seq'> => ({
  node,
  name: node,
  role: 'worker',
  startedAtMs: 0,
  version: '1',
  weight: 1,
  draining: false,
  leaving: false,
  types: [],
  load: { cpu: 0, eventLoop: 0, effects: 0, rssBytes: 0, turnsPerSecond: 0 },
  shards,
});

describe('the directory', () => {
  let clock: VirtualClock;
  let network: SimNetwork;
  let own: ShardStatus[];
  let directory: Directory;

  const join = (node: string, shards: () => readonly ShardStatus[]) => {
    const process = new SimProcess(node, clock, 0);
    const bus = new Link(network, process);
    const options = { bus, clock: process.clock, self: () => heartbeat(node, shards()) };
    const members = new Members(options);
    members.start();
    return { members, process };
  };
  const after = (ms: number) => clock.run(clock.monotonicMs() + ms);

  beforeEach(() => {
    clock = new VirtualClock();
    network = new SimNetwork(clock, new Random(1));
    own = [];
    directory = new Directory(join('me', () => own).members, 'me', () => own);
  });

  it('accepts the claim with the highest epoch where two claim one shard', async () => {
    join('a', () => [claim(0, 'owned', 7)]);
    join('b', () => [claim(0, 'owned', 9)]);
    join('c', () => [claim(0, 'owned', 8)]);
    await after(1_000);
    expect(directory.ownerOf(0)).toMatchObject({ node: 'b', status: { epoch: 9 } });
    expect(directory.all()).toHaveLength(1);
    expect(directory.all()[0]).toMatchObject({ shard: 0, node: 'b' });
  });

  it('ignores claims older than a known epoch', async () => {
    join('former', () => [claim(0, 'owned', 7)]);
    const { process } = join('owner', () => [claim(0, 'owned', 9)]);
    await after(1_000);
    process.kill();
    await after(1_000);
    expect(directory.ownerOf(0)).toBeUndefined();
    expect(directory.epochOf(0)).toBe(9);
  });

  it('rejects an old claim by its own epoch, also after it lost the shard', async () => {
    join('former', () => [claim(0, 'owned', 7)]);
    await after(1_000);
    expect(directory.ownerOf(0)?.node).toBe('former');
    own = [claim(0, 'owned', 9)];
    await after(1_000);
    expect(directory.ownerOf(0)?.node).toBe('me');
    own = [];
    await after(1_000);
    expect(directory.ownerOf(0)).toBeUndefined();
  });

  it('knows at once which shards this process owns and has handed over', () => {
    own = [claim(3, 'owned', 5)];
    expect(directory.ownerOf(3)).toMatchObject({ node: 'me', status: { epoch: 5 } });
    own = [claim(3, 'stopped', 5)];
    expect(directory.ownerOf(3)).toBeUndefined();
  });

  it('prefers an owner to one that loads, and that one to one that gave up', async () => {
    const claims = { a: claim(0, 'quarantined', 0), b: claim(0, 'loading', 0) };
    let third = claim(0, 'lost', 0);
    join('a', () => [claims.a]);
    await after(500);
    expect(directory.ownerOf(0)?.node).toBe('a');
    join('b', () => [claims.b]);
    join('c', () => [third]);
    await after(500);
    expect(directory.ownerOf(0)?.node).toBe('b');
    third = claim(0, 'owned', 1);
    await after(500);
    expect(directory.ownerOf(0)?.node).toBe('c');
  });

  it('updates the figures of a shard while its owner stays the same', async () => {
    let lag = 1;
    join('a', () => [claim(0, 'owned', 7, lag)]);
    await after(1_000);
    expect(directory.ownerOf(0)?.status.lag).toBe(1);
    lag = 2;
    await after(1_000);
    expect(directory.ownerOf(0)?.status.lag).toBe(2);
  });

  it('notifies of a new owner, and not of every heartbeat', async () => {
    const shards = [claim(0, 'owned', 7)];
    let changes = 0;
    directory.onChange(() => void changes++);
    join('a', () => [...shards]);
    await after(2_000);
    expect(changes).toBe(1);
    shards.push(claim(1, 'owned', 8));
    await after(2_000);
    expect(changes).toBe(2);
  });

  it('removes the shards of a node that dies', async () => {
    const { process } = join('a', () => [claim(0, 'owned', 7)]);
    await after(1_000);
    process.kill();
    await after(1_000);
    expect(directory.ownerOf(0)).toBeUndefined();
    expect(directory.all()).toEqual([]);
  });
});
