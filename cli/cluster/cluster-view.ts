/**
 * Builds and prints the state of a cluster from the heartbeats of its processes. Pure: heartbeats
 * in, text out.
 */
import type { Heartbeat } from '../../runtime/cluster/heartbeat.ts';
import type { ShardStatus } from '../../runtime/index.ts';
import { defined } from '../../protocols/defined.ts';
import { ago, table } from '../../operations/text.ts';
import { bytes } from '../output.ts';

/** A heartbeat and its age in milliseconds. */
export type ReceivedHeartbeat = { readonly heartbeat: Heartbeat; readonly ageMs: number };

export type ShardView = Omit<Partial<ShardStatus>, 'state'> & {
  readonly shard: number;
  readonly state: ShardStatus['state'] | 'unowned';
  /** the owner's name */
  readonly owner?: string;
  /** workers that can take it over at once, and the journal records that they do not have yet */
  readonly copies?: readonly { readonly worker: string; readonly lag: number }[];
};

export type ClusterView = {
  readonly env: string;
  readonly cell: string;
  readonly nodes: readonly (Omit<Heartbeat, 'shards' | 'types' | 'seq'> & {
    readonly shards: number;
    readonly ageMs: number;
  })[];
  readonly shards: readonly ShardView[];
};

/**
 * If two processes claim a shard, the later owner is shown; the other will find out that it lost
 * it.
 */
export function viewOf(
  { env, cell, shards }: { env: string; cell: string; shards: number },
  received: readonly ReceivedHeartbeat[],
): ClusterView {
  const held = new Map<number, ShardView>();
  for (const { heartbeat } of received)
    for (const status of heartbeat.shards) {
      const known = held.get(status.shard);
      if (known && (known.epoch ?? 0) >= status.epoch) continue;
      held.set(status.shard, { ...status, node: heartbeat.node, owner: heartbeat.name });
    }
  const copies = copiesBy(received);
  const nodes = received
    .map(({ heartbeat: { shards: own, types: _, seq: __, ...rest }, ageMs }) => ({
      ...rest,
      shards: own.length,
      ageMs,
    }))
    .toSorted((a, b) => order(a.role, b.role) || order(a.name, b.name) || order(a.node, b.node));
  return {
    env,
    cell,
    nodes,
    shards: Array.from({ length: shards }, (_, shard) => ({
      ...(held.get(shard) ?? { shard, state: 'unowned' as const }),
      ...defined({ copies: copies.get(shard) }),
    })),
  };
}

/** By shard. */
function copiesBy(received: readonly ReceivedHeartbeat[]) {
  const all = new Map<number, NonNullable<ShardView['copies']>>();
  for (const { heartbeat } of received)
    for (const { shard, lag } of heartbeat.copies ?? [])
      all.set(shard, [...(all.get(shard) ?? []), { worker: heartbeat.name, lag }]);
  return all;
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Most shards with a problem that are shown one by one. */
const TROUBLED_MAX = 20;

/**
 * @param nowMs wall clock of this machine, from which the age of processes is computed
 * @param all every shard, not only those that are not owned or say why they wait
 */
export function render(view: ClusterView, nowMs: number, { all = false } = {}): string {
  const { env, cell, nodes, shards } = view;
  const workers = nodes.filter(({ role }) => role === 'worker');
  const gateways = nodes.filter(({ role }) => role === 'gateway');
  return [
    `cluster ${env}: ${count(workers.length, 'worker')}, ${count(gateways.length, 'gateway')}, ` +
      `${count(shards.length, 'shard')} (cell ${cell})\n`,
    `${summary(shards)}\n`,
    workers.length === 0 ? '' : `\n${table(workerHead, workers.map(workerCells(nowMs)))}`,
    gateways.length === 0 ? '' : `\n${table(gatewayHead, gateways.map(gatewayCells(nowMs)))}`,
    shardText(shards, all),
    ...nodes.flatMap(({ name, notices = [] }) => notices.map((text) => `\n${name}: ${text}\n`)),
  ].join('');
}

function shardText(shards: readonly ShardView[], all: boolean): string {
  const troubled = shards.filter(({ state, why }) => state !== 'owned' || why !== undefined);
  const shown = all ? shards : troubled.slice(0, TROUBLED_MAX);
  if (shown.length === 0) return '';
  const left = (all ? shards : troubled).length - shown.length;
  const more = left > 0 ? `… and ${left} more; all: troupe cluster --shards\n` : '';
  return `\n${table(shardHead, shown.map(shardCells))}${more}`;
}

const count = (n: number, what: string) => `${n} ${what}${n === 1 ? '' : 's'}`;

function summary(shards: readonly ShardView[]): string {
  const states = new Map<string, number>();
  for (const { state } of shards) states.set(state, (states.get(state) ?? 0) + 1);
  const lag = shards.reduce((sum, shard) => sum + (shard.lag ?? 0), 0);
  const held = [...states].map(([state, n]) => `${n} ${state}`).join(', ');
  const copies = shards.flatMap((shard) => shard.copies ?? []);
  const copied = shards.filter((shard) => shard.copies !== undefined).length;
  const behind = copies.reduce((sum, copy) => sum + copy.lag, 0);
  const warm = `; with a warm copy: ${copied}, ${count(behind, 'record')} behind`;
  const uncounted = shards.filter(isUncounted).length;
  const rest = uncounted > 0 ? `, not counted yet in ${count(uncounted, 'shard')}` : '';
  return `shards: ${held}; pending messages: ${lag}${rest}${copied > 0 ? warm : ''}`;
}

const isUncounted = ({ lag, lagUnknown }: ShardView): boolean => lag === undefined || !!lagUnknown;

type NodeView = ClusterView['nodes'][number];

const workerHead =
  'worker,state,shards,weight,cores,loop,effects,turns/s,memory,runs for,version'.split(',');

const workerCells = (nowMs: number) => (node: NodeView) => [
  node.name,
  node.draining ? 'draining' : node.cordoned === true ? 'cordoned' : 'active',
  String(node.shards),
  String(Math.round(node.weight * 100) / 100),
  node.load.cpu.toFixed(2),
  `${Math.round(node.load.eventLoop * 100)} %`,
  String(node.load.effects),
  String(Math.round(node.load.turnsPerSecond)),
  bytes(node.load.rssBytes),
  ago(nowMs - node.startedAtMs),
  node.version,
];

const gatewayHead = ['gateway', 'cores', 'loop', 'memory', 'runs for', 'version'];

const gatewayCells = (nowMs: number) => (node: NodeView) => [
  node.name,
  node.load.cpu.toFixed(2),
  `${Math.round(node.load.eventLoop * 100)} %`,
  bytes(node.load.rssBytes),
  ago(nowMs - node.startedAtMs),
  node.version,
];

const shardHead = 'shard,state,owner,epoch,position,turns,lag,actors,copy,why'.split(',');

const copyText = ({ worker, lag }: { readonly worker: string; readonly lag: number }) =>
  lag === 0 ? worker : `${worker} (${lag} behind)`;

const numberCell = (n: number | undefined): string => (n === undefined ? '' : String(n));

const shardCells = (shard: ShardView) => [
  String(shard.shard),
  shard.state,
  shard.owner ?? '',
  ...[shard.epoch, shard.position, shard.turnNo].map(numberCell),
  isUncounted(shard) ? 'unknown' : numberCell(shard.lag),
  numberCell(shard.residents),
  (shard.copies ?? []).map(copyText).join(', '),
  shard.why ?? '',
];
