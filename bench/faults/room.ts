/** Scenarios without room to store anything, and with room again. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import type { OpenFault } from './chronicle.ts';
import type { Stage } from './stage.ts';
import { until } from './until.ts';

const FULL_MS = 5_000;
const FILL_MS = 60_000;
/** The type that statfs reports for a disk in memory. */
const TMPFS = 0x0102_1994;
/** Bytes left free by the file that fills a disk; the load uses them up. */
const LEFT_BYTES = 256 * 1024;

/** The streams of the cell reach their limit of bytes; later the limit is removed. */
export async function fullStreams(stage: Stage): Promise<void> {
  const { cell, say, chronicle } = stage;
  await refuses(stage);
  say('the streams are full');
  const fault = chronicle.begin('the streams are at their limit of bytes');
  await sleep(FULL_MS);
  const nc = await connect({ servers: [cell.server.url] });
  const manager = await jetstreamManager(nc);
  for await (const { config } of manager.streams.list())
    await manager.streams.update(config.name, { max_bytes: -1 });
  await nc.close();
  fault.ended();
  await goesOn(stage, fault);
}

/**
 * The disk of the server is full. nats-server then shuts JetStream down permanently, so the
 * scenario frees the disk and restarts it.
 */
export async function fullDisk(stage: Stage): Promise<void> {
  const { cell, say, chronicle } = stage;
  const { folder } = cell.server;
  const { bavail, bsize, type } = statfsSync(folder);
  if (type !== TMPFS) throw new Error(`${folder} is no disk of its own: it will not be filled`);
  const filler = join(folder, 'filler');
  const fault = chronicle.begin('the disk of NATS is full');
  writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - LEFT_BYTES)));
  await refuses(stage);
  say('the disk is full');
  await sleep(FULL_MS);
  rmSync(filler);
  await cell.server.kill('SIGKILL');
  await cell.restartServer();
  fault.ended();
  await goesOn(stage, fault);
}

/** Waits until no shard accepts anything. */
async function refuses({ probes }: Stage): Promise<void> {
  await until('no shard takes anything', () => probes.noneAnswers(), FILL_MS);
}

async function goesOn({ probes, cell }: Stage, fault: OpenFault): Promise<void> {
  fault.recovered(await probes.recovered(probes.shards));
  await cell.settled();
}

/** Mounts a disk of this size (MB) in memory at the folder; undefined if this user may not. */
export function smallDisk(folder: string, megabytes: number): (() => void) | undefined {
  mkdirSync(folder, { recursive: true });
  const args = ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder];
  if (spawnSync('mount', args, { stdio: 'ignore' }).status !== 0) return undefined;
  return () => void spawnSync('umount', ['-l', folder], { stdio: 'ignore' });
}
