/**
 * The built program as one gateway and several workers on its own nats-server, in separate
 * processes.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openNats } from '../../runtime/index.ts';
import { MemoryState } from '../../runtime/state/memory.ts';
import { openCluster } from '../../test/kill/stored.ts';
import { startServer } from './cell.ts';
import { type Program, startGateway, startWorkerProgram } from './program.ts';
import type { Repeat } from './scenario.ts';

const SHARED_MS = 30_000;
const LOOK_MS = 50;

export type ProgramCell = {
  readonly gateway: Program;
  readonly pids: {
    readonly workers: readonly number[];
    readonly gateway: number;
    readonly nats: number;
  };
  stop(): Promise<void>;
};

/** Each costs a worker processor time when it starts, and a smoke run measures nothing. */
const SHARDS_OF_SMOKE = 8;

/**
 * Starts it in an empty folder. Resolves when every worker owns shards. `configure` writes the data
 * folder of a process before its start. The cell has the product's number of shards, except in a
 * smoke run.
 */
export async function openProgramCell(
  { folder, scale }: Pick<Repeat, 'folder' | 'scale'>,
  workers: number,
  configure: (folder: string) => Promise<void>,
): Promise<ProgramCell> {
  const server = await startServer(folder);
  if (scale === 'smoke') await createCell(server.url, SHARDS_OF_SMOKE);
  const folderOf = async (name: string) => {
    const its = join(folder, name);
    await configure(its);
    return its;
  };
  const names = Array.from({ length: workers }, (_, at) => `w${at + 1}`);
  const processes = await Promise.all(
    names.map(async (name) => startWorkerProgram(await folderOf(name), name, server.url)),
  );
  const gateway = await startGateway(await folderOf('gateway'), server.url);
  await shared(server.url, workers);
  return {
    gateway,
    pids: { workers: processes.map(({ pid }) => pid), gateway: gateway.pid, nats: server.pid },
    async stop() {
      await gateway.stop();
      await Promise.all(processes.map((one) => one.stop()));
      await server.stop();
    },
  };
}

/** Processes that open it later take its number of shards. */
async function createCell(url: string, shards: number): Promise<void> {
  const { store } = await openNats({
    servers: [url],
    name: 'creates the cell',
    env: 'main',
    shards,
    state: () => new MemoryState(),
    onAlarm: () => {},
  });
  await store.close();
}

/** Resolves when every worker owns shards. */
async function shared(url: string, workers: number): Promise<void> {
  const cluster = await openCluster(url);
  const deadline = performance.now() + SHARED_MS;
  for (;;) {
    const owners = new Set(cluster.owners());
    if (owners.size === workers && !owners.has(undefined)) break;
    if (performance.now() > deadline) throw new Error(`${owners.size} workers share the shards`);
    await sleep(LOOK_MS);
  }
  await cluster.close();
}
