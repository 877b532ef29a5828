/** The scenarios of `npm run bench -- faults`, each on a cell of its own. */
import type { CrashPoint } from './crash-points.ts';
import { crashPoints } from './crash-points.ts';
import { comeAndGo, rollingRestart, serverLate } from './changes.ts';
import { crashAt, cutOff, killServer, killWorkers, slowDown, stopAndContinue } from './faults.ts';
import { plantDuplicate, plantLoss, plantSecondStart } from './plant.ts';
import { clockJumps } from './clocks.ts';
import { noClocks } from './fake-clock.ts';
import { fullDisk, fullStreams, fullWorkerDisk } from './room.ts';
import { busyDisk, noSlowDisk, slowDisk } from './slow-disk.ts';
import { rollingUpgrade } from './upgrade.ts';
import type { Scenario } from './stage.ts';

const others: readonly Scenario[] = [
  {
    name: 'server',
    what: '5 kills -9 of NATS, down for 1 s',
    async run(stage) {
      for (let kill = 0; kill < 5; kill++) await killServer(stage, 1_000);
    },
  },
  {
    name: 'former-owner',
    what: 'SIGSTOP of a worker for 5 s, 3 times',
    async run(stage) {
      for (let round = 0; round < 3; round++) await stopAndContinue(stage, 5_000);
    },
  },
  {
    name: 'partition',
    what: 'a worker cut off from NATS for 10 s',
    run: (stage) => cutOff(stage, 'refused', 10_000),
  },
  {
    name: 'half-open',
    what: 'no byte passes between a worker and NATS for 10 s',
    run: (stage) => cutOff(stage, 'half-open', 10_000),
  },
  {
    name: 'delay',
    what: 'a worker 200 ms away from NATS for 10 s',
    run: (stage) => slowDown(stage, 200, 10_000),
  },
  {
    name: 'full-streams',
    what: 'streams at their limit of bytes for 5 s',
    cell: { maxBytes: 2 * 2 ** 20 },
    run: fullStreams,
  },
  {
    name: 'full-disk',
    what: 'the disk of NATS without room for 5 s',
    diskMegabytes: 64,
    run: fullDisk,
  },
  {
    name: 'full-worker-disk',
    what: 'the disk of a worker without room for 5 s',
    diskMegabytes: 64,
    diskOf: 'w1',
    run: fullWorkerDisk,
  },
  {
    name: 'slow-disk',
    what: 'writes of NATS take 20 ms longer and those of a worker 200 ms, for 10 s each',
    needs: noSlowDisk,
    async run(stage) {
      await slowDisk(stage, 'NATS', { delayMs: 20, forMs: 10_000 });
      await slowDisk(stage, 'a worker', { delayMs: 200, forMs: 10_000 });
    },
  },
  {
    name: 'busy-disk',
    what: 'other processes saturate the disk for 10 s',
    run: (stage) => busyDisk(stage, 10_000),
  },
  {
    name: 'clock-jumps',
    what: 'the clocks of three workers jump by an hour forward, by one back, and by 400 days',
    cell: { clocks: true },
    needs: noClocks,
    run: clockJumps,
  },
  {
    name: 'upgrade',
    what: 'every worker is replaced by another build, one is taken back meanwhile',
    run: rollingUpgrade,
  },
  {
    name: 'rolling',
    what: 'every worker is restarted in turn',
    run: rollingRestart,
  },
  {
    name: 'come-and-go',
    what: 'a worker that joins and leaves every 3 s, for 30 s',
    run: (stage) => comeAndGo(stage, 3_000, 5),
  },
  {
    name: 'away',
    what: 'NATS is away for 30 s, and later missing at the start of all workers',
    async run(stage) {
      await killServer(stage, 30_000);
      await serverLate(stage, 5_000);
    },
  },
  {
    name: 'crash-points',
    what: 'a worker that kills itself, at each point of the protocol',
    cell: { timings: { heartbeatMs: 50, deadAfterMs: 500, joinSettleMs: 100, minStayMs: 100 } },
    killers: true,
    run: (stage) => crashAt(stage, Object.keys(crashPoints) as CrashPoint[]),
  },
];

/** Errors that the auditor must find; each runs only when it is named. */
export const planted: readonly Scenario[] = [
  { name: 'planted-loss', what: 'an accepted message is deleted from its mailbox', run: plantLoss },
  {
    name: 'planted-duplicate',
    what: 'an accepted message is stored a second time',
    run: plantDuplicate,
  },
  {
    name: 'planted-effect',
    what: 'the action of an effect that may start once runs again',
    run: plantSecondStart,
  },
];

export const scenariosOf = (kills: number): readonly Scenario[] => [
  {
    name: 'kills',
    what: `${kills} kills -9 of workers`,
    run: (stage) => killWorkers(stage, kills),
  },
  {
    name: 'trims',
    what: `${Math.ceil(kills / 10)} kills -9 where journals are trimmed every 20 records`,
    cell: { snapshotEvery: 20, trims: true },
    run: (stage) => killWorkers(stage, Math.ceil(kills / 10)),
  },
  ...others,
];
