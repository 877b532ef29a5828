/**
 * FaultCell: one cell under faults: a real nats-server, a worker's process per name, each behind a
 * TCP proxy of its own, and a gateway in this process, by which all load comes in.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSystem, openNats, openStateCache, type System } from '../../runtime/index.ts';
import type { Bus } from '../../runtime/bus/bus.ts';
import type { Timings } from '../../runtime/cluster/beat.ts';
import type { NatsPorts } from '../../runtime/index.ts';
import { type NatsServer, natsServers, startNats } from '../../test/servers/nats.ts';
import { startTcpProxy, type TcpProxy } from '../../test/servers/tcp-proxy.ts';
import { simActors } from '../../test/sim/actors.ts';
import { BOSS } from '../../test/sim/workload.ts';
import type { CrashPoint } from './crash-points.ts';
import { until } from './until.ts';
import { ENV, type WorkerSpec } from './worker.ts';

export type CellOptions = {
  /** everything of the cell is below it */
  readonly folder: string;
  /** program and first arguments of a worker's process; its spec comes behind */
  readonly program: readonly string[];
  readonly shards: number;
  readonly workers: number;
  /** records between two snapshots; default 100 */
  readonly snapshotEvery?: number;
  /** what is behind a snapshot is really trimmed; default false, and everything can be audited */
  readonly trims?: boolean;
  /** default the runtime's own */
  readonly timings?: Partial<Timings>;
  /** more lines of the server's configuration */
  readonly natsConfig?: string;
  /** lets the auditor see what arrives */
  readonly around?: (bus: Bus) => Bus;
};

const READY_MS = 60_000;
const SNAPSHOT_EVERY = 100;

type Worker = { readonly child: ChildProcess; readonly ended: Promise<unknown> };

export class FaultCell {
  readonly gateway: System;
  readonly ports: NatsPorts;
  server: NatsServer;
  readonly #o: CellOptions;
  readonly #proxies: Map<string, TcpProxy>;
  readonly #workers = new Map<string, Worker>();

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

  /** With all of its workers, which hold every shard between them. */
  static async open(options: CellOptions): Promise<FaultCell> {
    const { folder, shards, natsConfig } = options;
    const path = natsServers().at(-1)?.path;
    if (!path) throw new Error('there is no nats-server: `npm test` says how to get one');
    mkdirSync(folder, { recursive: true });
    const config = natsConfig === undefined ? {} : { config: natsConfig };
    const server = await startNats({ path, folder: join(folder, 'nats'), ...config });
    const proxies = new Map<string, TcpProxy>();
    for (const name of namesOf(options)) proxies.set(name, await startTcpProxy(server.port));
    const { system, ports } = await openGateway(options, server.url);
    const cell = new FaultCell({ ...options, shards }, server, proxies, system, ports);
    await Promise.all(cell.names.map((name) => cell.start(name)));
    await cell.settled();
    return cell;
  }

  get names(): readonly string[] {
    return namesOf(this.#o);
  }

  proxy(name: string): TcpProxy {
    return this.#proxies.get(name)!;
  }

  /** Starts the worker's process. Resolves when it serves. */
  async start(name: string, crashAt?: CrashPoint): Promise<void> {
    const { folder, program, shards, trims = false, timings = {} } = this.#o;
    const { snapshotEvery = SNAPSHOT_EVERY } = this.#o;
    const url = `nats://127.0.0.1:${this.proxy(name).port}`;
    const records = { snapshotEvery, journalTail: snapshotEvery, keepsAll: !trims };
    const spec: WorkerSpec = { url, name, shards, folder, timings, ...records };
    const [command = '', ...args] = [...program, JSON.stringify(spec)];
    const said = openSync(this.#saidBy(name), 'a');
    const env = { ...process.env, ...(crashAt && { TROUPE_CRASH_AT: crashAt }) };
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', said], env });
    closeSync(said);
    const ended = once(child, 'close');
    this.#workers.set(name, { child, ended });
    const ready = once(child.stdout!, 'data');
    await Promise.race([ready, ended]);
    // one with a crash point may reach it before it is ready
    if (!isRunning(child) && !crashAt)
      throw new Error(`${name} ended at its start: ${this.#lastWords(name)}`);
  }

  /** Of a signal that ends it, resolves when the process is gone. */
  async signal(name: string, signal: NodeJS.Signals): Promise<void> {
    const worker = this.#workers.get(name);
    worker?.child.kill(signal);
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await worker?.ended;
  }

  /** Resolves when the worker has killed itself. */
  async died(name: string): Promise<void> {
    const { child, ended } = this.#workers.get(name)!;
    await until(`${name} kills itself`, () => !isRunning(child));
    await ended;
    if (child.signalCode !== 'SIGKILL') throw new Error(`${name} ended with ${child.exitCode}`);
  }

  /** Starts the server again, on its port and its data, after it was ended. */
  async restartServer(): Promise<void> {
    const { natsConfig } = this.#o;
    const { port, folder } = this.server;
    const path = natsServers().at(-1)!.path;
    const config = natsConfig === undefined ? {} : { config: natsConfig };
    this.server = await startNats({ path, folder, port, ...config });
  }

  /** Shards that the worker of this name holds, as the gateway sees it. */
  shardsOf(name: string): readonly number[] {
    const held = new Set(
      this.gateway.nodes().flatMap((node) => (node.name === name ? [node.node] : [])),
    );
    return this.gateway
      .status()
      .filter(({ state, node }) => state === 'owned' && held.has(node ?? ''))
      .map(({ shard }) => shard);
  }

  /** Resolves when every shard is held. */
  async held(): Promise<void> {
    const held = () => this.gateway.status().filter(({ state }) => state === 'owned').length;
    await until('every shard is held', () => held() === this.#o.shards, READY_MS);
  }

  /** Resolves when every shard is held and every worker that runs has its share. */
  async settled(): Promise<void> {
    const { shards } = this.#o;
    const running = () => [...this.#workers].filter(([, { child }]) => isRunning(child));
    const isSo = () => {
      const held = this.gateway.status().filter(({ state }) => state === 'owned').length;
      return held === shards && running().every(([name]) => this.shardsOf(name).length > 0);
    };
    await until('every worker has its share', isSo, READY_MS);
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

  #saidBy(name: string): string {
    return join(this.#o.folder, `${name}.log`);
  }

  #lastWords(name: string): string {
    return readFileSync(this.#saidBy(name), 'utf8').slice(-2_000);
  }
}

const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode === null && signalCode === null;

const namesOf = ({ workers }: CellOptions): readonly string[] =>
  Array.from({ length: workers }, (_, at) => `w${at + 1}`);

async function openGateway(options: CellOptions, url: string) {
  const { folder, shards, timings = {}, around = (bus) => bus } = options;
  const onAlarm = () => {};
  const ports = await openNats({
    servers: [url],
    name: 'gateway',
    env: ENV,
    shards,
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
