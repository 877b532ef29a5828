/** The scenarios of `npm run bench -- faults`, each on a cell of its own. */
import type { CrashPoint } from './crash-points.ts';
import { crashPoints } from './crash-points.ts';
import { crashAt, cutOff, killServer, killWorkers, stopAndContinue } from './faults.ts';
import type { Scenario } from './stage.ts';

export const scenariosOf = (kills: number): readonly Scenario[] => [
  {
    name: 'kills',
    what: `${kills} kills -9 of workers`,
    run: (stage) => killWorkers(stage, kills),
  },
  {
    name: 'server',
    what: '5 kills -9 of NATS, down for 1 s',
    async run(stage) {
      for (let kill = 0; kill < 5; kill++) await killServer(stage, 1_000);
    },
  },
  {
    name: 'zombie',
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
    name: 'crash-points',
    what: 'a worker that kills itself, at each point of the protocol',
    cell: { timings: { beatMs: 50, deadAfterMs: 500, joinSettleMs: 100, minStayMs: 100 } },
    killers: true,
    run: (stage) => crashAt(stage, Object.keys(crashPoints) as CrashPoint[]),
  },
];
