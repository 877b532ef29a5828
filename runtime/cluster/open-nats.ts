/**
 * openNats: every port of a node of a cluster, over one connection to NATS. What `embedded.ts` is
 * for one process.
 */
import type { Blobs } from '../blobs/blobs.ts';
import type { Bus } from '../bus/bus.ts';
import type { Store } from '../create-system.ts';
import type { Pubsub } from '../pubsub/pubsub.ts';
import type { State } from '../state/state.ts';
import type { NatsOptions } from './nats-connection.ts';

export type OpenNatsOptions = NatsOptions & {
  readonly env: string;
  /** of a new cell: 1 to 65,536; an existing one keeps its own */
  readonly shards: number;
  /** false: only enter a cell that there is, else NOT_FOUND; default true */
  readonly create?: boolean;
  /** copies of every stream; default 1, more need servers from 2.11 on */
  readonly replicas?: number;
  /** bytes each new stream may hold; default no limit but the server's own */
  readonly maxBytes?: number;
  /** where this node keeps rows; asked for once the cell is known */
  readonly state: (cell: string) => Promise<State> | State;
  /** what a person should know */
  readonly onAlarm: (what: string) => void;
};

export type NatsPorts = {
  /** its `close` ends the connection too, so it comes last */
  readonly store: Store;
  readonly bus: Bus;
  readonly blobs: Blobs;
  /** for programs outside; over the same connection */
  readonly pubsub: Pubsub;
  /** the cell's own count */
  readonly shards: number;
};

/**
 * Waits for the server, for JetStream and for an import under way, without end but `signal`.
 * @throws TroupeError when the server, its streams or the credentials can not be used: it says why
 */
export async function openNats(options: OpenNatsOptions): Promise<NatsPorts> {
  const { openNatsPorts } = await import('./nats-ports.ts');
  return openNatsPorts(options);
}
