/** What `GET /metrics` reports of the runtime: shards, their mail, and the load of this process. */
import type { Registry } from 'prom-client';
import { clockStatus } from '../clock/clock-watch.ts';
import type { System } from '../system.ts';
import { watchEventLoop } from './event-loop.ts';
import { addGauge } from './gauges.ts';

export type Watched = {
  /** this process among the nodes of its cluster; absent without a cluster */
  readonly node?: string | undefined;
  /** number of shards of the cell; absent without a cluster, where the status lists all */
  readonly shards?: number | undefined;
};

export function watchSystem(
  registry: Registry,
  system: Pick<System, 'status' | 'nodes'>,
  { node, shards }: Watched,
): void {
  const own = () =>
    system.status().filter((shard) => shard.node === undefined || shard.node === node);
  const count = (state: string) => own().filter((shard) => shard.state === state).length;
  const add = (name: string, help: string, read: () => number) =>
    addGauge(registry, { name, help }, read);
  add('troupe_shards_owned', 'shards that this process owns', () => count('owned'));
  add('troupe_shards_quarantined', 'quarantined shards of this process', () =>
    count('quarantined'),
  );
  add('troupe_shards_unowned', 'shards of the cell without an owner, as this process sees it', () =>
    unowned(system, shards),
  );
  add('troupe_clock_ahead_seconds', 'stored times are ahead of a clock that was set back', () => {
    return Math.max(0, ...own().map(({ clockAheadMs = 0 }) => clockAheadMs)) / 1_000;
  });
  add('troupe_clock_skew_seconds', 'this machine’s clock against the clock of the log', () => {
    return clockStatus(system.status(), Date.now()).skewMs / 1_000;
  });
  add('troupe_snapshot_overdue_seconds', 'since when a snapshot of a shard here is due', () => {
    return Math.max(0, ...own().map(({ snapshotDueMs = 0 }) => snapshotDueMs)) / 1_000;
  });
  add('troupe_mailbox_lag', 'messages that wait for their turn here', () => {
    return own().reduce((sum, { lag }) => sum + lag, 0);
  });
  add(
    'troupe_mailbox_lag_unknown',
    'shards here whose waiting messages are not counted yet',
    () => {
      return own().filter(({ lagUnknown }) => lagUnknown).length;
    },
  );
  add('troupe_actors_resident', 'actors in memory', () => {
    return own().reduce((sum, { residents }) => sum + residents, 0);
  });
  watchEventLoop(registry);
  if (node === undefined) return;
  const self = () => system.nodes().find((one) => one.node === node);
  const load = () => self()?.load;
  const copies = () => self()?.copies ?? [];
  add('troupe_shard_copies', 'shards of other workers that this one can take over at once', () => {
    return copies().length;
  });
  add('troupe_shard_copy_lag', 'journal records that the copies here do not contain yet', () => {
    return copies().reduce((sum, { lag }) => sum + lag, 0);
  });
  add('troupe_effects_running', 'effects that run here', () => load()?.effects ?? 0);
  add('troupe_turns_per_second', 'turns of the last moments', () => load()?.turnsPerSecond ?? 0);
}

/** A quarantined shard has an owner, and an alarm of its own. */
function unowned(system: Pick<System, 'status'>, shards: number | undefined): number {
  const all = system.status();
  const owned = new Set(
    all
      .filter(({ state }) => state === 'owned' || state === 'quarantined')
      .map(({ shard }) => shard),
  );
  return (shards ?? all.length) - owned.size;
}
