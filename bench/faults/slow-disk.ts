/**
 * Slow disks. strace attaches to a running process and delays each of its writes and flushes of
 * files in the kernel, whatever the program is written in. Or other processes saturate the disk.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ended, startWriter } from '../busy-disk.ts';
import type { Stage } from './stage.ts';

/** Writes of files; sockets are written with others. */
const CALLS = 'pwrite64,pwritev,fsync,fdatasync,msync,ftruncate';
const WRITERS = 2;
const WRITER_MEBIBYTES = 256;

/** Why disks cannot be made slow here; undefined when they can. */
export function noSlowDisk(): string | undefined {
  const probe = ['-qq', '-o', '/dev/null', '-e', 'trace=fsync', 'true'];
  if (spawnSync('strace', probe, { stdio: 'ignore' }).status === 0) return undefined;
  return 'strace is missing or may not trace: apt-get install strace';
}

/** Each write of the process takes longer by this time, milliseconds, for a while. */
export async function slowDisk(
  stage: Stage,
  who: 'NATS' | 'a worker',
  { delayMs, forMs }: { readonly delayMs: number; readonly forMs: number },
): Promise<void> {
  const { cell, random, chronicle, probes, say } = stage;
  const machine = random.pick(cell.holders);
  const pid = who === 'NATS' ? cell.server.pid : cell.pidOf(machine);
  const name = who === 'NATS' ? who : machine;
  const what = `each write and flush of ${name} takes ${delayMs} ms longer, for ${forMs} ms`;
  const fault = chronicle.begin(what);
  const tracer = await delayWrites(pid, delayMs);
  const times = await probes.recovered(who === 'NATS' ? probes.shards : cell.shardsOf(machine));
  await sleep(forMs);
  const exited = once(tracer, 'exit');
  // strace then lets the process run on
  tracer.kill('SIGTERM');
  await exited;
  fault.ended();
  fault.recovered(times);
  say(what);
  await cell.settled();
}

/** Resolves when strace is attached. */
async function delayWrites(pid: number, delayMs: number): Promise<ChildProcess> {
  const delay = `inject=${CALLS}:delay_enter=${delayMs * 1_000}`;
  const args = ['-f', '-p', String(pid), '-o', '/dev/null', '-e', `trace=${CALLS}`, '-e', delay];
  const tracer = spawn('strace', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const [said] = (await once(tracer.stderr, 'data')) as [Buffer];
  if (!said.includes('attached')) throw new Error(`strace: ${said.toString()}`);
  tracer.stderr.resume();
  return tracer;
}

/** Other processes write to the disk of NATS as fast as they can. */
export async function busyDisk(stage: Stage, forMs: number): Promise<void> {
  const { cell, chronicle, probes, folder } = stage;
  const fault = chronicle.begin(`${WRITERS} processes saturate the disk for ${forMs} ms`);
  const writers = Array.from({ length: WRITERS }, (_, n) =>
    startWriter(join(folder, `writer-${n}`), WRITER_MEBIBYTES),
  );
  await sleep(forMs);
  fault.recovered(await probes.recovered(probes.shards));
  for (const writer of writers) await ended(writer);
  fault.ended();
  await cell.settled();
}
