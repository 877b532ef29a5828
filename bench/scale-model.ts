/**
 * A model on paper of a cell's size: processor time, memory, disk, NATS and network for a number of
 * workers, actors and shards. Its constants are measured (docs/scaling.md, "more actors, more
 * shards"), on one worker and one replica. A test compares it with each measured point, and the
 * tables of docs/scaling.md with what it calculates.
 */

/** The input: one cell. */
export type CellSize = {
  readonly workers: number;
  readonly gateways: number;
  readonly actors: number;
  readonly shards: number;
  /** actors in memory of one shard at most; the rest are rows */
  readonly residentOfShard: number;
  /** replicas of each stream of JetStream */
  readonly replicas: number;
  /** turns per second of the cell */
  readonly turns: number;
};

export type CellNeeds = {
  readonly actorsOfShard: number;
  readonly shardsOfWorker: number;
  /** private memory with rows' pages, MB */
  readonly workerMb: number;
  readonly gatewayMb: number;
  /** rows with one warm copy, GB */
  readonly workerDiskGb: number;
  readonly gatewayDiskGb: number;
  readonly serverMb: number;
  /** of one shard */
  readonly snapshotMb: number;
  /** a shard without a warm copy, milliseconds */
  readonly loadMs: number;
  /** two generations in all replicas, GB */
  readonly snapshotsGb: number;
  readonly streams: number;
  readonly consumers: number;
  /** that all processes receive together, MB per second */
  readonly heartbeatsMb: number;
  /** cores that all workers need for the turns alone */
  readonly workerCores: number;
  readonly serverCores: number;
  /** each gateway applies every journal */
  readonly gatewayCores: number;
  /** entries, records and their copies between processes, MB per second */
  readonly networkMb: number;
  /** what the leaders of two streams allow, turns per second */
  readonly turnsMax: number;
};

const MB = 1e6;

/** Measured, with where. µs are processor time. */
export const measured = {
  /** idle row on disk with LMDB's pages, bytes (scenario `idle`) */
  rowBytes: 316,
  /** row in a snapshot, bytes */
  snapshotRowBytes: 104,
  /** pages of an actor's row in resident memory, bytes (`cluster-actors`) */
  residentRowBytes: 580,
  /** an actor in memory, KB (6 to 12) */
  residentActorKb: 9,
  /** a process without actors, MB */
  processMb: 175,
  /** nats-server: empty, per actor, per shard */
  serverMb: 70,
  serverActorBytes: 300,
  serverShardMb: 0.33,
  /** loading a row from a snapshot, µs (30 to 42) */
  loadRowUs: 32,
  loadMs: 20,
  /** a turn at a worker, and at a gateway that copies its rows */
  turnUs: 85,
  gatewayTurnUs: 20,
  /** a turn at nats-server: more shards make smaller batches */
  serverTurnUs: 10,
  serverTurnRootUs: 2,
  /** an idle worker: a share of a core, and per shard */
  idleWorker: 0.012,
  idleShard: 0.0001,
  /** fenced appends per second of one stream, by replicas (docs/scaling.md) */
  appends: { 1: 16_400, 3: 10_600 } as Readonly<Record<number, number>>,
  /** heartbeats per second of a process; its bytes, and those per shard */
  heartbeats: 5,
  heartbeatBytes: 250,
  heartbeatShardBytes: 117,
} as const;

/** Not measured. */
export const assumed = {
  /** turns for one append of a mailbox and one of a journal (0.5 to 1 with many shards) */
  turnsOfAppend: 0.75,
  /** bytes of a message in a mailbox, and of its turn in a journal */
  mailBytes: 512,
  turnBytes: 512,
  /** mailboxes, journals, blobs, logs without an owner, history */
  streams: 5,
} as const;

export function needsOf(cell: CellSize): CellNeeds {
  const { workers, gateways, actors, shards, residentOfShard, replicas, turns } = cell;
  const m = measured;
  const actorsOfShard = actors / shards;
  const shardsOfWorker = shards / workers;
  const actorsOfWorker = actors / workers;
  const residents = Math.min(actorsOfShard, residentOfShard) * shardsOfWorker;
  const snapshotMb = (actorsOfShard * m.snapshotRowBytes) / MB;
  const beatBytes = processes(cell) * m.heartbeatBytes + shards * m.heartbeatShardBytes;
  return {
    actorsOfShard,
    shardsOfWorker,
    workerMb:
      m.processMb +
      (residents * m.residentActorKb) / 1_000 +
      (actorsOfWorker * m.residentRowBytes) / MB,
    gatewayMb: m.processMb + (actors * m.residentRowBytes) / MB,
    workerDiskGb: (2 * actorsOfWorker * m.rowBytes) / 1e9,
    gatewayDiskGb: (actors * m.rowBytes) / 1e9,
    serverMb: m.serverMb + (actors * m.serverActorBytes) / MB + shards * m.serverShardMb,
    snapshotMb,
    loadMs: m.loadMs + (actorsOfShard * m.loadRowUs) / 1_000,
    snapshotsGb: (2 * replicas * shards * snapshotMb) / 1_000,
    streams: assumed.streams,
    consumers: shards * (2 + gateways),
    heartbeatsMb: (m.heartbeats * beatBytes * processes(cell)) / MB,
    workerCores: (turns * m.turnUs) / 1e6 + idleWorkersOf(cell),
    serverCores: (turns * serverTurnUs(shards)) / 1e6,
    gatewayCores: (turns * m.gatewayTurnUs) / 1e6,
    networkMb: (turns * bytesOfTurn(cell)) / MB,
    turnsMax: assumed.turnsOfAppend * (m.appends[replicas] ?? m.appends[3]!),
  };
}

const processes = ({ workers, gateways }: CellSize): number => workers + gateways;

const idleWorkersOf = ({ workers, shards }: CellSize): number =>
  workers * measured.idleWorker + shards * measured.idleShard;

/** Processor time of nats-server for a turn. */
export const serverTurnUs = (shards: number): number =>
  measured.serverTurnUs + measured.serverTurnRootUs * Math.sqrt(shards);

/** Share of a core of an idle worker with these shards. */
export const idleWorker = (shards: number): number =>
  measured.idleWorker + shards * measured.idleShard;

/** Sent once to the leader, by it to the other replicas, and to each reader. */
function bytesOfTurn({ replicas, gateways }: CellSize): number {
  const { mailBytes, turnBytes } = assumed;
  const copies = 1 + (replicas - 1);
  // the owner reads its mail; gateways and the one with the warm copy read the journal
  return mailBytes * (copies + 1) + turnBytes * (copies + gateways + 1);
}

/** 100 workers and 10 million actors, as one cell and as ten. Figures are of one cell. */
export const plans: readonly { readonly name: string; readonly cell: CellSize }[] = [
  {
    name: 'one cell',
    cell: {
      workers: 100,
      gateways: 10,
      actors: 10_000_000,
      shards: 1_024,
      residentOfShard: 1_000,
      replicas: 3,
      turns: 7_500,
    },
  },
  {
    name: 'each of ten cells',
    cell: {
      workers: 10,
      gateways: 2,
      actors: 1_000_000,
      shards: 128,
      residentOfShard: 1_000,
      replicas: 3,
      turns: 7_500,
    },
  },
];

const ROWS: readonly (readonly [keyof CellNeeds, string, number])[] = [
  ['actorsOfShard', 'actors per shard', 0],
  ['shardsOfWorker', 'shards per worker', 1],
  ['workerMb', 'a worker: memory, MB', 0],
  ['workerDiskGb', 'a worker: rows with a warm copy, GB', 2],
  ['gatewayMb', 'a gateway: memory, MB', 0],
  ['gatewayDiskGb', 'a gateway: rows of all actors, GB', 2],
  ['serverMb', 'the leading nats-server: memory, MB', 0],
  ['streams', 'streams of NATS', 0],
  ['consumers', 'consumers of NATS', 0],
  ['snapshotMb', 'a snapshot of a shard, MB', 2],
  ['snapshotsGb', 'all snapshots, two generations and three replicas, GB', 1],
  ['loadMs', 'loading a shard without a warm copy, ms', 0],
  ['heartbeatsMb', 'network: heartbeats, MB per second', 1],
  ['networkMb', 'network: turns, MB per second', 0],
  ['workerCores', 'cores of all workers', 1],
  ['serverCores', 'cores of the leading nats-server', 1],
  ['gatewayCores', 'cores of each gateway', 2],
  ['turnsMax', 'most turns per second, by the streams', 0],
];

/** The table of docs/scaling.md, in Markdown. */
export function planTable(): string {
  const needs = plans.map(({ cell }) => needsOf(cell));
  const number = (value: number, digits: number) =>
    value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return [
    `| | ${plans.map(({ name }) => name).join(' | ')} |`,
    '| --- | ---: | ---: |',
    ...ROWS.map(
      ([key, label, digits]) =>
        `| ${label} | ${needs.map((one) => number(one[key], digits)).join(' | ')} |`,
    ),
  ].join('\n');
}
