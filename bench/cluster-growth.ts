/**
 * What a cluster's node and its nats-server cost with more actors and more shards. Each size is a
 * new cell of one worker, and this process is its gateway.
 *
 * First, every actor is created by one message and all of them are passivated. Then messages go to
 * random actors, as many as the size allows; with many actors, nearly each turn activates one from
 * the worker's rows. Then nothing is sent, and the cost of the idle cell is read. Last, one shard
 * is written as a snapshot and loaded by a node without any of its rows, as in a take-over, by the
 * runtime's own functions.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { journalSubject } from '../protocols/subjects.ts';
import type { System } from '../runtime/index.ts';
import { openStateCache } from '../runtime/index.ts';
import { loadShard } from '../runtime/shard/recovery/load.ts';
import { collectRows, snapshotName, writeSnapshot } from '../runtime/shard/recovery/snapshot.ts';
import {
  ENV,
  joinCell,
  type Joined,
  type Server,
  spreadOver,
  startServer,
  startWorker,
  type WorkerProcess,
} from './harness/cell.ts';
import { memoryOf, processorTimeOf } from './harness/computer.ts';
import { defineScenario, type FigureSpec, type Repeat, type Scenario } from './harness/scenario.ts';
import { ask, counterAddress, inParallel, tell } from './harness/system.ts';

type Size = { readonly name: string; readonly actors: number; readonly shards: number };

const byActors: readonly Size[] = [
  { name: 'a1e3', actors: 1_000, shards: 8 },
  { name: 'a1e4', actors: 10_000, shards: 8 },
  { name: 'a1e5', actors: 100_000, shards: 8 },
  { name: 'a1e6', actors: 1_000_000, shards: 8 },
];

const byShards: readonly Size[] = [
  { name: 's8', actors: 20_000, shards: 8 },
  { name: 's64', actors: 20_000, shards: 64 },
  { name: 's256', actors: 20_000, shards: 256 },
];

/** By size. */
const table: Readonly<Record<string, FigureSpec>> = {
  CreatedPerSecond: { label: 'actors created', unit: '1/s' },
  TurnUs: { label: 'processor time of a turn: worker', unit: 'µs' },
  ServerUs: { label: '  nats-server', unit: 'µs' },
  TurnsPerSecond: { label: '  turns', unit: '1/s' },
  WorkerMb: { label: 'worker, private memory', unit: 'MB' },
  WorkerAllMb: { label: '  resident, with the pages of its replica', unit: 'MB' },
  ServerMb: { label: 'nats-server, resident', unit: 'MB' },
  IdleWorker: { label: 'idle: share of a core, worker', unit: 'share' },
  IdleServer: { label: '  nats-server', unit: 'share' },
  IdleGateway: { label: '  gateway', unit: 'share' },
  SnapshotMb: { label: 'snapshot of one shard', unit: 'MB' },
  SnapshotMs: { label: '  to collect, write and read back', unit: 'ms' },
  LoadMs: { label: '  to load the shard without any of its rows', unit: 'ms' },
  TakeMs: { label: 'a new worker, until it owns every shard', unit: 'ms' },
};

/**
 * Number of concurrent requests: enough to keep the worker busy, without a burst for its event
 * loop.
 */
const WIDTH = 128;
const IDLE_MS = 4_000;
const PASSIVE_MS = 5_000;

/** One size after the other, in the process of one repeat. */
const growth = (name: string, question: string, sizes: readonly Size[]): Scenario =>
  defineScenario({
    name,
    question: `${question} (a hundredth of the actors with --quick)`,
    secondsMax: 900,
    repeats: 1,
    figures: Object.fromEntries(sizes.flatMap(figuresOf)),
    async measure(repeat) {
      const figures: Record<string, number> = {};
      let measured: Record<string, number> | undefined;
      for (const size of sizes) {
        // With the ten actors of a smoke run, the first size represents all.
        if (!measured || repeat.scale !== 'smoke') measured = await measureSize(repeat, size);
        for (const [figure, value] of Object.entries(measured)) figures[size.name + figure] = value;
      }
      return figures;
    },
  });

const figuresOf = ({ name, actors, shards }: Size): [string, FigureSpec][] =>
  Object.entries(table).map(([figure, { label, unit }]) => [
    name + figure,
    { label: `${actors.toLocaleString('en')} × ${shards}: ${label.trim()}`, unit },
  ]);

export const clusterActors = growth(
  'cluster-actors',
  'what does a cell of 8 shards cost with 1,000 to a million actors?',
  byActors,
);

export const clusterShards = growth(
  'cluster-shards',
  'what does a cell of 20,000 actors cost with 8, 64 and 256 shards?',
  byShards,
);

async function measureSize({ folder, pick }: Repeat, { name, shards, actors }: Size) {
  const own = join(folder, name);
  const server = await startServer(own);
  const node = { url: server.url, shards, folder: own };
  const worker = await startWorker({ ...node, name: 'first' });
  const gateway = await joinCell({ ...node, role: 'gateway', name: 'gateway' });
  await spreadOver(gateway.system, 1, shards);
  const count = pick(actors, actors / 100, 10);
  const begun = performance.now();
  await inParallel(count, WIDTH, (at) => add(gateway.system, at));
  await applied(gateway.system, shards);
  const createdPerSecond = (count * 1_000) / (performance.now() - begun);
  const turns = await randomTurns(
    gateway.system,
    { server, worker, shards },
    {
      actors: count,
      turns: pick(40_000, 4_000, 10),
    },
  );
  await sleep(pick(PASSIVE_MS, 1_000, 10));
  const idle = await idleShares(pick(IDLE_MS, 1_000, 50), server, worker);
  const WorkerMb = memoryOf(worker.pid, 'RssAnon');
  const WorkerAllMb = memoryOf(worker.pid, 'VmRSS');
  const ServerMb = memoryOf(server.pid, 'VmRSS');
  const shard = await oneShard(gateway, own);
  const TakeMs = await takeAll(gateway.system, worker, { ...node, name: 'second' });
  await gateway.system.stop();
  await server.stop();
  return {
    CreatedPerSecond: createdPerSecond,
    ...turns,
    WorkerMb,
    WorkerAllMb,
    ServerMb,
    ...idle,
    ...shard,
    TakeMs,
  };
}

const add = (system: System, at: number): Promise<void> =>
  tell(system, counterAddress(`k${at}`), { type: 'add', by: 1 });

/** At least one ask per shard; its reply comes after the turns of all earlier tells. */
async function applied(system: System, shards: number): Promise<void> {
  await inParallel(shards * 8, WIDTH, async (at) => {
    await ask(system, counterAddress(`end-${at}`), { type: 'get' });
  });
}

async function randomTurns(
  system: System,
  parts: { readonly server: Server; readonly worker: WorkerProcess; readonly shards: number },
  { actors, turns }: { readonly actors: number; readonly turns: number },
) {
  const { server, worker, shards } = parts;
  const used = () =>
    [processorTimeOf(worker.pid).allMs, processorTimeOf(server.pid).allMs] as const;
  const before = used();
  const begun = performance.now();
  await inParallel(turns, WIDTH, () => add(system, Math.floor(Math.random() * actors)));
  await applied(system, shards);
  const seconds = (performance.now() - begun) / 1_000;
  const after = used();
  const all = turns + shards * 8;
  return {
    TurnUs: ((after[0] - before[0]) * 1_000) / all,
    ServerUs: ((after[1] - before[1]) * 1_000) / all,
    TurnsPerSecond: all / seconds,
  };
}

async function idleShares(durationMs: number, server: Server, worker: WorkerProcess) {
  const pids = [worker.pid, server.pid, process.pid];
  const before = pids.map((pid) => processorTimeOf(pid).allMs);
  await sleep(durationMs);
  const [IdleWorker = 0, IdleServer = 0, IdleGateway = 0] = pids.map(
    (pid, at) => (processorTimeOf(pid).allMs - before[at]!) / durationMs,
  );
  return { IdleWorker, IdleServer, IdleGateway };
}

/** Shard 0 of the gateway's replica, which equals the worker's rows. */
async function oneShard({ ports }: Joined, folder: string) {
  const { log, state, cell } = ports.store;
  const { blobs } = ports;
  const begun = performance.now();
  const rows = await collectRows(state, 0);
  // An epoch of no owner; the shard's next sweep deletes it.
  await writeSnapshot(blobs, snapshotName(cell, 0, 0, 1), rows, 0);
  const SnapshotMs = performance.now() - begun;
  const empty = await openStateCache({ path: join(folder, 'cold'), cell });
  const loading = performance.now();
  const journal = journalSubject(ENV, 0);
  await loadShard({ log, state: empty, blobs, journal, shard: 0, cell });
  const LoadMs = performance.now() - loading;
  await empty.close();
  return { SnapshotMb: rows.bytes.length / 1e6, SnapshotMs, LoadMs };
}

/** The first node has handed its shards to no other; the second has no replica of any row. */
async function takeAll(
  system: System,
  first: WorkerProcess,
  spec: Parameters<typeof startWorker>[0],
): Promise<number> {
  await first.stop();
  const begun = performance.now();
  const second = await startWorker(spec);
  await spreadOver(system, 1, spec.shards);
  const takeMs = performance.now() - begun;
  await second.stop();
  return takeMs;
}
