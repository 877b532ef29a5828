/** Options of a process of a cluster. */
import type { Timings } from './heartbeat.ts';
import type { PlacementEvent } from './placement.ts';

export type ClusterOptions = {
  readonly role: 'worker' | 'gateway';
  /** stable over restarts, one of its kind in the cell: 1 to 63 of a-z, 0-9, _ and - */
  readonly name: string;
  readonly version: string;
  /** share of the shards relative to the other workers, above 0; default 1 */
  readonly weight?: number;
  /** workers that keep a copy of each shard besides its owner, for a fast take-over; default 1 */
  readonly warmCopies?: number;
  /** how long running effects may finish when the node stops; default 20,000 */
  readonly drainMs?: number;
  readonly onEvent?: (event: PlacementEvent) => void;
  readonly notices?: () => readonly string[];
  /** the same on every node of a cell; a server on the same machine allows shorter ones */
  readonly timings?: Partial<Timings>;
};
