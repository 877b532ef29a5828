/**
 * Plan: the parameters that the seed decides before a run: the form of the store, the number of
 * participants, the bounds, and the frequency of each fault. Some runs have no faults, so that an
 * error of the simulation is not mistaken for a fault.
 */
import type { ClusterOptions, Faults } from './cluster.ts';
import type { Random } from '../../library/simulation/random.ts';
import type { WorkloadOptions } from './workload.ts';

export type Plan = {
  /** in a few words */
  readonly what: string;
  readonly cluster: Omit<ClusterOptions, 'random'>;
  readonly workload: WorkloadOptions;
  /** mean time between two disturbances */
  readonly troubleEveryMs: number;
  readonly faults: Faults;
};

export function planOf(r: Random): Plan {
  const embedded = r.chance(0.35);
  const durability = r.pick(['process', 'power'] as const);
  const shards = r.whole(1, 4);
  const workers = embedded ? 1 : r.whole(1, 3);
  const killers = r.chance(0.15);
  const careful = killers || r.chance(0.3);
  const calm = r.chance(0.15);
  const often = (max: number) => (calm || r.chance(0.3) ? 0 : r.next() * max);
  return {
    what: `${embedded ? `embedded, ${durability}` : 'cluster'}, ${shards} shards, ${workers} workers${killers ? ', killers' : ''}`,
    cluster: {
      ...(embedded ? { durability } : {}),
      shards,
      workers,
      limits: {
        crashWindowMs: careful ? 120_000 : 0,
        carefulTurns: 16,
        outMax: r.pick([3, 64]),
        groupTurnsMax: r.pick([1, 4, 256]),
        residentsMax: r.pick([1, 3, 1_000]),
        hopsMax: r.pick([2, 32]),
        keysMax: r.pick([10, 200_000, 200_000]),
      },
      snapshotEvery: r.pick([5, 20, 100]),
      journalTail: r.pick([0, 1, 1_000]),
      keepsDisk: r.chance(0.7),
      // by its own numbers, so that the seeds of the mutants stay what they are
      ownOutcomes: r.fork('outcomes in records').chance(0.5),
    },
    workload: {
      keys: r.whole(1, 2),
      clients: r.whole(1, 4),
      requestsPerClient: r.whole(4, 12),
      killers,
    },
    troubleEveryMs: r.pick([300, 1_000, 4_000]),
    faults: {
      log: {
        lost: often(0.1),
        unanswered: often(0.1),
        late: often(0.1),
        failed: often(0.1),
        slow: often(0.2),
      },
      bus: { lost: often(0.2), doubled: often(0.2) },
      blobs: { half: often(0.3) },
    },
  };
}
