/**
 * Heartbeats of nodes, and the requests between nodes. All of it is a hint: a heartbeat
 * that is lost, late or wrong causes a delay, but never loses a message (I6).
 */
import { escapeToken } from '../../protocols/subjects.ts';
import type { Labels } from '../labels.ts';
import type { NodeLoad, NodeStatus, ShardCopy, ShardStatus } from '../system.ts';

export type Heartbeat = {
  /** unique per process */
  readonly node: string;
  /** stable over restarts; shards are placed by it */
  readonly name: string;
  readonly role: 'worker' | 'gateway';
  /** rises by one with every heartbeat of this node */
  readonly seq: number;
  readonly startedAtMs: number;
  readonly version: string;
  /** weight for shards relative to other workers; 0: owns none */
  readonly weight: number;
  /** hands its shards over and accepts no more */
  readonly draining: boolean;
  /** keeps its shards, and should get no others; absent from nodes of older versions */
  readonly cordoned?: boolean;
  /** what operators should know about the process; absent without any */
  readonly notices?: readonly string[];
  /** the last heartbeat before this node ends */
  readonly leaving: boolean;
  /** `type@version` of the actors that it can run (M1) */
  readonly types: readonly string[];
  /**
   * the newest format of records that it can read; absent from nodes of versions without formats
   */
  readonly format?: number;
  /**
   * the format of records that it writes, which its cell uses; absent from nodes of versions that
   * write the newest one that they know
   */
  readonly writes?: number;
  /** absent from nodes of older versions */
  readonly labels?: Labels;
  readonly load: NodeLoad;
  /** the shards that it owns or loads */
  readonly shards: readonly ShardStatus[];
  /** shards of others that it could take over at once; absent without any, and from older nodes */
  readonly copies?: readonly ShardCopy[];
};

export const formatOf = ({ format = 0 }: Heartbeat): number => format;
export const writtenBy = (heartbeat: Heartbeat): number => heartbeat.writes ?? formatOf(heartbeat);

export const nodeStatusOf = (heartbeat: Heartbeat, ageMs: number): NodeStatus => ({
  node: heartbeat.node,
  name: heartbeat.name,
  role: heartbeat.role,
  version: heartbeat.version,
  startedAtMs: heartbeat.startedAtMs,
  draining: heartbeat.draining,
  cordoned: heartbeat.cordoned ?? false,
  weight: heartbeat.weight,
  labels: heartbeat.labels ?? {},
  load: heartbeat.load,
  reads: formatOf(heartbeat),
  writes: writtenBy(heartbeat),
  types: heartbeat.types,
  shards: heartbeat.shards.length,
  ageMs,
  ...(heartbeat.copies && { copies: heartbeat.copies }),
  ...(heartbeat.notices && { notices: heartbeat.notices }),
});

export const HEARTBEAT_SUBJECT = 'cluster.beat';

/** A node's own subject. After its process has ended, it has no subscriber. */
export const nodeSubject = (node: string): string => `cluster.node.${escapeToken(node)}`;

export type NodeRequest =
  /** every live node answers it with `true` */
  | { readonly kind: 'alive' }
  /** requests to load the data that a take-over needs; answered with a `Prepared` */
  | { readonly kind: 'prepare'; readonly shard: number }
  /** the sender has released a shard that it owned with this epoch; no answer */
  | { readonly kind: 'yours'; readonly shard: number; readonly epoch: number };

export type Prepared = { readonly ok: boolean; readonly why?: string };

export type Timings = {
  readonly heartbeatMs: number;
  /** silence after which a node counts as dead, even if its connection is up */
  readonly deadAfterMs: number;
  /** minimum membership of a node before shards are moved to it */
  readonly joinSettleMs: number;
  /** minimum time before a shard is moved again */
  readonly minStayMs: number;
  /** how long a shard that its live owner released is reserved for the chosen worker */
  readonly reservedMs: number;
  /** time after which the next best worker tries to take a shard without an owner, and so on */
  readonly nextBestMs: number;
  readonly prepareMs: number;
  /** wait after a failed move */
  readonly moveAgainMs: number;
  /** maximum duration of a drain, whatever is left */
  readonly drainMs: number;
};

export const DEFAULT_TIMINGS: Timings = {
  heartbeatMs: 200,
  deadAfterMs: 1_000,
  joinSettleMs: 1_000,
  minStayMs: 2_000,
  reservedMs: 1_000,
  nextBestMs: 2_000,
  prepareMs: 5_000,
  moveAgainMs: 1_000,
  drainMs: 30_000,
};
