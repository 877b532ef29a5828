/** Sentences of a report that the table and the page share. */
import type { LoadReport } from '../report.ts';
import { numberText, objectiveText, percentText } from './figures.ts';

export const LATENCY_NOTE =
  'Latency counts from the time at which a request was due, service time from the time at which it was sent: the difference is waiting in the client.';

const KINDS = {
  own: 'started for this test',
  embedded: 'embedded',
  cluster: 'cluster',
} as const satisfies Record<LoadReport['target']['kind'], string>;

/** `Load test "before" of ws://… (troupe 0.1.0, cluster), 2026-11-29 13:00 UTC` */
export const targetText = ({ label, target, startedAt }: LoadReport): string =>
  `Load test${label === undefined ? '' : ` "${label}"`} of ${target.url} (troupe ${target.version}, ${KINDS[target.kind]}), ${minuteText(startedAt)}`;

/** `2026-11-29 13:00 UTC` */
function minuteText(time: string): string {
  const at = Date.parse(time);
  return Number.isNaN(at)
    ? time
    : `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** Workloads, arrivals, steps and objectives. */
export function planText({ plan, steps }: LoadReport): string {
  const shares = Object.entries(plan.mix).map(([name, share]) => `${name} ${percentText(share)}`);
  const arrivals = plan.arrival === 'poisson' ? 'Poisson arrivals' : 'constant arrivals';
  const rates = steps.map(({ ratePerSecond }) => numberText(ratePerSecond)).join(', ');
  const seconds = [...new Set(steps.map((step) => numberText(step.seconds)))].join(', ');
  const objectives = plan.objectives.map(objectiveText).join(', ');
  return [
    `Mix: ${shares.join(', ')}. ${arrivals} at ${rates} per second, ${seconds} s each after ${numberText(plan.warmupSeconds)} s of warm-up, seed ${plan.seed}.`,
    plan.model === undefined ? '' : ` Scripted model: ${plan.model}.`,
    objectives === '' ? ' No objectives.' : ` Objectives: ${objectives}.`,
  ].join('');
}

export function machineText({ machine }: LoadReport): string {
  const gib = numberText(machine.memoryBytes / 2 ** 30);
  const shared = machine.shared
    ? 'The target ran on the same machine and shared its cores with the load generator.'
    : 'The target ran on another machine.';
  return `Load generator: ${machine.cpu}, ${machine.cores} cores, ${gib} GiB, ${machine.os}, Node ${machine.node}. ${shared}`;
}

/** What the test says about capacity. */
export function sustainedText({ plan, steps, sustainedPerSecond }: LoadReport): string {
  if (plan.objectives.length === 0)
    return 'No objectives were set, so the test shows no sustained rate.';
  if (sustainedPerSecond === undefined) return 'No step met all objectives.';
  const highest = Math.max(...steps.map(({ ratePerSecond }) => ratePerSecond));
  const isHighest = sustainedPerSecond >= highest;
  return `Sustained: ${numberText(sustainedPerSecond)} requests per second met all objectives${isHighest ? '; it was the highest rate of the test, so the capacity may be higher' : ''}.`;
}

export const INTERVAL_NOTE =
  'Ratio: after / before, with its 95 % interval by block bootstrap over windows; it is slower or faster when the interval excludes 1. Too few slow moments: the slowest requests came together, so test for longer or at a lower rate.';
