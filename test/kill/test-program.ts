/**
 * The program as one process with its data folder, for one test file: started, killed with kill -9
 * and started again on the same data and port. The process and the folder are removed after the
 * last test of the file.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { connectTo } from './conversations.ts';
import { kill, type Program, startProgram } from './program.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { openDead, type Stored } from './stored.ts';

export class TestProgram {
  /** For files of the test; contains the data folder. */
  readonly folder = mkdtempSync(join(tmpdir(), 'troupe-kill-'));
  readonly data: string;
  readonly #clients: GatewayClient[] = [];
  #port: number | undefined;
  #running: Program | undefined;
  /** what it wrote to standard error since it was ready */
  errors = '';
  #stored: Stored | undefined;

  /** @param config the configuration file, JSON5; the test may replace it before the start */
  constructor(config = '{}') {
    this.data = join(this.folder, 'data');
    mkdirSync(this.data);
    writeFileSync(join(this.data, 'troupe.json5'), config);
    afterAll(async () => {
      await this.kill();
      await this.#closeStore();
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  get url(): string {
    if (!this.#running) throw new Error('the program is not running');
    return this.#running.url;
  }

  get pid(): number {
    if (!this.#running) throw new Error('the program is not running');
    return this.#running.child.pid!;
  }

  /** Its exit code or the signal that ended it; null while it runs. */
  get exit(): number | string | null {
    const { exitCode, signalCode } = this.#running!.child;
    return exitCode ?? signalCode;
  }

  /** Resolves when the program is ready. Closes the store that `killAndOpenStore` opened. */
  async start(): Promise<void> {
    await this.#closeStore();
    this.#port ??= await reservePort();
    this.#running = await startProgram(this.data, this.#port);
    this.errors = '';
    this.#running.child.stderr!.on('data', (chunk: Buffer) => (this.errors += chunk.toString()));
  }

  /** A new client of the running program. `kill` closes it. */
  async connect(): Promise<GatewayClient> {
    const client = await connectTo(this.url);
    this.#clients.push(client);
    return client;
  }

  async kill(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    if (running) await kill(running);
    for (const client of this.#clients.splice(0)) client.close();
  }

  async killAndOpenStore(): Promise<Stored> {
    await this.kill();
    this.#stored = await openDead(this.data);
    return this.#stored;
  }

  /** Removes the data folder of the stopped program, so that the next start has no data. */
  async clear(): Promise<void> {
    await this.#closeStore();
    rmSync(this.data, { recursive: true });
    mkdirSync(this.data);
  }

  async #closeStore(): Promise<void> {
    const stored = this.#stored;
    this.#stored = undefined;
    await stored?.close();
  }
}
