/** Room: what happens when there is none left to store anything, and then again. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import type { Stage } from './stage.ts';
import { until } from './until.ts';

const FULL_MS = 5_000;
const FILL_MS = 60_000;
/** What statfs says of a disk in memory. */
const TMPFS = 0x0102_1994;
/** Left free by what fills a disk: the load takes the rest. */
const LEFT_BYTES = 256 * 1024;

/** The streams of the cell reach their limit of bytes; later the limit is lifted. */
export async function fullStreams(stage: Stage): Promise<void> {
  const { cell, say } = stage;
  await refuses(stage);
  say('the streams are full');
  await sleep(FULL_MS);
  const nc = await connect({ servers: [cell.server.url] });
  const manager = await jetstreamManager(nc);
  for await (const { config } of manager.streams.list())
    await manager.streams.update(config.name, { max_bytes: -1 });
  await nc.close();
  await goesOn(stage);
}

/**
 * The disk of the server has no byte left. The server then ends JetStream permanently, which is its
 * way; there is room again, and it is started anew.
 */
export async function fullDisk(stage: Stage): Promise<void> {
  const { cell, say } = stage;
  const { folder } = cell.server;
  const { bavail, bsize, type } = statfsSync(folder);
  if (type !== TMPFS) throw new Error(`${folder} is no disk of its own: it will not be filled`);
  const filler = join(folder, 'filler');
  writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - LEFT_BYTES)));
  await refuses(stage);
  say('the disk is full');
  await sleep(FULL_MS);
  rmSync(filler);
  await cell.server.kill('SIGKILL');
  await cell.restartServer();
  await goesOn(stage);
}

/** Nothing is taken any more, in any shard. */
async function refuses({ probes }: Stage): Promise<void> {
  await until('no shard takes anything', () => probes.noneAnswers(), FILL_MS);
}

async function goesOn({ probes, recoveries, cell }: Stage): Promise<void> {
  recoveries.push(...(await probes.recovered(probes.shards)));
  await cell.settled();
}

/** A disk of so many MB in memory at the folder; undefined where this user may not make one. */
export function smallDisk(folder: string, megabytes: number): (() => void) | undefined {
  mkdirSync(folder, { recursive: true });
  const args = ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder];
  if (spawnSync('mount', args, { stdio: 'ignore' }).status !== 0) return undefined;
  return () => void spawnSync('umount', ['-l', folder], { stdio: 'ignore' });
}
