/**
 * The worker process under faults: a node of the cell with the actors of the simulation. It records
 * what its effects do, and can kill itself at a crash point. The runtime is unmodified; everything
 * special wraps its ports.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSystem, openNats, openStateCache } from '../../runtime/index.ts';
import type { Timings } from '../../runtime/cluster/heartbeat.ts';
import { killer, simActors } from '../../test/sim/actors.ts';
import { BOSS } from '../../test/sim/workload.ts';
import { type CrashPoint, withCrashPoint } from './crash-points.ts';
import { effectsFile, worldOf } from './effects.ts';

export const ENV = 'faults';

/** The arguments of a worker on its command line, as JSON. */
export type WorkerSpec = {
  readonly url: string;
  /** unique in the cell */
  readonly name: string;
  /** the machine whose disk it uses */
  readonly machine: string;
  readonly shards: number;
  /** folder of the rows and of the effects' records */
  readonly folder: string;
  /** records between two snapshots */
  readonly snapshotEvery: number;
  readonly journalTail: number;
  /** trims nothing, so that everything can be audited at the end */
  readonly keepsAll: boolean;
  readonly timings: Partial<Timings>;
};

/**
 * Resolves when the node is ready and has printed `ready`. It ends at SIGTERM. TROUPE_CRASH_AT
 * names the crash point of a worker that trims nothing.
 */
export async function serveWorker(spec: WorkerSpec): Promise<void> {
  const { url, name, machine, shards, folder, snapshotEvery, journalTail, keepsAll, timings } =
    spec;
  const onAlarm = (what: string) => said(`alarm: ${what}`);
  const ports = await openNats({
    servers: [url],
    name,
    env: ENV,
    shards,
    state: (cell) => openStateCache({ path: join(folder, machine), cell, mapSizeBytes: 2 ** 28 }),
    onAlarm,
  });
  const point = process.env['TROUPE_CRASH_AT'] as CrashPoint | undefined;
  if (point === 'inTheTurn') killer.kill = () => process.kill(process.pid, 'SIGKILL');
  const system = await createSystem({
    ...(keepsAll ? withCrashPoint(ports, point) : ports),
    actors: simActors,
    env: ENV,
    supervisor: BOSS,
    services: worldOf((line) => appendFileSync(effectsFile(folder), `${line}\n`)),
    snapshotEvery,
    journalTail,
    onAlarm,
    cluster: {
      role: 'worker',
      name,
      version: 'faults',
      timings,
      onEvent: (event) => said(JSON.stringify(event)),
    },
  });
  process.once('SIGTERM', () => void system.stop().then(() => process.exit()));
  process.stdout.write('ready\n');
}

/** Writes to the worker's own file, with the time since its start. */
const said = (what: string): void => {
  process.stderr.write(`${Date.now()} ${what}\n`);
};
