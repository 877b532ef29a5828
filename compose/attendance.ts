/**
 * Attendance: tells the root which workers serve, so that its chart shows it. Every worker keeps
 * one; the worker that holds the root's shard speaks, since it sees the root's rows as they are.
 *
 * It compares what the root knows with who is heard, and tells the difference: whoever spoke before
 * may have died in the middle of it. Nothing rests on it: shards are placed by beats alone.
 */
import { rootAddress } from '../actors/index.ts';
import { shardOf } from '../protocols/address.ts';
import type { WorkerRow } from '../protocols/supervision.ts';
import type { PlacementEvent } from '../runtime/cluster/placement.ts';
import type { NodeStatus, System } from '../runtime/index.ts';
import { TENANT } from './crew.ts';
import { SYSTEM } from './settings.ts';

type Attended = {
  readonly system: Pick<System, 'index' | 'nodes' | 'status' | 'tell'>;
  readonly shards: number;
  /** this process */
  readonly node: string;
};

type Tells = Attended['system'];
type News = 'worker.joined' | 'worker.draining' | 'worker.left' | 'worker.lost';

const LOOK_MS = 1_000;
/** News that could not be applied so soon are told again. */
const TTL_MS = 30_000;
/** Processes that said goodbye, remembered. */
const LEFT_MAX = 100;

export class Attendance {
  readonly #left = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  /** A process that says goodbye is not lost. */
  heard(event: PlacementEvent): void {
    if (event.kind !== 'left') return;
    this.#left.add(event.beat.node);
    if (this.#left.size > LEFT_MAX) this.#left.delete(this.#left.values().next().value!);
  }

  /** Looks once a second from now on. */
  open(attended: Attended): void {
    this.#timer = setInterval(() => this.#look(attended), LOOK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look({ system, shards, node }: Attended): void {
    const rootShard = shardOf(rootAddress(TENANT), shards);
    const holder = system.status().find(({ shard }) => shard === rootShard);
    if (holder?.node !== node || holder.state !== 'owned') return;
    const listed = system.index.list<WorkerRow>('workers', TENANT).map(({ value }) => value);
    const workers = system.nodes().filter(({ role }) => role === 'worker');
    const alive = new Set(workers.map((worker) => worker.node));
    for (const worker of workers) {
      const known = listed.find((row) => row.name === worker.name && row.state !== 'lost');
      present(system, worker, known && alive.has(known.node) ? known : undefined);
    }
    for (const row of listed) {
      if (row.state === 'lost' || alive.has(row.node)) continue;
      tell(system, this.#left.has(row.node) ? 'worker.left' : 'worker.lost', row);
    }
  }
}

/** Of two that go by one name the root shows the first. */
function present(system: Tells, worker: NodeStatus, known: WorkerRow | undefined): void {
  if (!known) tell(system, 'worker.joined', worker);
  else if (known.node === worker.node && worker.draining && known.state === 'active')
    tell(system, 'worker.draining', worker);
}

function tell(system: Tells, type: News, { node, name }: { node: string; name: string }): void {
  const event = { type, node, name };
  void system.tell(rootAddress(TENANT), event, { principal: SYSTEM, ttlMs: TTL_MS });
}
