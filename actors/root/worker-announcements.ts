/**
 * Announces workers to the root actor, so that its statechart and its rows show which workers
 * serve.
 *
 * Every worker runs one, but only the worker that owns the root's shard sends: its index contains
 * the root's rows without delay. It compares these rows with the live nodes and sends the
 * difference, so it also repairs what a predecessor left unfinished when it died. Placement does
 * not depend on it: shards are placed by heartbeats alone.
 */
import { DEFAULT_TENANT, shardOf } from '../../protocols/address.ts';
import { SYSTEM_PRINCIPAL } from '../../protocols/security/principals.ts';
import { rootAddress, type WorkerRow } from '../../protocols/supervision.ts';
import type { NodeStatus, PlacementEvent, System } from '../../runtime/index.ts';

type AnnouncementOptions = {
  readonly system: Pick<System, 'index' | 'nodes' | 'status' | 'tell'>;
  readonly shards: number;
  /** id of this process */
  readonly node: string;
};

type Announcement = 'worker.joined' | 'worker.draining' | 'worker.left' | 'worker.lost';

const INTERVAL_MS = 1_000;
/** An announcement that is not applied within this time expires; the next comparison repeats it. */
const TTL_MS = 30_000;
/** Nodes that left properly and are remembered, so that they are not announced as lost. */
const LEFT_MAX = 100;

export class WorkerAnnouncements {
  readonly #left = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  /** Records nodes that leave on their own: they are announced as left, not as lost. */
  onPlacementEvent(event: PlacementEvent): void {
    if (event.kind !== 'left') return;
    this.#left.add(event.heartbeat.node);
    if (this.#left.size > LEFT_MAX) this.#left.delete(this.#left.values().next().value!);
  }

  /** Compares once per second until `close`. */
  open(options: AnnouncementOptions): void {
    this.#timer = setInterval(() => this.#announceChanges(options), INTERVAL_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #announceChanges({ system, shards, node }: AnnouncementOptions): void {
    const rootShard = shardOf(rootAddress(DEFAULT_TENANT), shards);
    const owner = system.status().find(({ shard }) => shard === rootShard);
    if (owner?.node !== node || owner.state !== 'owned') return;
    const rows = system.index.list<WorkerRow>('workers', DEFAULT_TENANT).map(({ value }) => value);
    const workers = system.nodes().filter(({ role }) => role === 'worker');
    const alive = new Set(workers.map((worker) => worker.node));
    for (const worker of workers) {
      const row = rows.find(({ name, state }) => name === worker.name && state !== 'lost');
      announceLive(system, worker, row && alive.has(row.node) ? row : undefined);
    }
    for (const row of rows) {
      if (row.state === 'lost' || alive.has(row.node)) continue;
      announce(system, this.#left.has(row.node) ? 'worker.left' : 'worker.lost', row);
    }
  }
}

/** Of two live workers with the same name, the root lists the first. */
function announceLive(
  system: AnnouncementOptions['system'],
  worker: NodeStatus,
  row: WorkerRow | undefined,
): void {
  if (!row) announce(system, 'worker.joined', worker);
  else if (row.node === worker.node && worker.draining && row.state === 'active')
    announce(system, 'worker.draining', worker);
}

function announce(
  system: AnnouncementOptions['system'],
  type: Announcement,
  { node, name }: { readonly node: string; readonly name: string },
): void {
  const event = { type, node, name };
  const options = { principal: SYSTEM_PRINCIPAL, ttlMs: TTL_MS };
  void system.tell(rootAddress(DEFAULT_TENANT), event, options);
}
