/**
 * Connects a command to a cluster without joining it: the command owns no shard, answers no request
 * and is not counted as a process.
 */
import { type Heartbeat, HEARTBEAT_SUBJECT } from '../../runtime/cluster/heartbeat.ts';
import type { Bus } from '../../runtime/bus/bus.ts';
import { type Config, natsOptions } from '../../runtime/config/index.ts';
import type { Store } from '../../runtime/index.ts';
import type { Blobs } from '../../runtime/blobs/blobs.ts';
import { natsNamed } from '../processes/node.ts';

export type ClusterLink = {
  readonly env: string;
  readonly shards: number;
  readonly store: Store;
  readonly bus: Bus;
  readonly blobs: Blobs;
};

/**
 * Connects to an existing cluster. Waits for NATS until `signal` is aborted.
 * @throws TroupeError NOT_FOUND when the cluster was never started
 */
export async function linkCluster(config: Config, signal: AbortSignal): Promise<ClusterLink> {
  natsNamed(config);
  const [{ openNats }, { MemoryState }] = await Promise.all([
    import('../../runtime/cluster/open-nats.ts'),
    import('../../runtime/state/memory.ts'),
  ]);
  const { env, replicas } = config.nats;
  const ports = await openNats({
    ...natsOptions(config),
    name: 'troupe command',
    env,
    shards: config.cluster.shards,
    replicas,
    create: false,
    state: () => new MemoryState(),
    onAlarm: warn,
    onStatus: warn,
    signal,
  });
  return { env, ...ports };
}

const warn = (what: string): void => void process.stderr.write(`troupe: ${what}\n`);

/** The last heartbeat of every process, and when it was received (monotonic milliseconds). */
export class Listener {
  readonly #received = new Map<string, { heartbeat: Heartbeat; atMs: number }>();
  readonly stop: () => void;

  constructor(bus: Bus) {
    this.stop = bus.subscribe(HEARTBEAT_SUBJECT, ({ payload }) => {
      const heartbeat = payload as Heartbeat;
      if (heartbeat.leaving) this.#received.delete(heartbeat.node);
      else this.#received.set(heartbeat.node, { heartbeat, atMs: performance.now() });
    });
  }

  /** Heartbeats that were received within `withinMs`. */
  received(withinMs: number): readonly { heartbeat: Heartbeat; ageMs: number }[] {
    const now = performance.now();
    return [...this.#received.values()]
      .map(({ heartbeat, atMs }) => ({ heartbeat, ageMs: now - atMs }))
      .filter(({ ageMs }) => ageMs <= withinMs);
  }
}
