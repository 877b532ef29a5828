/**
 * A cell that a test of faults starts and may break: the program as one embedded process, or
 * nats-server with workers and a gateway. Everything is on 127.0.0.1 and in one folder.
 *
 * Clients reach it, and workers reach NATS, through TCP proxies of this process. So a server that
 * was restarted on another port has the same address, and a worker can be cut off from NATS.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TroupeError } from '../../protocols/errors.ts';
import type { Guard } from '../guard.ts';
import { OwnProcess } from './own-process.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

export type CellOptions = {
  /** removed by the guard */
  readonly folder: string;
  readonly guard: Guard;
  /** the program's script, as Node runs it */
  readonly script: string;
  readonly token: string;
  /** of all processes */
  readonly config: object;
  /** absent: embedded */
  readonly cluster?: { readonly natsServer: string; readonly workers: number };
  /** another version of the program, for the fault `upgrade` */
  readonly other?: OtherProgram;
  /** A process ended by itself. It is started again. */
  readonly onCrash: (name: string, how: string) => void;
};

export type OtherProgram = { readonly script: string; readonly version: string };

/** A process that is stopped, and started with another program. */
type Replacement = { readonly name: string; readonly script: string; readonly what: string };

export const GATEWAY = 'gateway';
export const NATS = 'nats';
/** The only process of an embedded cell. */
export const PROGRAM = 'troupe';

const READY_MS_MAX = 120_000;
const LOOK_MS = 20;
const RESTART_MS = 500;

export class Cell {
  /** `ws://127.0.0.1:port`, the same while processes are restarted */
  readonly url: string;
  /** the data folder of all processes of the program */
  readonly home: string;
  /** processes that own sessions */
  readonly workers: readonly string[];
  readonly #options: CellOptions;
  readonly #gatewayProxy: TcpProxy;
  readonly #natsProxies: ReadonlyMap<string, TcpProxy>;
  readonly #processes = new Map<string, OwnProcess>();
  #replacements = 0;
  #isClosed = false;
  #isOpen = false;
  /** why it cannot be opened */
  #failure: string | undefined;

  private constructor(options: CellOptions, proxies: readonly TcpProxy[]) {
    const [gateway, ...others] = proxies as [TcpProxy, ...TcpProxy[]];
    this.#options = options;
    this.#gatewayProxy = gateway;
    this.url = `ws://127.0.0.1:${gateway.port}`;
    this.home = join(options.folder, 'data');
    this.workers = workersOf(options);
    const named = options.cluster ? [...this.workers, GATEWAY] : [];
    this.#natsProxies = new Map(named.map((name, at) => [name, others[at]!]));
    mkdirSync(this.home, { recursive: true, mode: 0o700 });
    writeFileSync(join(this.home, 'troupe.json5'), JSON.stringify(options.config));
  }

  /**
   * Resolves when it serves requests.
   * @throws TroupeError UNAVAILABLE with what its processes printed; CANCELLED by `signal`
   */
  static async open(options: CellOptions, signal: AbortSignal): Promise<Cell> {
    const count = options.cluster ? options.cluster.workers + 2 : 1;
    const proxies = await Promise.all(Array.from({ length: count }, () => startTcpProxy(0)));
    const cell = new Cell(options, proxies);
    try {
      await cell.startAll();
      await cell.ready(signal);
      cell.#isOpen = true;
      return cell;
    } catch (error) {
      await cell.close();
      throw error;
    }
  }

  get form(): 'embedded' | 'cluster' {
    return this.#options.cluster ? 'cluster' : 'embedded';
  }

  /** The NATS server, as commands of an operator reach it. @throws Error of an embedded cell */
  get natsUrl(): string {
    return this.#natsUrlOf(GATEWAY);
  }

  /** Of every process of the cell. */
  get environment(): NodeJS.ProcessEnv {
    return {
      PATH: process.env['PATH'],
      HOME: this.#options.folder,
      TMPDIR: tmpdir(),
      TROUPE_HOME: this.home,
      TROUPE_TOKEN: this.#options.token,
      TROUPE_OFFLINE_TOKENS_PER_SECOND: '0',
    };
  }

  process(name: string): OwnProcess {
    const known = this.#processes.get(name) ?? this.#create(name);
    this.#processes.set(name, known);
    return known;
  }

  /** Starts every process that does not run. */
  async startAll(): Promise<void> {
    const { cluster } = this.#options;
    if (cluster) await this.start(NATS);
    const names = cluster ? [...this.workers, GATEWAY] : [PROGRAM];
    await Promise.all(names.map((name) => this.start(name)));
  }

  /**
   * Starts it unless it runs. NATS is ready then, other processes are starting.
   * @param script default the cell's own
   */
  async start(name: string, script?: string): Promise<void> {
    if (name === NATS) return this.#startNats();
    if (script !== undefined) this.#processes.set(name, this.#create(name, script));
    this.process(name).start((line) => {
      // A program that cannot start prints its error instead, which `#crashed` shows.
      const port = /"url":"\w+:\/\/[^"/]*:(\d+)/.exec(line)?.[1];
      if (port !== undefined) this.#gatewayProxy.leadTo(Number(port));
    });
  }

  /**
   * The next process to replace by the other program: each worker, then the gateway. When all run
   * it, they return to the first program in the same order.
   * @throws Error without another program
   */
  nextReplacement(): Replacement {
    const { other, script, cluster } = this.#options;
    if (!other) throw new Error('the cell has no other program');
    const names = cluster ? [...this.workers, GATEWAY] : [PROGRAM];
    const number = this.#replacements++;
    const name = names[number % names.length]!;
    const isOther = Math.floor(number / names.length) % 2 === 0;
    const started = isOther ? `troupe ${other.version}` : 'the first program again';
    const what = `${name} is stopped, and started with ${started}`;
    return { name, script: isOther ? other.script : script, what };
  }

  /**
   * Cuts a process off from NATS. Returns what restores its connection.
   * @param halfOpen connections stay open, and no byte passes
   */
  partition(name: string, halfOpen: boolean): () => void {
    const proxy = this.#natsProxies.get(name)!;
    if (halfOpen) {
      proxy.pause();
      return () => proxy.resume();
    }
    proxy.refuse(true);
    proxy.cut();
    return () => proxy.refuse(false);
  }

  /**
   * Resolves when the gateway reports that every shard has an owner.
   * @throws TroupeError UNAVAILABLE when it does not within two minutes; CANCELLED
   */
  async ready(signal?: AbortSignal): Promise<void> {
    const address = `${this.url.replace(/^ws/, 'http')}/readyz`;
    for (const end = performance.now() + READY_MS_MAX; performance.now() < end; ) {
      if (signal?.aborted) throw new TroupeError('CANCELLED', 'stopped before the load began');
      if (this.#failure !== undefined)
        throw new TroupeError('UNAVAILABLE', `the cell did not start: ${this.#failure}`);
      const isReady = await fetch(address, { signal: AbortSignal.timeout(2_000) }).then(
        ({ status }) => status === 200,
        () => false,
      );
      if (isReady) return;
      await sleep(LOOK_MS);
    }
    const printed = [...this.#processes.values()].map((one) => `${one.name}: ${one.printed}`);
    const text = `the cell is not ready after ${READY_MS_MAX / 1_000} s. ${printed.join('; ')}`;
    throw new TroupeError('UNAVAILABLE', text);
  }

  /** Kills all processes. May be repeated. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#processes.values()].map((one) => one.end()));
    await Promise.all(
      [this.#gatewayProxy, ...this.#natsProxies.values()].map((one) => one.close()),
    );
  }

  #create(name: string, script = this.#options.script): OwnProcess {
    const { guard, cluster, folder } = this.#options;
    const isNats = name === NATS;
    return new OwnProcess({
      name,
      program: isNats ? cluster!.natsServer : process.execPath,
      args: isNats ? ['-c', join(folder, 'nats.conf')] : [script, ...this.#argumentsOf(name)],
      env: isNats ? { PATH: process.env['PATH'] } : this.environment,
      guard,
      onCrash: (how) => this.#crashed(name, how),
    });
  }

  #argumentsOf(name: string): string[] {
    const own = ['--json', '--data', this.home];
    if (name === PROGRAM) return ['start', ...own, '--port', '0'];
    const member = [...own, '--name', name, '--nats', this.#natsUrlOf(name)];
    return name === GATEWAY ? ['gateway', ...member, '--port', '0'] : ['worker', ...member];
  }

  #natsUrlOf(name: string): string {
    return `nats://127.0.0.1:${this.#natsProxies.get(name)!.port}`;
  }

  #crashed(name: string, how: string): void {
    if (this.#isClosed) return;
    const { printed } = this.process(name);
    const text = printed === '' ? how : `${how}: ${printed}`;
    if (!this.#isOpen) return void (this.#failure ??= `${name} ended with ${text}`);
    this.#options.onCrash(name, text);
    setTimeout(() => {
      // If it does not start, the cell does not become ready, and `ready` shows what it printed.
      if (!this.#isClosed) this.start(name).catch(() => {});
    }, RESTART_MS).unref();
  }

  /** It chooses its port and writes it to a file when it is ready. */
  async #startNats(): Promise<void> {
    const server = this.process(NATS);
    if (server.isRunning) return;
    const { folder } = this.#options;
    const [ports, store] = [join(folder, 'nats-ports'), join(folder, 'nats')];
    rmSync(ports, { recursive: true, force: true });
    mkdirSync(ports);
    const lines = [
      'host: 127.0.0.1',
      'port: -1',
      `ports_file_dir: ${JSON.stringify(ports)}`,
      `jetstream { store_dir: ${JSON.stringify(store)} }`,
    ];
    writeFileSync(join(folder, 'nats.conf'), lines.join('\n'));
    server.start();
    for (const end = performance.now() + READY_MS_MAX; ; await sleep(LOOK_MS)) {
      const [file] = readdirSync(ports);
      const port = file && /:(\d+)"/.exec(readFileSync(join(ports, file), 'utf8'))?.[1];
      if (port) {
        for (const proxy of this.#natsProxies.values()) proxy.leadTo(Number(port));
        return;
      }
      if (!server.isRunning || performance.now() > end)
        throw new TroupeError('UNAVAILABLE', `nats-server did not start: ${server.printed}`);
    }
  }
}

const workersOf = ({ cluster }: CellOptions): readonly string[] =>
  cluster ? Array.from({ length: cluster.workers }, (_, at) => `w${at + 1}`) : [PROGRAM];
