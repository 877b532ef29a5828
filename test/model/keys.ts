/**
 * Keys: how long a shard must store an idempotency key (rule F4).
 *
 * A client may send copies of one request during its retry window; a copy may stay in the network
 * for any time. A copy stored after its `notAfter` is stale and is never applied; a key is
 * forgotten when the shard's `keyNow`, the highest log time read so far, is past `firstAt +
 * retention`. The question is how long the retention must be so that no copy that is not stale
 * outlives its key.
 *
 * Time has whole units, and the first copy may leave at time 0.
 */
import type { Model, Step, Violation } from './explore.ts';

export type KeyRules = {
  /** the client sends its last copy at this time at the latest */
  readonly retryWindow: number;
  /**
   * `notAfter` is this long after the log time that the entry point estimates; `null`: copies never
   * become stale
   */
  readonly copyLife: number | null;
  /** the largest error of the entry point's estimate, in either direction */
  readonly estimateError: number;
  /** how far ahead of true time the log's clock may be; it may be exact at the next reading */
  readonly clockError: number;
  readonly retention: number;
};

type KeyWorld = {
  readonly time: number;
  readonly copiesSent: number;
  /** `notAfter` of each copy on its way */
  readonly onTheirWay: readonly number[];
  readonly keyNow: number;
  /** null: the key is not known */
  readonly firstAt: number | null;
  readonly applied: number;
};

const copiesMax = 3;
const never = 1_000;

export function keyRetention(rules: KeyRules): Model<KeyWorld> {
  const { retryWindow, copyLife, estimateError, clockError, retention } = rules;
  const horizon = retryWindow + (copyLife ?? 0) + estimateError + retention + 2 * clockError + 2;
  return {
    initial: () => ({
      time: 0,
      copiesSent: 0,
      onTheirWay: [],
      keyNow: 0,
      firstAt: null,
      applied: 0,
    }),
    steps: (world) => [
      ...(world.time < horizon
        ? [step('H1', 'time passes', { ...world, time: world.time + 1 })]
        : []),
      ...sends(rules, world),
      ...reads(rules, world),
    ],
    identify: (world) => JSON.stringify(world),
    check: appliedOnce,
    checkAtRest: () => undefined,
  };
}

function appliedOnce({ applied, time }: KeyWorld): Violation | undefined {
  if (applied < 2) return undefined;
  return { invariant: 'V4', why: `one request was applied ${applied} times by time ${time}` };
}

function step(rule: string, label: string, next: KeyWorld): Step<KeyWorld> {
  return { rule, label, next, progress: true };
}

function between(low: number, high: number): number[] {
  return Array.from({ length: high - low + 1 }, (_, index) => low + index);
}

const clockReadings = ({ clockError }: KeyRules, { time }: KeyWorld): number[] =>
  between(time, time + clockError);

function sends(rules: KeyRules, world: KeyWorld): Step<KeyWorld>[] {
  const { time, copiesSent, onTheirWay } = world;
  if (copiesSent === copiesMax || time > rules.retryWindow) return [];
  const estimates = clockReadings(rules, world).flatMap((clock) =>
    between(clock - rules.estimateError, clock + rules.estimateError),
  );
  return [...new Set(estimates)].map((estimate) => {
    const notAfter = rules.copyLife === null ? never : estimate + rules.copyLife;
    const sent = [...onTheirWay, notAfter].sort((a, b) => a - b);
    const label = `time ${time}: a copy is sent, good until ${notAfter}`;
    return step('F4', label, { ...world, copiesSent: copiesSent + 1, onTheirWay: sent });
  });
}

/** Entries reach the log and are read: copies of the request, and what others sent. */
function reads(rules: KeyRules, world: KeyWorld): Step<KeyWorld>[] {
  return clockReadings(rules, world).flatMap((logTime) => [
    step('F4', `log time ${logTime}: an entry of another is read`, readAt(rules, world, logTime)),
    ...world.onTheirWay.flatMap((notAfter, index) => {
      const others = world.onTheirWay.filter((_, other) => other !== index);
      const after = readAt(rules, { ...world, onTheirWay: others }, logTime);
      const label = `log time ${logTime}: a copy good until ${notAfter} is read`;
      return [
        step('P1', 'a copy is lost', { ...world, onTheirWay: others }),
        step('F4', label, takeCopy(after, logTime > notAfter)),
      ];
    }),
  ]);
}

/** `keyNow` rises with what is read; keys that are due are forgotten. */
function readAt({ retention }: KeyRules, world: KeyWorld, logTime: number): KeyWorld {
  const keyNow = Math.max(world.keyNow, logTime);
  const due = world.firstAt !== null && keyNow > world.firstAt + retention;
  return { ...world, keyNow, firstAt: due ? null : world.firstAt };
}

function takeCopy(world: KeyWorld, stale: boolean): KeyWorld {
  if (stale || world.firstAt !== null) return world;
  return { ...world, firstAt: world.keyNow, applied: world.applied + 1 };
}
