/** The view of `troupe cluster`, built from heartbeats. */
import { describe, expect, it } from 'vitest';
import { render, viewOf } from '../../../cli/cluster/cluster-view.ts';
import type { Heartbeat } from '../../../runtime/cluster/heartbeat.ts';
import type { ShardStatus } from '../../../runtime/index.ts';

const shard = (number: number, more: Partial<ShardStatus> = {}): ShardStatus => ({
  shard: number,
  state: 'owned',
  epoch: 1,
  position: 10,
  turnNo: 5,
  mailFloor: 3,
  ctlFloor: 0,
  lag: 0,
  now: 1_000,
  residents: 2,
  ...more,
});

const heartbeat = (name: string, more: Partial<Heartbeat> = {}): Heartbeat => ({
  node: `${name}-1`,
  name,
  role: 'worker',
  seq: 1,
  startedAtMs: 0,
  version: '0.1.0',
  weight: 1,
  draining: false,
  leaving: false,
  types: ['session@1'],
  load: { cpu: 0.5, eventLoop: 0.25, effects: 3, rssBytes: 140e6, turnsPerSecond: 12.4 },
  shards: [],
  ...more,
});

const cell = { env: 'main', cell: 'c0ffee', shards: 3 };
const heard = (...heartbeats: Heartbeat[]) =>
  heartbeats.map((one) => ({ heartbeat: one, ageMs: 100 }));

describe('the view of a cluster', () => {
  it('shows the later owner of a shard that two claim, and shards without an owner', () => {
    const view = viewOf(
      cell,
      heard(
        heartbeat('b', { shards: [shard(0, { epoch: 7 }), shard(1)] }),
        heartbeat('a', { shards: [shard(0, { epoch: 6 })] }),
      ),
    );
    expect(view.shards.map(({ owner, state, epoch }) => [owner, state, epoch])).toEqual([
      ['b', 'owned', 7],
      ['b', 'owned', 1],
      [undefined, 'unowned', undefined],
    ]);
    expect(view.nodes.map(({ name, shards }) => [name, shards])).toEqual([
      ['a', 1],
      ['b', 2],
    ]);
  });

  it('shows workers, gateways, pending messages and shards with a problem, or every shard', () => {
    const view = viewOf(
      cell,
      heard(
        heartbeat('g1', { role: 'gateway' }),
        heartbeat('w1', { shards: [shard(0, { lag: 4 }), shard(1, { lag: 2 })], draining: true }),
        heartbeat('w2', { shards: [shard(2, { state: 'quarantined', why: 'a damaged record' })] }),
      ),
    );
    const text = render(view, 65_000);
    expect(text).toContain('cluster main: 2 workers, 1 gateway, 3 shards (cell c0ffee)');
    expect(text).toContain('shards: 2 owned, 1 quarantined; pending messages: 6');
    expect(text).toMatch(/^w1 +draining +2 +1 +0\.50 +25 % +3 +12 +140 MB +1 min +0\.1\.0$/m);
    expect(text).toMatch(/^g1 +0\.50 +25 % +140 MB +1 min +0\.1\.0$/m);
    expect(text).toMatch(/^2 +quarantined +w2 .* a damaged record$/m);
    expect(text).not.toMatch(/^0 +owned/m);
    const all = render(view, 65_000, { all: true });
    expect(all).toMatch(/^0 +owned +w1 +1 +10 +5 +4 +2$/m);
    expect(all).toMatch(/^2 +quarantined +w2 .* a damaged record$/m);
  });

  it('says of how many shards no owner has counted the messages yet', () => {
    const loading = shard(1, { state: 'loading', lagUnknown: true });
    const view = viewOf(cell, heard(heartbeat('w1', { shards: [shard(0, { lag: 4 }), loading] })));
    const text = render(view, 0, { all: true });
    expect(text).toContain('pending messages: 4, not counted yet in 2 shards');
    expect(text).toMatch(/^1 +loading +w1 +1 +10 +5 +unknown +/m);
    expect(text).toMatch(/^2 +unowned +unknown/m);
  });

  it('shows which worker has a copy of a shard, and how far the copies are behind', () => {
    const view = viewOf(
      cell,
      heard(
        heartbeat('w1', { shards: [shard(0)], copies: [{ shard: 1, position: 7, lag: 3 }] }),
        heartbeat('w2', { shards: [shard(1)], copies: [{ shard: 0, position: 10, lag: 0 }] }),
      ),
    );
    const text = render(view, 65_000, { all: true });
    expect(text).toContain('; with a warm copy: 2, 3 records behind');
    expect(text).toMatch(/^0 +owned +w1 .* w2$/m);
    expect(text).toMatch(/^1 +owned +w2 .* w1 \(3 behind\)$/m);
  });

  it('shows a cluster without processes', () => {
    const text = render(viewOf(cell, []), 0);
    expect(text).toContain('0 workers, 0 gateways, 3 shards');
    expect(text).toContain('shards: 3 unowned');
  });
});
