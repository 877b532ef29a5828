/**
 * How long requests wait when a worker stops. A cell has three workers. At the moment of a kill -9,
 * a freeze (SIGSTOP) or a graceful stop (SIGTERM), one request goes to every actor of that worker.
 * A figure is the time from the signal to the reply. Another worker commits it, or the stopping one
 * before it exits.
 */
import { shardOf } from '../protocols/address.ts';
import type { System } from '../runtime/index.ts';
import {
  openNode,
  spreadOver,
  startServer,
  startWorker,
  type WorkerProcess,
} from './harness/cell.ts';
import { defineScenario } from './harness/scenario.ts';
import { percentile } from './harness/statistics.ts';
import { ask, counterAddress, SHARDS } from './harness/system.ts';

const ACTORS = Array.from({ length: 64 }, (_, at) => `a${at}`);
const WORKERS = ['w1', 'w2', 'w3'];

const figuresOf = (label: string) =>
  [
    { label: `request sent at ${label} of its worker, to its answer, p50`, unit: 'ms' },
    { label: '  p95', unit: 'ms' },
    { label: '  longest', unit: 'ms' },
  ] as const;
const [killedP50Ms, killedP95Ms, killedMaxMs] = figuresOf('kill -9');
const [frozenP50Ms, frozenP95Ms, frozenMaxMs] = figuresOf('SIGSTOP');
const [stoppedP50Ms, stoppedP95Ms, stoppedMaxMs] = figuresOf('SIGTERM');

export const clusterFailover = defineScenario({
  name: 'cluster-failover',
  question: 'how long do requests wait when their worker is killed, frozen or stopped?',
  secondsMax: 240,
  figures: {
    killedP50Ms,
    killedP95Ms,
    killedMaxMs,
    frozenP50Ms,
    frozenP95Ms,
    frozenMaxMs,
    stoppedP50Ms,
    stoppedP95Ms,
    stoppedMaxMs,
  },
  async measure({ folder, pick }) {
    const cell = await openCell(folder);
    const rounds = pick(6, 3, 1);
    const killed = await waitsMsOf(cell, 'SIGKILL', rounds);
    const frozen = await waitsMsOf(cell, 'SIGSTOP', rounds);
    const stopped = await waitsMsOf(cell, 'SIGTERM', rounds);
    await cell.close();
    return {
      killedP50Ms: percentile(killed, 0.5),
      killedP95Ms: percentile(killed, 0.95),
      killedMaxMs: percentile(killed, 1),
      frozenP50Ms: percentile(frozen, 0.5),
      frozenP95Ms: percentile(frozen, 0.95),
      frozenMaxMs: percentile(frozen, 1),
      stoppedP50Ms: percentile(stopped, 0.5),
      stoppedP95Ms: percentile(stopped, 0.95),
      stoppedMaxMs: percentile(stopped, 1),
    };
  },
});

type Cell = {
  readonly system: System;
  readonly workers: Map<string, WorkerProcess>;
  /** Starts the worker of this name. Resolves when all workers share the shards evenly. */
  start(name: string): Promise<void>;
  close(): Promise<void>;
};

/** Three workers, a gateway in this process, and actors that were asked once. */
async function openCell(folder: string): Promise<Cell> {
  const server = await startServer(folder);
  const place = { url: server.url, shards: SHARDS, folder };
  const workers = new Map<string, WorkerProcess>();
  const launch = async (name: string): Promise<void> => {
    workers.set(name, await startWorker({ ...place, name }));
  };
  await Promise.all(WORKERS.map(launch));
  const system = await openNode({ ...place, role: 'gateway', name: 'gateway' });
  const spread = () => spreadOver(system, WORKERS.length, SHARDS);
  await spread();
  await Promise.all(ACTORS.map((key) => add(system, key)));
  return {
    system,
    workers,
    async start(name) {
      await launch(name);
      await spread();
    },
    async close() {
      await Promise.all([...workers.values()].map((worker) => worker.stop()));
      await system.stop();
      await server.stop();
    },
  };
}

/** From the signal to each reply; each round stops another worker. */
async function waitsMsOf(cell: Cell, signal: NodeJS.Signals, rounds: number): Promise<number[]> {
  const waits: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const name = WORKERS[round % WORKERS.length]!;
    const worker = cell.workers.get(name)!;
    const actors = actorsOf(cell.system, name);
    worker.signal(signal);
    waits.push(...(await Promise.all(actors.map((key) => add(cell.system, key)))));
    if (signal === 'SIGSTOP') worker.signal('SIGKILL');
    await worker.ended;
    await cell.start(name);
  }
  return waits;
}

/** Keys of the actors whose shard the worker owns. */
function actorsOf(system: System, name: string): readonly string[] {
  const node = system.nodes().findLast((one) => one.name === name)?.node;
  const shards = system.status().filter((one) => one.node === node);
  const held = new Set(shards.map(({ shard }) => shard));
  return ACTORS.filter((key) => held.has(shardOf(counterAddress(key), SHARDS)));
}

/** Milliseconds until the reply. */
async function add(system: System, key: string): Promise<number> {
  const begun = performance.now();
  await ask(system, counterAddress(key), { type: 'get' });
  return performance.now() - begun;
}
