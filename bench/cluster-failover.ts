/**
 * How long requests wait when a worker of a large cell stops. A cell has three workers and, with
 * `full`, a million actors. At the moment of a kill -9, a freeze (SIGSTOP) or a graceful stop
 * (SIGTERM), one request goes to each of many actors of that worker. A figure is the time from the
 * signal to the reply. Another worker commits it, or the stopping one before it exits.
 *
 * `open` are the requests that were on their way to that worker at a kill -9: it may have applied
 * them and have died before its reply.
 */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { shardOf } from '../protocols/address.ts';
import type { System } from '../runtime/index.ts';
import {
  openNode,
  spreadOver,
  startServer,
  startWorker,
  type WorkerProcess,
} from './harness/cell.ts';
import { memoryOf } from './harness/computer.ts';
import { defineScenario, type Repeat, type Scenario } from './harness/scenario.ts';
import { seedCell } from './harness/seed.ts';
import { percentile } from './harness/statistics.ts';
import { ask, counterAddress, principal, SHARDS } from './harness/system.ts';

const WORKERS = ['w1', 'w2', 'w3'];
/** Requests that are on their way at a kill, and how long before it they are sent, at most. */
const BURST = 64;
const BURST_MS = 20;
/** More than the crash window: one failure is measured, not a crash loop. */
const APART_MS = 125_000;
const COPIES_MS = 180_000;
const LOOK_MS = 100;

const figuresOf = (label: string) =>
  [
    { label: `request sent at ${label} of its worker, to its answer, p50`, unit: 'ms' },
    { label: '  p95', unit: 'ms' },
    { label: '  p99', unit: 'ms' },
    { label: '  longest', unit: 'ms' },
  ] as const;
const [killedP50Ms, killedP95Ms, killedP99Ms, killedMaxMs] = figuresOf('kill -9');
const [frozenP50Ms, frozenP95Ms, frozenP99Ms, frozenMaxMs] = figuresOf('SIGSTOP');
const [stoppedP50Ms, stoppedP95Ms, stoppedP99Ms, stoppedMaxMs] = figuresOf('SIGTERM');

const figures = {
  actors: { label: 'actors', unit: 'count' },
  killedP50Ms,
  killedP95Ms,
  killedP99Ms,
  killedMaxMs,
  openP50Ms: {
    label: 'request that was open at kill -9, from then to its answer, p50',
    unit: 'ms',
  },
  openMaxMs: { label: '  longest', unit: 'ms' },
  openUnanswered: { label: '  without an answer', unit: 'count' },
  frozenP50Ms,
  frozenP95Ms,
  frozenP99Ms,
  frozenMaxMs,
  stoppedP50Ms,
  stoppedP95Ms,
  stoppedP99Ms,
  stoppedMaxMs,
  workerMb: { label: 'worker, private memory, largest', unit: 'MB' },
} as const;

const scenario = (name: string, question: string, warmCopies: number): Scenario =>
  defineScenario({
    name,
    question,
    secondsMax: 1_800,
    repeats: 1,
    figures,
    measure: (repeat) => measureFailover(repeat, warmCopies),
  });

export const clusterFailover = scenario(
  'cluster-failover',
  'how long do requests wait when one of three workers of a million actors stops?',
  1,
);

export const clusterFailoverCold = scenario(
  'cluster-failover-cold',
  'and how long without warm copies, when each shard is loaded from its snapshot?',
  0,
);

/** @param warmCopies as `ClusterOptions` */
async function measureFailover({ folder, pick }: Repeat, warmCopies: number) {
  const actors = pick(1_000_000, 30_000, 600);
  const cell = await openCell(folder, actors, warmCopies);
  const rounds = pick(3, 3, 1);
  const pauseMs = pick(APART_MS, 0, 0);
  const open: number[] = [];
  const killed = await waitsMsOf(cell, 'SIGKILL', { rounds, pauseMs, open });
  const frozen = await waitsMsOf(cell, 'SIGSTOP', { rounds, pauseMs });
  const stopped = await waitsMsOf(cell, 'SIGTERM', { rounds, pauseMs: 0, isLast: true });
  const workerMb = Math.max(...cell.pids().map((pid) => memoryOf(pid, 'RssAnon')));
  await cell.close();
  const answered = open.filter(Number.isFinite);
  return {
    actors,
    killedP50Ms: percentile(killed, 0.5),
    killedP95Ms: percentile(killed, 0.95),
    killedP99Ms: percentile(killed, 0.99),
    killedMaxMs: percentile(killed, 1),
    openP50Ms: percentile(answered, 0.5),
    openMaxMs: percentile(answered, 1),
    openUnanswered: open.length - answered.length,
    frozenP50Ms: percentile(frozen, 0.5),
    frozenP95Ms: percentile(frozen, 0.95),
    frozenP99Ms: percentile(frozen, 0.99),
    frozenMaxMs: percentile(frozen, 1),
    stoppedP50Ms: percentile(stopped, 0.5),
    stoppedP95Ms: percentile(stopped, 0.95),
    stoppedP99Ms: percentile(stopped, 0.99),
    stoppedMaxMs: percentile(stopped, 1),
    workerMb,
  };
}

type Cell = {
  readonly system: System;
  readonly workers: Map<string, WorkerProcess>;
  readonly actors: number;
  pids(): readonly number[];
  /** Starts the worker of this name. Resolves when all shards have an owner and their copies. */
  start(name: string): Promise<void>;
  close(): Promise<void>;
};

/** Three workers and a gateway in this process, whose actors are rows. */
async function openCell(folder: string, actors: number, warmCopies: number): Promise<Cell> {
  const server = await startServer(folder);
  const place = { url: server.url, shards: SHARDS, folder, warmCopies };
  await seedCell({ ...place, role: 'gateway', name: 'gateway' }, actors);
  const workers = new Map<string, WorkerProcess>();
  const launch = async (name: string): Promise<void> => {
    workers.set(name, await startWorker({ ...place, name }));
  };
  await Promise.all(WORKERS.map(launch));
  const system = await openNode({ ...place, role: 'gateway', name: 'gateway' });
  const ready = async () => {
    await spreadOver(system, WORKERS.length, SHARDS);
    if (warmCopies > 0) await copied(system);
  };
  await ready();
  return {
    system,
    workers,
    actors,
    pids: () => [...workers.values()].map(({ pid }) => pid),
    async start(name) {
      await launch(name);
      await ready();
    },
    async close() {
      await Promise.all([...workers.values()].map((worker) => worker.stop()));
      await system.stop();
      await server.stop();
      await rm(join(folder, 'nats'), { recursive: true, force: true });
    },
  };
}

/** Resolves when another worker has the rows of every shard. */
async function copied(system: System): Promise<void> {
  const deadline = performance.now() + COPIES_MS;
  for (;;) {
    const owners = new Map(system.status().map(({ shard, node }) => [shard, node]));
    const having = new Set<number>();
    for (const { node, copies = [] } of system.nodes())
      for (const { shard } of copies) if (owners.get(shard) !== node) having.add(shard);
    if (having.size === SHARDS) return;
    if (performance.now() > deadline)
      throw new Error(`${having.size} of ${SHARDS} shards have a copy`);
    await sleep(LOOK_MS);
  }
}

/**
 * From the signal to each reply; each round stops another worker.
 * @param pauseMs before each round
 * @param open receives the same of the requests that were on their way
 * @param isLast the worker of the last round is not started again
 */
async function waitsMsOf(
  cell: Cell,
  signal: NodeJS.Signals,
  {
    rounds,
    pauseMs,
    open,
    isLast = false,
  }: {
    readonly rounds: number;
    readonly pauseMs: number;
    readonly open?: number[];
    readonly isLast?: boolean;
  },
): Promise<number[]> {
  const waits: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await sleep(pauseMs);
    const name = WORKERS[round % WORKERS.length]!;
    const worker = cell.workers.get(name)!;
    const keys = sampleOf(cell, shardsOf(cell.system, name));
    const all = await stopAndAsk(cell, keys, () => worker.signal(signal), open ? BURST : 0);
    waits.push(...all.next);
    // What was answered before the signal was not open.
    open?.push(...all.open.filter((ms) => ms !== Number.NEGATIVE_INFINITY));
    if (signal === 'SIGSTOP') worker.signal('SIGKILL');
    await worker.ended;
    cell.workers.delete(name);
    if (!isLast || round < rounds - 1) await cell.start(name);
  }
  return waits;
}

/**
 * Sends a burst of requests with keys, stops the worker a moment later, and then sends one request
 * to each of the other actors. The burst is not sent for a freeze or an ordered stop.
 */
async function stopAndAsk(cell: Cell, keys: readonly string[], stop: () => void, burst: number) {
  let stoppedAtMs = Number.POSITIVE_INFINITY;
  const opened = keys.slice(0, burst).map(async (key) => {
    const options = { principal, timeoutMs: 30_000, key: randomUUID() };
    const answer = await cell.system.ask(counterAddress(key), { type: 'get' }, options);
    return answer.kind === 'answered' ? performance.now() - stoppedAtMs : Number.NaN;
  });
  if (burst > 0) await sleep(Math.random() * BURST_MS);
  stop();
  stoppedAtMs = performance.now();
  const next = keys.slice(burst).map((key) => add(cell.system, key));
  return { open: await Promise.all(opened), next: await Promise.all(next) };
}

function shardsOf(system: System, name: string): ReadonlySet<number> {
  const node = system.nodes().findLast((one) => one.name === name)?.node;
  const shards = system.status().filter((one) => one.node === node);
  return new Set(shards.map(({ shard }) => shard));
}

/** Keys of actors in these shards. */
function sampleOf({ actors }: Cell, shards: ReadonlySet<number>): readonly string[] {
  const step = Math.max(1, Math.floor(actors / 600));
  const all = Array.from({ length: Math.floor(actors / step) }, (_, at) => `k${at * step}`);
  return all.filter((key) => shards.has(shardOf(counterAddress(key), SHARDS)));
}

/** Milliseconds until the reply. */
async function add(system: System, key: string): Promise<number> {
  const begun = performance.now();
  await ask(system, counterAddress(key), { type: 'get' });
  return performance.now() - begun;
}
