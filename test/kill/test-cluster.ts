/**
 * A cluster of worker processes and a gateway process on a real NATS server, for one test file. The
 * processes and their data folders are removed after the last test of the file.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, describe, expect } from 'vitest';
import { eventually } from '../runtime/eventually.ts';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';
import { kill, type Program, startGateway, startWorker } from './program.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { openCluster, type StoredCluster } from './stored.ts';

const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';

/** A suite that needs a NATS server. Without one it is skipped, and its name says why. */
export const describeWithNats = (name: string, suite: () => void): void => {
  describe.skipIf(!server)(`${name}${leftOut}`, () => {
    suite();
  });
};

export const WORKERS: readonly string[] = ['ann', 'bob', 'cleo'];
/** Time between two observations of the owners of the shards. */
const STABLE_MS = 2_000;

const same = (found: unknown, wanted: unknown): void => expect(found).toEqual(wanted);

export class TestCluster {
  /** For files of the test; contains the data folder of each process. */
  readonly folder = mkdtempSync(join(tmpdir(), 'troupe-kill-cluster-'));
  readonly #configure: (data: string) => void;
  readonly #programs = new Map<string, Program>();
  #nats: NatsServer | undefined;
  #stored: StoredCluster | undefined;

  /** @param configure the text of each process's configuration, or a function that writes it */
  constructor(configure: string | ((data: string) => void)) {
    this.#configure =
      typeof configure === 'string'
        ? (data) => writeFileSync(join(data, 'troupe.json5'), configure)
        : configure;
    afterAll(async () => {
      await Promise.all([...this.#programs.values()].map(kill));
      await this.#stored?.close();
      await this.#nats?.stop();
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  /** Resolves when the workers and each gateway are ready. */
  async start(workers = WORKERS, gateways: readonly string[] = ['gateway']): Promise<void> {
    this.#nats = await startNats({ path: server!.path });
    await Promise.all(workers.map((name) => this.startWorker(name)));
    for (const name of gateways) await this.startGateway(name);
  }

  /** @param build the program; default the one of this checkout */
  async startGateway(name: string, build?: string): Promise<void> {
    const port = await reservePort();
    const gateway = await startGateway(this.dataOf(name), port, this.nats, name, build);
    this.#programs.set(name, gateway);
  }

  /** @param build as `startGateway` */
  async startWorker(name: string, build?: string): Promise<void> {
    this.#programs.set(name, await startWorker(this.dataOf(name), name, this.nats, build));
  }

  /** URL of the NATS server. */
  get nats(): string {
    return this.#nats!.url;
  }

  /** Folder of the store of the NATS server. */
  get natsFolder(): string {
    return this.#nats!.folder;
  }

  program(name: string): Program {
    const program = this.#programs.get(name);
    if (!program) throw new Error(`there is no process ${name}`);
    return program;
  }

  urlOf(gateway: string): string {
    return this.program(gateway).url;
  }

  get url(): string {
    return this.urlOf('gateway');
  }

  async kill(name: string): Promise<void> {
    await kill(this.program(name));
  }

  /** What the cluster has stored; the same object at each call. */
  async openStore(): Promise<StoredCluster> {
    this.#stored ??= await openCluster(this.#nats!.url);
    return this.#stored;
  }

  /** The owners of the shards, when each of these workers owns some and they no longer change. */
  async stableOwners(workers = WORKERS): Promise<readonly (string | undefined)[]> {
    const stored = await this.openStore();
    let before: unknown;
    return eventually(async () => {
      const owners = stored.owners();
      const last = before;
      before = owners;
      await pause(STABLE_MS);
      same(new Set(owners), new Set(workers));
      same(owners, last);
      return owners;
    });
  }

  /** Each process has its own data folder, as on separate machines. */
  dataOf(name: string): string {
    const data = join(this.folder, name);
    mkdirSync(data, { recursive: true });
    this.#configure(data);
    return data;
  }
}
