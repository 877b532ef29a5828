/**
 * The benchmark's actors as a cluster of real processes on a real nats-server, on 127.0.0.1 and in
 * the folder of the repeat. Workers are separate processes of the same bundle. The measuring
 * process is itself a node, usually a gateway: the load enters there and travels over NATS.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createSystem,
  type NatsPorts,
  openNats,
  openStateCache,
  type System,
} from '../../runtime/index.ts';
import type { Bus } from '../../runtime/bus/bus.ts';
import { type NatsServer, natsServers, startNats } from '../../test/servers/nats.ts';
import { counter, relay } from './counter.ts';

export const ENV = 'bench';
const READY_MS = 240_000;
const LOOK_MS = 20;

/** The arguments of a node; a worker process receives them as JSON on its command line. */
export type NodeSpec = {
  readonly url: string;
  readonly role: 'worker' | 'gateway';
  /** unique in the cell */
  readonly name: string;
  readonly shards: number;
  /** folder of its replica of the rows */
  readonly folder: string;
  /** as `ClusterOptions`; default 1 */
  readonly warmCopies?: number;
};

/** The folder of a node's rows. */
export const cacheOf = (folder: string, name: string): string => join(folder, `cache-${name}`);

export type Server = NatsServer;

/** The newest nats-server of this machine. @throws Error when there is none */
export async function startServer(folder: string): Promise<Server> {
  const newest = natsServers().at(-1);
  if (!newest) throw new Error('there is no nats-server: `npm test` says how to get one');
  return startNats({ path: newest.path, folder: join(folder, 'nats') });
}

export type Joined = { readonly system: System; readonly ports: NatsPorts };

/** A node in this process. @param around lets a benchmark observe what is published on the bus */
export async function joinCell(
  spec: NodeSpec,
  around: (bus: Bus) => Bus = (bus) => bus,
): Promise<Joined> {
  const { url, role, name, shards, folder, warmCopies = 1 } = spec;
  const onAlarm = (what: string) => console.error(`bench: ${name}: ${what}`);
  const ports = await openNats({
    servers: [url],
    name,
    env: ENV,
    shards,
    state: (cell) => openStateCache({ path: cacheOf(folder, name), cell }),
    onAlarm,
  });
  const system = await createSystem({
    ...ports,
    bus: around(ports.bus),
    actors: [counter, relay],
    env: ENV,
    onAlarm,
    cluster: { role, name, version: 'bench', warmCopies },
  });
  return { system, ports };
}

/** As `joinCell`, for callers that only need the system. */
export const openNode = async (...args: Parameters<typeof joinCell>): Promise<System> =>
  (await joinCell(...args)).system;

/** The role of a worker process: a node that runs until SIGTERM. */
export async function serveNode(spec: NodeSpec): Promise<void> {
  const system = await openNode(spec);
  process.once('SIGTERM', () => void system.stop().then(() => process.exit()));
  process.stdout.write('ready\n');
}

export type WorkerProcess = {
  readonly pid: number;
  /** Resolves when the process has exited for any reason. */
  readonly ended: Promise<unknown>;
  signal(name: NodeJS.Signals): void;
  /** Stops in order: hands its shards over. */
  stop(): Promise<void>;
};

/** Starts a worker process. Resolves when it owns its first shards. */
export async function startWorker(spec: Omit<NodeSpec, 'role'>): Promise<WorkerProcess> {
  const [bundle = ''] = process.argv.slice(1);
  const profiles = process.env['BENCH_PROFILES'];
  const flags = profiles ? ['--cpu-prof', `--cpu-prof-dir=${profiles}`] : [];
  const args = [...flags, bundle, 'node', JSON.stringify({ ...spec, role: 'worker' })];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  const ready = once(child.stdout, 'data');
  await Promise.race([ready, ended.then(() => failed(child, spec.name))]);
  return {
    pid: child.pid!,
    ended,
    signal: (name) => void child.kill(name),
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

function failed({ exitCode }: ChildProcess, name: string): never {
  throw new Error(`the worker ${name} ended with ${exitCode} at its start`);
}

/** Resolves when this number of workers share the shards evenly, as the node sees it. */
export async function spreadOver(system: System, workers: number, shards: number): Promise<void> {
  const deadline = performance.now() + READY_MS;
  for (;;) {
    const held = system.status().filter(({ state }) => state === 'owned');
    const holders = new Set(held.map(({ node }) => node));
    if (held.length === shards && holders.size === workers) return;
    if (performance.now() > deadline)
      throw new Error(`${held.length} of ${shards} shards are owned, by ${holders.size} workers`);
    await sleep(LOOK_MS);
  }
}
