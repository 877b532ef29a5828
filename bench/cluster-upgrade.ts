/**
 * A rolling upgrade as callers notice it: one ask per shard every 100 ms while each worker is
 * replaced by another build with a newer format of records. The limit beside it is the same ask in
 * the idle cell; the time of a bare process start shows what the hand-over of shards saves.
 */
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TimedAuditor } from './faults/account.ts';
import { buildWorker } from './faults/bundle.ts';
import { FaultCell } from './faults/cell.ts';
import { Probes } from './faults/load.ts';
import { defineScenario } from './harness/scenario.ts';
import { percentile } from './harness/statistics.ts';

const SHARDS = 12;
const ASK_EVERY_MS = 100;

export const clusterUpgrade = defineScenario({
  name: 'cluster-upgrade',
  question: 'for how long is an actor silent while all workers are replaced by another build?',
  secondsMax: 240,
  figures: {
    silenceMs: {
      label: 'longest time between two replies of an actor',
      unit: 'ms',
      limit: 'idleMs',
    },
    refused: { label: '  asks that were refused for now', unit: 'count' },
    failed: { label: '  asks that failed in another way', unit: 'count' },
    replaceMs: { label: 'one worker: SIGTERM until the other build has its shards', unit: 'ms' },
    idleMs: { label: 'limit: the same while the cell is idle', unit: 'ms' },
    nodeMs: { label: 'a bare start of Node', unit: 'ms' },
  },
  async measure({ folder, pick }) {
    const program = await buildWorker();
    const next = await buildWorker({ isNext: true });
    const workers = pick(3, 3, 2);
    const cell = await FaultCell.open({
      folder: join(folder, 'cell'),
      program,
      shards: SHARDS,
      workers,
    });
    try {
      const probes = new Probes(cell, new TimedAuditor(cell.gateway.cell, SHARDS));
      await probes.awake();
      const idle = probes.watch(ASK_EVERY_MS);
      await sleep(pick(5_000, 2_000, 300));
      const { longestMs: idleMs } = await idle.stop();
      const watch = probes.watch(ASK_EVERY_MS);
      const times: number[] = [];
      for (const machine of cell.machines) {
        const begun = performance.now();
        await cell.signal(machine, 'SIGTERM');
        await cell.start(machine, { program: next });
        await cell.settled();
        times.push(performance.now() - begun);
      }
      const { longestMs: silenceMs, refused, failed } = await watch.stop();
      const replaceMs = percentile(times, 0.5);
      return { silenceMs, refused, failed, replaceMs, idleMs, nodeMs: await bareStart() };
    } finally {
      await cell.close();
      for (const command of [program, next]) rmSync(command.at(-1)!, { force: true });
    }
  },
});

async function bareStart(): Promise<number> {
  const begun = performance.now();
  await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit');
  return performance.now() - begun;
}
