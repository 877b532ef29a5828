/**
 * One cell under faults: a real nats-server, machines `w1`, `w2`, … and a gateway in this process,
 * through which all load comes. Each machine has a disk, a TCP proxy and one worker process.
 *
 * A process that is started after another one has a new name. A worker name that keeps dying
 * receives no shards for a while, and most scenarios want their workers back at once.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '../../protocols/defined.ts';
import { createSystem, openNats, openStateCache, type System } from '../../runtime/index.ts';
import type { Bus } from '../../runtime/bus/bus.ts';
import { placeAll } from '../../runtime/cluster/rendezvous.ts';
import type { Timings } from '../../runtime/cluster/heartbeat.ts';
import type { NatsPorts } from '../../runtime/index.ts';
import { type NatsServer, natsServers, startNats } from '../../test/servers/nats.ts';
import { startTcpProxy, type TcpProxy } from '../../loadtest/faults/tcp-proxy.ts';
import { simActors } from '../../test/sim/actors.ts';
import { BOSS } from '../../test/sim/workload.ts';
import { clockEnvironment } from './fake-clock.ts';
import type { CrashPoint } from './crash-points.ts';
import { until } from './until.ts';
import { ENV, type WorkerSpec } from './worker.ts';

export type CellOptions = {
  /** the folder of all files of the cell */
  readonly folder: string;
  /** program and first arguments of a worker process; its spec follows */
  readonly program: readonly string[];
  readonly shards: number;
  readonly workers: number;
  /** records between two snapshots; default 100 */
  readonly snapshotEvery?: number;
  /** trims what is behind a snapshot; default false, so that everything can be audited */
  readonly trims?: boolean;
  /** default the runtime's */
  readonly timings?: Partial<Timings>;
  /** bytes per stream; default no limit */
  readonly maxBytes?: number;
  /** the clock of each worker can be set; default false */
  readonly clocks?: boolean;
  /** lets the auditor observe deliveries */
  readonly around?: (bus: Bus) => Bus;
};

const READY_MS = 60_000;
const SHARE_MS = 5_000;
const SHARE_LEAST = 2;
const SNAPSHOT_EVERY = 100;

/** The process that runs on a machine, or was the last one. */
type Worker = {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
  readonly name: string;
};

type StartOptions = {
  readonly crashAt?: CrashPoint;
  /** under the name of the previous process, like a worker that keeps dying; default a new name */
  readonly again?: boolean;
  /** default the cell's */
  readonly program?: readonly string[];
};

export class FaultCell {
  readonly gateway: System;
  readonly ports: NatsPorts;
  server: NatsServer;
  readonly #o: CellOptions;
  readonly #proxies: Map<string, TcpProxy>;
  readonly #workers = new Map<string, Worker>();
  #names = 0;

  private constructor(
    options: CellOptions,
    server: NatsServer,
    proxies: Map<string, TcpProxy>,
    gateway: System,
    ports: NatsPorts,
  ) {
    this.#o = options;
    this.server = server;
    this.#proxies = proxies;
    this.gateway = gateway;
    this.ports = ports;
  }

  /** Starts all workers; together they own every shard. */
  static async open(options: CellOptions): Promise<FaultCell> {
    const { folder, shards } = options;
    const path = natsServers().at(-1)?.path;
    if (!path) throw new Error('there is no nats-server: `npm test` says how to get one');
    mkdirSync(folder, { recursive: true });
    const server = await startNats({ path, folder: join(folder, 'nats') });
    const proxies = new Map<string, TcpProxy>();
    for (const name of machinesOf(options)) proxies.set(name, await startTcpProxy(server.port));
    const { system, ports } = await openGateway(options, server.url);
    const cell = new FaultCell({ ...options, shards }, server, proxies, system, ports);
    await Promise.all(cell.machines.map((name) => cell.start(name)));
    await cell.settled();
    return cell;
  }

  get machines(): readonly string[] {
    return machinesOf(this.#o);
  }

  /** Adds a machine without a process. */
  async addMachine(machine: string): Promise<void> {
    this.#proxies.set(machine, await startTcpProxy(this.server.port));
  }

  proxy(machine: string): TcpProxy {
    return this.#proxies.get(machine)!;
  }

  /** Starts a process on the machine. Resolves when it is ready. */
  async start(machine: string, options: StartOptions = {}): Promise<void> {
    const { folder, shards, trims = false, timings = {}, clocks = false } = this.#o;
    const { crashAt, again = false, program = this.#o.program } = options;
    const { snapshotEvery = SNAPSHOT_EVERY } = this.#o;
    const name = (again && this.#workers.get(machine)?.name) || this.#nameFor(machine);
    const url = `nats://127.0.0.1:${this.proxy(machine).port}`;
    const records = { snapshotEvery, journalTail: snapshotEvery, keepsAll: !trims };
    const spec: WorkerSpec = { url, name, machine, shards, folder, timings, ...records };
    const [command, ...args] = [...program, JSON.stringify(spec)];
    const said = openSync(this.#logOf(machine), 'a');
    const env = {
      ...process.env,
      ...(crashAt && { TROUPE_CRASH_AT: crashAt }),
      ...(clocks && clockEnvironment(folder, machine)),
    };
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', said], env });
    closeSync(said);
    const ended = once(child, 'close');
    this.#workers.set(machine, { child, ended, name });
    await Promise.race([once(child.stdout!, 'data'), ended]);
    // a process with a crash point may reach it before it is ready
    if (!isRunning(child) && !crashAt)
      throw new Error(`${name} ended at its start: ${this.#lastWords(machine)}`);
  }

  /** Sends a signal. If the signal ends the process, resolves when it has exited. */
  async signal(machine: string, signal: NodeJS.Signals): Promise<void> {
    const worker = this.#workers.get(machine);
    worker?.child.kill(signal);
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await worker?.ended;
  }

  /** Resolves when the worker has killed itself. */
  async died(machine: string): Promise<void> {
    const { child, ended, name } = this.#workers.get(machine)!;
    await until(`${name} kills itself`, () => !isRunning(child));
    await ended;
    if (child.signalCode !== 'SIGKILL') throw new Error(`${name} ended with ${child.exitCode}`);
  }

  /** Starts the stopped server again on its port and data. */
  async restartServer(): Promise<void> {
    const { port, folder } = this.server;
    const path = natsServers().at(-1)!.path;
    this.server = await startNats({ path, folder, port });
  }

  /** Everything that the workers of the machine printed on stderr. */
  saidBy(machine: string): string {
    return readFileSync(this.#logOf(machine), 'utf8');
  }

  isRunning(machine: string): boolean {
    return isRunning(this.#workers.get(machine)!.child);
  }

  /** Of the process that runs on the machine. */
  pidOf(machine: string): number {
    return this.#workers.get(machine)!.child.pid!;
  }

  /** Shards that the machine's worker owns, according to the gateway. */
  shardsOf(machine: string): readonly number[] {
    const name = this.#workers.get(machine)?.name;
    const held = new Set(
      this.gateway.nodes().flatMap((node) => (node.name === name ? [node.node] : [])),
    );
    return this.gateway
      .status()
      .filter(({ state, node }) => state === 'owned' && held.has(node ?? ''))
      .map(({ shard }) => shard);
  }

  /** Resolves when every shard has an owner. */
  async held(): Promise<void> {
    const held = () => this.gateway.status().filter(({ state }) => state === 'owned').length;
    await until('every shard is held', () => held() === this.#o.shards, READY_MS);
  }

  /**
   * Resolves when every shard has an owner and every running worker owns some. A worker that is too
   * busy to receive any has a short time for it.
   */
  async settled(): Promise<void> {
    const running = [...this.#workers].filter(([, { child }]) => isRunning(child));
    const all = () => running.every(([machine]) => this.shardsOf(machine).length > 0);
    await until('every worker has a share', all, SHARE_MS).catch(() => {});
    await this.held();
  }

  /** Machines whose workers own shards. */
  get holders(): readonly string[] {
    return this.machines.filter((machine) => this.shardsOf(machine).length > 0);
  }

  async close(): Promise<void> {
    for (const { child, ended } of this.#workers.values()) {
      child.kill('SIGKILL');
      await ended;
    }
    await this.gateway.stop();
    for (const proxy of this.#proxies.values()) await proxy.close();
    await this.server.stop();
  }

  /** A new name that gives every machine some shards: the hash of few shards is uneven. */
  #nameFor(machine: string): string {
    const others = [...this.#workers].flatMap(([one, { name }]) => (one === machine ? [] : [name]));
    for (;;) {
      const name = `${machine}-${++this.#names}`;
      const candidates = [...others, name].map((one) => ({ node: one, name: one, weight: 1 }));
      const placed = placeAll(candidates, this.#o.shards);
      const shareOf = ({ node }: { node: string }) => placed.filter((one) => one === node).length;
      if (candidates.every((one) => shareOf(one) >= SHARE_LEAST)) return name;
    }
  }

  #logOf(machine: string): string {
    return join(this.#o.folder, `${machine}.log`);
  }

  #lastWords(machine: string): string {
    return this.saidBy(machine).slice(-2_000);
  }
}

const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode === null && signalCode === null;

const machinesOf = ({ workers }: CellOptions): readonly string[] =>
  Array.from({ length: workers }, (_, at) => `w${at + 1}`);

async function openGateway(options: CellOptions, url: string) {
  const { folder, shards, maxBytes, timings = {}, around = (bus) => bus } = options;
  const onAlarm = () => {};
  const ports = await openNats({
    servers: [url],
    name: 'gateway',
    env: ENV,
    shards,
    ...defined({ maxBytes }),
    state: (cell) => openStateCache({ path: join(folder, 'gateway'), cell, mapSizeBytes: 2 ** 28 }),
    onAlarm,
  });
  const system = await createSystem({
    ...ports,
    bus: around(ports.bus),
    actors: simActors,
    env: ENV,
    supervisor: BOSS,
    onAlarm,
    cluster: { role: 'gateway', name: 'gateway', version: 'faults', timings },
  });
  return { system, ports };
}
