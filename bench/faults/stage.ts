/**
 * A cell under load for the faults of a scenario, and its line of figures. After the scenario the
 * load ends, all processes are started, and the auditor runs.
 */
import { availableParallelism, loadavg } from 'node:os';
import { Random } from '../../library/simulation/random.ts';
import { percentile } from '../harness/statistics.ts';
import { type Account, account, accountOfRows, Arrivals, TimedAuditor } from './account.ts';
import { type CellOptions, FaultCell } from './cell.ts';
import { Chronicle, type InjectedFault } from '../../loadtest/faults/chronicle.ts';
import { Load, Probes } from './load.ts';

export type Scenario = {
  readonly name: string;
  /** a short description with its numbers */
  readonly what: string;
  readonly cell?: Partial<Omit<CellOptions, 'folder' | 'program' | 'around'>>;
  /** some messages kill the worker that handles them, if it has that crash point */
  readonly killers?: boolean;
  /** size of the disk in MB on which `diskOf` is; default the machine's disk */
  readonly diskMegabytes?: number;
  /** NATS, or a machine with its worker; default NATS */
  readonly diskOf?: 'nats' | 'w1';
  /** why this machine cannot run the scenario; undefined when it can */
  readonly needs?: () => string | undefined;
  run(stage: Stage): Promise<void>;
};

export type Stage = {
  readonly cell: FaultCell;
  readonly probes: Probes;
  readonly auditor: TimedAuditor;
  readonly load: Load;
  /** of the scenario's files */
  readonly folder: string;
  readonly random: Random;
  /** receives each fault */
  readonly chronicle: Chronicle;
  /** other figures, `longest gap 812 ms` */
  readonly notes: string[];
  /** problems that the scenario itself found */
  readonly wrong: string[];
  /** receives progress messages */
  readonly say: (what: string) => void;
};

export type StageOptions = {
  readonly seed: number;
  /** the scenario's own */
  readonly folder: string;
  readonly program: readonly string[];
  readonly clients: number;
  readonly pauseMsMax: number;
  readonly say: (what: string) => void;
};

export type Outcome = Account & {
  readonly name: string;
  readonly what: string;
  readonly seed: number;
  /** ISO 8601 */
  readonly startedAt: string;
  readonly seconds: number;
  readonly faults: readonly InjectedFault[];
  readonly notes: readonly string[];
};

const SHARDS = 12;
const WORKERS = 3;

/** @throws Error when the scenario cannot be completed */
export async function play(scenario: Scenario, options: StageOptions): Promise<Outcome> {
  const { seed, folder, program, clients, pauseMsMax, say } = options;
  const begun = performance.now();
  const startedAt = new Date().toISOString();
  const arrivals = new Arrivals();
  const cellOptions = { shards: SHARDS, workers: WORKERS, ...scenario.cell };
  const { around } = arrivals;
  const cell = await FaultCell.open({ ...cellOptions, folder, program, around });
  try {
    arrivals.watch(cell);
    const random = new Random(seed);
    const auditor = new TimedAuditor(cell.gateway.cell, cellOptions.shards);
    const { killers = false } = scenario;
    const load = new Load({ cell, auditor, random, clients, pauseMsMax, killers });
    const probes = new Probes(cell, auditor);
    const found = { chronicle: new Chronicle(), notes: [], wrong: [] };
    const own = { cell, probes, auditor, load, folder, random: random.fork('faults') };
    const stage: Stage = { ...own, say, ...found };
    await probes.awake();
    await scenario.run(stage);
    await load.end();
    await cell.settled();
    say('all is calm: the account is made');
    const audited = scenario.cell?.trims
      ? await accountOfRows(cell, auditor, probes)
      : await account(cell, auditor, arrivals, { folder, actors: load.actors });
    const { name, what } = scenario;
    const { chronicle, notes, wrong } = stage;
    const { faults } = chronicle;
    const seconds = (performance.now() - begun) / 1_000;
    const other = [...audited.other, ...wrong];
    return { ...audited, other, name, what, seed, startedAt, seconds, faults, notes };
  } finally {
    await cell.close();
  }
}

/** One line of text. */
export function lineOf(outcome: Outcome): string {
  const { name, what, seed, seconds, notes, messages, requests } = outcome;
  const recoveries = outcome.faults.flatMap(({ recoveriesMs }) => recoveriesMs);
  const { lost, doubled, other, unknown } = outcome;
  const ms = (share: number) => `${Math.round(percentile(recoveries, share))} ms`;
  return [
    `${name.padEnd(14)} ${what}: ${messages} messages of ${requests} requests`,
    `${lost.length} lost, ${doubled.length} doubled, ${other.length} other faults`,
    ...(unknown > 0 ? [`${unknown} effects unknown and decided`] : []),
    ...(recoveries.length > 0
      ? [`recovery p50 ${ms(0.5)}, p99 ${ms(0.99)}, max ${ms(1)} of ${recoveries.length}`]
      : []),
    ...notes,
    `${Math.round(seconds)} s, seed ${seed}`,
    `${loadavg()[0]!.toFixed(1)} busy on ${availableParallelism()} cores`,
  ].join(', ');
}

export const faultsOf = ({ lost, doubled, other }: Outcome): readonly string[] => [
  ...lost,
  ...doubled,
  ...other,
];
