/**
 * A whole load test: the first request of each workload, the warm-up, the steps, and the report.
 *
 * A ramp ends after the first step that misses an objective, and then tries rates between the last
 * step that met all of them and that one.
 */
import { cpus, release, totalmem, type } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { rounded } from './arguments.ts';
import { limitOf } from './limit.ts';
import { missedOf } from './missed.ts';
import { preflight } from './preflight.ts';
import { type Glance, StepRecorder } from './recorder.ts';
import type { Limit, LoadReport, Objective, Step } from './report.ts';
import { arrivals } from './schedule.ts';
import { runStep, type Send } from './step.ts';
import type { Target } from './target.ts';
import { type Sample, UsageSampler } from './usage.ts';

export type LoadPlan = {
  /** by name; they add up to 1 */
  readonly mix: Readonly<Record<string, number>>;
  /** requests per second of each step; rising, if several */
  readonly rates: readonly number[];
  readonly stepSeconds: number;
  /** before the first step, at its rate */
  readonly warmupSeconds: number;
  readonly arrival: 'poisson' | 'constant';
  readonly seed: number;
  readonly objectives: readonly Objective[];
  /** rates that a ramp tries between its last good step and its first broken one */
  readonly refinements: number;
  readonly timeoutMs: number;
  readonly graceMs: number;
  readonly inFlightMax: number;
};

export type LoadTest = {
  readonly plan: LoadPlan;
  readonly target: Target;
  readonly workloads: ReadonlyMap<string, Send>;
  /** workloads that call a model */
  readonly modelWorkloads: ReadonlySet<string>;
  readonly about: LoadReport['target'];
  /** the target runs on this machine */
  readonly isShared: boolean;
  readonly label?: string;
  /** the command line, without credentials */
  readonly command?: string;
  /** the scripted model, as written on the command line, and the mean time of its answers so far */
  readonly model?: { readonly text: string; readonly meanMs: () => number };
  /** stops the test; the report then contains what was measured until now */
  readonly signal: AbortSignal;
  readonly show: Show;
};

export type Show = {
  readonly preflight: () => void;
  /** the warm-up, or the measurement of a step, begins */
  readonly begin: (phase: Phase) => void;
  /** once a second. `second` is negative during the warm-up */
  readonly window: (step: StepProgress, glance: Glance) => void;
  readonly step: (step: Step) => void;
};

export type Phase = {
  readonly ratePerSecond: number;
  readonly seconds: number;
  readonly isWarmup: boolean;
};

export type StepProgress = {
  readonly ratePerSecond: number;
  readonly second: number;
  readonly seconds: number;
};

const PREFLIGHT_MS_MAX = 30_000;
const SETTLE_MS = 1_000;
/** A step that is shorter by this was cut. */
const CUT_SECONDS = 0.01;
const SEED_STRIDE = 0x9e3779b9;
/** Until it is known. */
const OPEN: Limit = { what: 'unknown', because: 'not known yet' };

/**
 * @throws TroupeError when the first request of a workload fails; then no load was sent. The reason
 *   of `signal` when it stops the test before the end of the warm-up
 */
export async function runLoadTest(test: LoadTest): Promise<LoadReport> {
  const { plan, signal, workloads } = test;
  const startedAt = new Date().toISOString();
  test.show.preflight();
  await preflight(workloads, Math.max(PREFLIGHT_MS_MAX, plan.timeoutMs), signal);
  const steps: Step[] = [];
  for (const ratePerSecond of plan.rates) {
    const step = await measured(test, ratePerSecond, steps.length);
    if (step === undefined) break;
    steps.push(step);
    if (signal.aborted || step.missed.length > 0) break;
    await pause(signal);
  }
  if (steps.length === 0) signal.throwIfAborted();
  if (plan.rates.length > 1) await refine(test, steps);
  return reportOf(test, startedAt, steps);
}

async function refine(test: LoadTest, steps: Step[]): Promise<void> {
  const { plan, signal, workloads } = test;
  for (let n = 0; n < plan.refinements && !signal.aborted; n++) {
    const good = sustainedBy(steps);
    const broken = steps.filter(({ missed }) => missed.length > 0);
    if (good === undefined || broken.length === 0) return;
    const above = Math.min(...broken.map(({ ratePerSecond }) => ratePerSecond));
    const between = rounded(Math.sqrt(good * above));
    if (between <= good || between >= above) return;
    // what the broken step left behind is done first
    await preflight(workloads, PREFLIGHT_MS_MAX, signal).catch(() => {});
    await pause(signal);
    const step = signal.aborted ? undefined : await measured(test, between, steps.length);
    if (step) steps.push(step);
  }
}

/** Rejects when the test is stopped, which the caller checks. */
const pause = (signal: AbortSignal) => sleep(SETTLE_MS, undefined, { signal }).catch(() => {});

/** undefined: stopped during the warm-up */
async function measured(
  test: LoadTest,
  ratePerSecond: number,
  at: number,
): Promise<Step | undefined> {
  const { plan, workloads, signal } = test;
  const warmupSeconds = at === 0 ? plan.warmupSeconds : 0;
  const seconds = warmupSeconds + plan.stepSeconds;
  const recorder = new StepRecorder();
  const watch = new StepWatch(test, recorder, { ratePerSecond, warmupSeconds });
  const { arrival, mix, timeoutMs, graceMs, inFlightMax } = plan;
  const seed = (plan.seed + at * SEED_STRIDE) >>> 0;
  const took = await runStep({
    schedule: arrivals({ ratePerSecond, seconds, arrival, mix, seed }),
    warmupMs: warmupSeconds * 1_000,
    lengthMs: seconds * 1_000,
    workloads,
    recorder,
    timeoutMs,
    graceMs,
    inFlightMax,
    signal,
    onMeasured: () => watch.measure(),
  });
  const samples = await watch.stop();
  if (!watch.isMeasuring) return undefined;
  const { workloads: outcomes, windows } = recorder.finish(took);
  const step = {
    ratePerSecond,
    seconds: took,
    workloads: outcomes,
    windows,
    missed: [],
    limit: OPEN,
  };
  const counted = { ...step, missed: missedOf(plan.objectives, step, timeoutMs) };
  const done = { ...counted, limit: limitOf(factsOf(test, recorder, counted, watch, samples)) };
  test.show.step(done);
  return done;
}

/** Samples the processes and shows progress, once a second. */
class StepWatch {
  readonly #test: LoadTest;
  readonly #recorder: StepRecorder;
  readonly #step: { readonly ratePerSecond: number; readonly warmupSeconds: number };
  readonly #samples: Sample[] = [];
  readonly #usage: UsageSampler;
  readonly #timer: NodeJS.Timeout;
  #second: number;
  /** the warm-up is over */
  isMeasuring = false;
  #tick: Promise<void> = Promise.resolve();

  constructor(
    test: LoadTest,
    recorder: StepRecorder,
    step: { readonly ratePerSecond: number; readonly warmupSeconds: number },
  ) {
    this.#test = test;
    this.#recorder = recorder;
    this.#step = step;
    this.#second = -Math.ceil(step.warmupSeconds);
    this.#usage = new UsageSampler(
      test.target,
      test.about.kind === 'cluster' ? 'gateway' : 'troupe',
    );
    this.#tick = this.#usage.sample().then(() => {});
    this.#timer = setInterval(() => {
      this.#tick = this.#tick.then(() => this.#look());
    }, 1_000);
    const { ratePerSecond, warmupSeconds: seconds } = step;
    if (seconds > 0) test.show.begin({ ratePerSecond, seconds, isWarmup: true });
  }

  get unreadable(): string | undefined {
    return this.#usage.unreadable;
  }

  measure(): void {
    this.isMeasuring = true;
    this.#second = 0;
    this.#recorder.glance();
    const { ratePerSecond } = this.#step;
    const seconds = this.#test.plan.stepSeconds;
    this.#test.show.begin({ ratePerSecond, seconds, isWarmup: false });
  }

  /** The samples of the measured time. */
  async stop(): Promise<readonly Sample[]> {
    clearInterval(this.#timer);
    await this.#tick;
    this.#usage.close();
    return this.#samples;
  }

  async #look(): Promise<void> {
    const { ratePerSecond } = this.#step;
    const second = this.#second++;
    const isMeasuring = this.isMeasuring;
    const sample = await this.#usage.sample();
    const seconds = this.#test.plan.stepSeconds;
    if (isMeasuring && second < seconds) {
      this.#samples.push(sample);
      this.#recorder.usage(second, sample.processes);
      this.#recorder.seal(second);
    }
    this.#test.show.window({ ratePerSecond, second, seconds }, this.#recorder.glance());
  }
}

function factsOf(
  { about, isShared, model, modelWorkloads }: LoadTest,
  recorder: StepRecorder,
  { workloads, missed }: Pick<Step, 'workloads' | 'missed'>,
  { unreadable }: StepWatch,
  samples: readonly Sample[],
) {
  const envelopeMs = meanOf(recorder, (name) => name === 'envelopes');
  const modelWorkMs = meanOf(recorder, (name) => modelWorkloads.has(name));
  return {
    outcomes: Object.values(workloads),
    missed,
    samples,
    isShared,
    cores: cpus().length,
    kind: about.kind,
    meanMs: meanOf(recorder, () => true) ?? 0,
    sendDelayMs: recorder.sendDelayMs(),
    ...(envelopeMs !== undefined && { envelopeMs }),
    ...(modelWorkMs !== undefined && { modelWorkMs }),
    ...(model !== undefined && { modelMs: model.meanMs() }),
    ...(unreadable !== undefined && { unreadable }),
  };
}

/** Mean latency of successful requests of these workloads, ms. */
function meanOf(recorder: StepRecorder, of: (name: string) => boolean): number | undefined {
  let [count, sum] = [0, 0];
  for (const [name, { totalCount, mean }] of recorder.latencies()) {
    if (!of(name) || totalCount === 0) continue;
    count += totalCount;
    sum += (totalCount * mean) / 1_000;
  }
  return count === 0 ? undefined : sum / count;
}

/** The highest rate whose step met all objectives. */
const sustainedBy = (steps: readonly Step[]): number | undefined => {
  const rates = steps
    .filter(({ missed }) => missed.length === 0)
    .map(({ ratePerSecond }) => ratePerSecond);
  return rates.length === 0 ? undefined : Math.max(...rates);
};

function reportOf(test: LoadTest, startedAt: string, steps: Step[]): LoadReport {
  const { plan, about, isShared, label, command, model, signal } = test;
  const { mix, arrival, warmupSeconds, seed, objectives } = plan;
  // A step that was cut short proves nothing about its rate.
  const whole = steps.filter(({ seconds }) => seconds > plan.stepSeconds - CUT_SECONDS);
  const sustained = objectives.length === 0 ? undefined : sustainedBy(whole);
  return {
    format: 'troupe-load-report',
    version: 1,
    startedAt,
    ...(label !== undefined && { label }),
    ...(command !== undefined && { command }),
    target: about,
    machine: {
      cpu: cpus()[0]?.model.trim() ?? 'unknown',
      cores: cpus().length,
      memoryBytes: totalmem(),
      os: `${type()} ${release()}`,
      node: process.version,
      shared: isShared,
    },
    plan: {
      mix: { ...mix },
      arrival,
      warmupSeconds,
      seed,
      objectives: [...objectives],
      ...(model !== undefined && { model: model.text }),
    },
    steps,
    ...(signal.aborted && { interrupted: true }),
    ...(sustained !== undefined && { sustainedPerSecond: sustained }),
  };
}
