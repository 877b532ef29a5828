/** The thresholds that `bench -- check` applies to the figures; no other file has any. */
import { moreIsBetter, type Scenario, type Unit } from './scenario.ts';

export type Gate = {
  /** `scenario.figure` */
  readonly figure: string;
  /** the median must not be worse; above 0 where more is better, or no figure could miss it */
  readonly threshold: number;
  /** the wanted value beyond the threshold; missing it fails nothing */
  readonly goal?: number;
};

/**
 * On a machine of two cores, scale `full`. A tenth of the measured performance fails each of them
 * (`test/bench/scale.test.ts`).
 */
export const gates: readonly Gate[] = [
  { figure: 'turn.turnsPerSecond', threshold: 10_000, goal: 20_000 },
  // Share of the strictest limit, and of the limit with the transition that XState publishes. They
  // are ratios of one run, so that a slower machine passes and slower code does not.
  { figure: 'turn.ofLimit', threshold: 0.08, goal: 0.5 },
  { figure: 'turn.ofPublicLimit', threshold: 0.3, goal: 0.5 },
  { figure: 'history.summary', threshold: 1.03 },
  // The required 1 ms is a hundred times what is measured: code ten times slower would pass.
  { figure: 'activation.p99Ms', threshold: 0.08 },
  { figure: 'idle.diskBytesPerActor', threshold: 1_024 },
  { figure: 'idle.memoryGrowthMb', threshold: 100 },
  { figure: 'memory-search.idleMb', threshold: 40 },
  { figure: 'memory-vectors.idleMb', threshold: 40 },
  { figure: 'start.readyMs', threshold: 1_000 },
  { figure: 'start.memoryMb', threshold: 150 },
  { figure: 'run.addedP50Ms', threshold: 5 },
  { figure: 'run.addedP99Ms', threshold: 25 },
  { figure: 'run.runsPerSecond', threshold: 1_000 },
  { figure: 'crowd.offlineS', threshold: 3 },
  { figure: 'crowd.sdkS', threshold: 8 },
  { figure: 'crowd.failed', threshold: 0 },
  { figure: 'crowd.grownMb', threshold: 20 },
  { figure: 'crowd.idleMb', threshold: 180 },
  { figure: 'spawn.spawnsPerSecond', threshold: 200 },
  { figure: 'sessions.listMs', threshold: 50 },
  { figure: 'gateway.idleKb', threshold: 30 },
  { figure: 'gateway.healthP99Ms', threshold: 5 },
  { figure: 'gateway.healthCpuMs', threshold: 0.1 },
  { figure: 'gateway.deltaP99Ms', threshold: 250 },
  { figure: 'channels.addedP50Ms', threshold: 10 },
  { figure: 'channels.wrong', threshold: 0 },
  { figure: 'edge.basicPerSecond', threshold: 3_000, goal: 5_000 },
  { figure: 'edge.basicHalfAckP95Ms', threshold: 50 },
  { figure: 'edge.basicHalfP99Ms', threshold: 20 },
  { figure: 'edge.externalPerSecond', threshold: 1_000, goal: 1_500 },
  { figure: 'edge.externalHalfAckP95Ms', threshold: 50 },
  { figure: 'edge.externalHalfP99Ms', threshold: 20 },
  { figure: 'sagas.ackP95Ms', threshold: 1_000 },
  // 60 s beyond an ETA of 600 s are required, which sagas of seconds could hardly miss.
  { figure: 'sagas.doneP95S', threshold: 40 },
  { figure: 'sagas.unfinished', threshold: 0 },
  { figure: 'sagas.faulty', threshold: 0 },
  { figure: 'sagas.deadLetters', threshold: 0 },
  { figure: 'cluster.hopsOf1', threshold: 5_000 },
  { figure: 'cluster.hopsOf2', threshold: 5_000 },
  { figure: 'cluster.hopsOf3', threshold: 5_000 },
  { figure: 'cluster.ofPublish', threshold: 0.25, goal: 1 },
  { figure: 'cluster-latency.tellOfPublish', threshold: 3 },
  { figure: 'cluster-latency.askOfPublish', threshold: 5 },
  { figure: 'cluster-latency.farAskOfPublish', threshold: 5 },
  // A million actors on three workers.
  { figure: 'cluster-failover.killedP95Ms', threshold: 700 },
  { figure: 'cluster-failover.killedP99Ms', threshold: 2_000 },
  { figure: 'cluster-failover.openMaxMs', threshold: 3_000 },
  { figure: 'cluster-failover.openUnanswered', threshold: 0 },
  { figure: 'cluster-failover.frozenP95Ms', threshold: 1_700 },
  { figure: 'cluster-failover.stoppedP95Ms', threshold: 700 },
  { figure: 'cluster-run.runsPerSecond', threshold: 300 },
  { figure: 'proofs.modelSeconds', threshold: 60 },
  { figure: 'proofs.simulationSeconds', threshold: 120 },
];

export type Verdict = {
  readonly gate: Gate;
  readonly value: number;
  readonly passed: boolean;
  readonly reached: boolean | undefined;
  /** the distance to the threshold, as a share of it; above 0 is better than required */
  readonly margin: number;
};

/** @throws Error for a threshold that no figure of the unit could miss */
export function judge(gate: Gate, value: number, unit: Unit): Verdict {
  const more = moreIsBetter(unit);
  if (more && gate.threshold <= 0)
    throw new Error(`${gate.figure}: a threshold of ${gate.threshold} cannot be missed`);
  const passes = (bound: number) => (more ? value >= bound : value <= bound);
  const { threshold, goal } = gate;
  const difference = more ? value - threshold : threshold - value;
  return {
    gate,
    value,
    passed: passes(threshold),
    reached: goal === undefined ? undefined : passes(goal),
    margin: threshold === 0 ? 0 : difference / threshold,
  };
}

/**
 * Parses a gate from the command line: `turn.turnsPerSecond=8000`. It replaces the gate of the same
 * figure.
 * @throws Error that explains the syntax
 */
export function parseGate(text: string): Gate {
  const [, figure, threshold] = /^([a-z-]+\.\w+)=(\d+(?:\.\d+)?)$/i.exec(text) ?? [];
  if (figure === undefined)
    throw new Error(`--gate is written scenario.figure=number, not ${text}`);
  return { figure, threshold: Number(threshold) };
}

/**
 * Before a run, which may take an hour.
 * @throws Error for a scenario or figure that does not exist, or a threshold as `judge`
 */
export function checkGate(gate: Gate, scenarios: readonly Measured[]): void {
  const [name = '', figure = ''] = gate.figure.split('.');
  const figures = scenarios.find((one) => one.name === name)?.figures;
  const known = Object.keys(figures ?? {});
  if (figures === undefined)
    throw new Error(`--gate ${gate.figure}: there is no scenario ${name}: see \`bench -- list\``);
  if (!Object.hasOwn(figures, figure))
    throw new Error(`--gate ${gate.figure}: ${name} has the figures ${known.join(', ')}`);
  judge(gate, 0, figures[figure]!.unit);
}

type Measured = Pick<Scenario, 'name' | 'figures'>;

export const withGates = (own: readonly Gate[]): readonly Gate[] => [
  ...gates.filter(({ figure }) => !own.some((gate) => gate.figure === figure)),
  ...own,
];
