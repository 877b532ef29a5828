/** Scenarios without room to store anything, and with room again. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import type { OpenFault } from '../../loadtest/faults/chronicle.ts';
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
  const fault = chronicle.begin('the disk of NATS is full');
  const filler = fill(cell.server.folder, LEFT_BYTES);
  await refuses(stage);
  say('the disk is full');
  await sleep(FULL_MS);
  rmSync(filler);
  await cell.server.kill('SIGKILL');
  await cell.restartServer();
  fault.ended();
  await goesOn(stage, fault);
}

/** The disk of a worker is full: the rows of its shards cannot be written. */
export async function fullWorkerDisk(stage: Stage): Promise<void> {
  const { cell, say, chronicle, probes, folder } = stage;
  const machine = 'w1';
  const fault = chronicle.begin(`the disk of ${machine} is full`);
  const shards = cell.shardsOf(machine);
  const filler = fill(join(folder, machine), 0);
  say(`the disk of ${machine} is full`);
  const recovered = probes.recovered(shards);
  await sleep(FULL_MS);
  rmSync(filler);
  fault.ended();
  if (!cell.isRunning(machine)) {
    say(`${machine} has ended: it is started again`);
    await cell.start(machine);
  }
  fault.recovered(await recovered);
  await cell.settled();
}

/** Fills a disk of its own. Returns the file that does. */
function fill(folder: string, leftBytes: number): string {
  const { bavail, bsize, type } = statfsSync(folder);
  if (type !== TMPFS) throw new Error(`${folder} is no disk of its own: it will not be filled`);
  const filler = join(folder, 'filler');
  try {
    writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - leftBytes)));
  } catch (error) {
    // the load has used up some of it meanwhile: the disk is full
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
  return filler;
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
