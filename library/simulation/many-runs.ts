/** Many runs: one run after the other, each with its seed, until one fails; then the shortest. */
import { hash, randomInt } from 'node:crypto';
import type { Address } from '../../protocols/address.ts';
import type { ActorDefinition } from '../../runtime/actor/definition.ts';
import { createRegistry } from '../../runtime/actor/registry.ts';
import type { Decision, UnknownEffect } from '../../runtime/system.ts';
import {
  FAULT_KINDS,
  type Fault,
  type FaultKind,
  type Faults,
  listedFaults,
  randomFaults,
} from './faults.ts';
import { failureOf, type SimulationFailure } from './failure.ts';
import { Random } from './random.ts';
import { Run } from './run.ts';
import type { RunPlan, RunResult, RunSetup } from './run-parts.ts';
import { shrink } from './shrink.ts';
import { type ChartCoverage, Probe, probed } from './coverage.ts';
import type { SimulatedAgents } from './agents.ts';
import type { Invariant, SimulatedMessage, SimulatedWorld } from './world.ts';

/** Options of `simulate` with a load: runs with faults. */
export type SimulationRunOptions<Services = unknown> = {
  /** the actors that are tested, as for `createSystem` */
  readonly actors?: readonly ActorDefinition[];
  /** agents with scripted models, beside the actors; default none */
  readonly agents?: SimulatedAgents;
  /**
   * the messages of the clients, or a function that makes those of one run. Their times do not
   * depend on answers (open loop)
   */
  readonly load: readonly SimulatedMessage[] | ((random: Random) => Iterable<SimulatedMessage>);
  /** makes what effects receive as `context.services`; called for each run */
  readonly services?: (world: SimulatedWorld<Services>) => Services;
  /** true (default): all faults; false: none; or probabilities */
  readonly faults?: Faults | boolean;
  /** by name: rules that hold after each commit */
  readonly invariants?: Readonly<Record<string, Invariant<Services>>>;
  /** by name: rules that hold when nothing is left to do */
  readonly atRest?: Readonly<Record<string, Invariant<Services>>>;
  /** whole number; of the first run, the next has the next one. Default random */
  readonly seed?: number;
  /** number of runs, 1 to 1,000,000; default 1 with a seed, else 100 */
  readonly runs?: number;
  /**
   * decides effects of class `once` with an unknown outcome, as an operator would, up to a minute
   * later; undefined leaves it undecided. Default: failed
   */
  readonly operator?: (effect: UnknownEffect) => Decision | undefined;
  /** number of shards, 1 to 64; default 4 */
  readonly shards?: number;
  /** receives the crashes of actors that have no supervisor of their own */
  readonly supervisor?: Address;
  /** virtual milliseconds after the last message until all is at rest; default 3,600,000 */
  readonly restMs?: number;
  /** turns of one run after which it counts as endless; default 2,000 */
  readonly turnsMax?: number;
  /** true: the report has the coverage of the charts of `actors`; slower. Default false */
  readonly coverage?: boolean;
  /** true: a turn that throws breaks no rule; default false */
  readonly mayCrash?: boolean;
  /** receives the text of a failure; default: the standard error output */
  readonly print?: (text: string) => void;
};

/** What the runs did. */
export type SimulationReport = {
  /** true when no run broke a rule */
  readonly ok: boolean;
  /** of the first run */
  readonly seed: number;
  /** runs that were made; the one that failed is the last */
  readonly runs: number;
  readonly turns: number;
  readonly messages: number;
  /** attempts of effects */
  readonly effects: number;
  /** faults that happened, by kind */
  readonly faults: Readonly<Record<FaultKind, number>>;
  /** how long all runs and the search for the shortest history took, milliseconds */
  readonly tookMs: number;
  /** SHA-256 of everything that happened: the same options and seed give the same digest */
  readonly digest: string;
  /** of each definition in `actors`, all runs together; only if it was requested */
  readonly coverage?: readonly ChartCoverage[];
  /** the first broken rule, with its shortest history */
  readonly failure?: SimulationFailure;
  /** @throws Error with the text of the failure, if there is one */
  throwIfFailed(): void;
};

const SHRINK_TRIES_MAX = 400;
const RUNS = 100;

/** @throws TypeError when an option is not valid */
export async function simulateRuns<S>(options: SimulationRunOptions<S>): Promise<SimulationReport> {
  const { seed = randomInt(2 ** 31), print = (text) => void process.stderr.write(`${text}\n`) } =
    options;
  const { runs = options.seed === undefined ? RUNS : 1 } = options;
  checkOptions({ ...options, seed, runs });
  const probes = (options.coverage ? (options.actors ?? []) : []).map(
    (actor) => [actor, new Probe(actor.machine)] as const,
  );
  const actors = options.coverage ? probes.map((one) => probed(...one)) : options.actors;
  const setup = await setupOf({ ...options, ...(actors && { actors }) });
  const begun = performance.now();
  const counts = { turns: 0, messages: 0, effects: 0 };
  const faults = Object.fromEntries(FAULT_KINDS.map((kind) => [kind, 0])) as Record<
    FaultKind,
    number
  >;
  let digest = '';
  let failure: SimulationFailure | undefined;
  let made = 0;
  while (made < runs && !failure) {
    const runSeed = seed + made++;
    const load = loadOf(options.load, runSeed);
    const plan = { seed: runSeed, load, faults: randomFaults(runSeed, options.faults ?? true) };
    const run = new Run(setup, plan);
    const result = await executed(run);
    counts.turns += result.turns;
    counts.messages += load.length;
    counts.effects += result.world.effects.length;
    for (const { kind } of result.faults) faults[kind]++;
    digest = hash('sha256', digest + result.digest, 'hex');
    if (result.failure) failure = await shortest(setup, load, { run, result });
  }
  if (failure) print(failure.text);
  const { text = '' } = failure ?? {};
  return {
    ok: !failure,
    seed,
    runs: made,
    ...counts,
    faults,
    tookMs: Math.round(performance.now() - begun),
    digest,
    ...(options.coverage && {
      coverage: probes.map(([{ name }, probe]) => probe.coverage(name)),
    }),
    ...(failure && { failure }),
    throwIfFailed() {
      if (failure) throw new Error(text);
    },
  };
}

/** @throws TypeError that names the option, its value and what is allowed */
function checkOptions(
  options: Pick<
    SimulationRunOptions,
    'seed' | 'runs' | 'shards' | 'restMs' | 'turnsMax' | 'faults'
  >,
): void {
  const { seed, runs, shards, restMs, turnsMax, faults } = options;
  const whole = (name: string, value: number | undefined, from: number, to: number) => {
    if (value === undefined || (Number.isSafeInteger(value) && value >= from && value <= to))
      return;
    throw new TypeError(
      `${name} is not a whole number from ${show(from)} to ${show(to)}: ${value}`,
    );
  };
  whole('seed', seed, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  whole('runs', runs, 1, 1_000_000);
  whole('shards', shards, 1, 64);
  whole('restMs', restMs, 0, Number.MAX_SAFE_INTEGER);
  whole('turnsMax', turnsMax, 1, Number.MAX_SAFE_INTEGER);
  for (const [kind, rate] of Object.entries(typeof faults === 'object' ? faults : {})) {
    if (!(FAULT_KINDS as string[]).includes(kind))
      throw new TypeError(`faults.${kind} is no fault: use ${FAULT_KINDS.join(', ')}`);
    if (!(typeof rate === 'number' && rate >= 0 && rate <= 1))
      throw new TypeError(`faults.${kind} is not a probability from 0 to 1: ${rate}`);
  }
}

const show = (bound: number): string => bound.toLocaleString('en');

/** @throws TroupeError CONFLICT for two actors of one type and version */
async function setupOf<S>(options: SimulationRunOptions<S>): Promise<RunSetup> {
  const { actors = [], agents, services, operator, supervisor } = options;
  const { shards = 4, restMs = 3_600_000, turnsMax = 2_000, mayCrash = false } = options;
  const rules = (named: SimulationRunOptions<S>['invariants'] = {}) =>
    named as Readonly<Record<string, Invariant>>;
  createRegistry(actors);
  // The platform is loaded only for those who test agents.
  const parts = agents && (await import('./agent-parts.ts')).agentParts;
  return {
    actors,
    agents: parts && ((run) => parts(agents, run)),
    services: services as RunSetup['services'],
    invariants: rules(options.invariants),
    atRest: rules(options.atRest),
    operator,
    shards,
    supervisor,
    restMs,
    turnsMax,
    mayCrash,
  };
}

type Load = RunPlan['load'];

function loadOf(load: SimulationRunOptions['load'], seed: number): Load {
  const messages = typeof load === 'function' ? load(new Random(seed).fork('load')) : load;
  return [...messages].map((message, n) => [n + 1, message] as const);
}

async function executed(run: Run): Promise<RunResult> {
  try {
    return await run.execute();
  } finally {
    run.close();
  }
}

type Executed = { readonly run: Run; readonly result: RunResult };

type Item = { readonly message: Load[number] } | { readonly fault: Fault };

/**
 * The failure with as few messages and faults as possible. If the repeated run breaks no rule, the
 * run depends on something outside of its world, and the first history is shown.
 *
 * A rule may require what its messages do ('the bill is paid'), so it is also broken when they are
 * left out, which says nothing about the mistake. So if the rule holds without the faults, it must
 * also hold without faults for the messages that remain. If the messages alone break the rule, and
 * so does a run without any message, all messages stay.
 */
async function shortest(setup: RunSetup, load: Load, first: Executed): Promise<SimulationFailure> {
  const { seed, failure, faults } = first.result;
  const messages: readonly Item[] = load.map((message) => ({ message }));
  const all: readonly Item[] = [...messages, ...faults.map((fault) => ({ fault }))];
  const again = async (items: readonly Item[]): Promise<Executed> => {
    const run = new Run(setup, {
      seed,
      load: items.flatMap((item) => ('message' in item ? [item.message] : [])),
      faults: listedFaults(items.flatMap((item) => ('fault' in item ? [item.fault] : []))),
    });
    return { run, result: await executed(run) };
  };
  const fails = ({ result }: Executed) => result.failure?.rule === failure!.rule;
  const breaks = async (items: readonly Item[]) => fails(await again(items));
  const needsFaults = !(await breaks(messages));
  const needsMessages = !needsFaults && (await breaks([]));
  const stillFails = async (some: readonly Item[]) => {
    const rest = some.filter((item) => 'message' in item);
    if (needsMessages && rest.length < messages.length) return false;
    if (!(await breaks(some))) return false;
    return !needsFaults || rest.length === messages.length || !(await breaks(rest));
  };
  const { items } = await shrink(all, stillFails, SHRINK_TRIES_MAX);
  const repeated = await again(items);
  const isRepeatable = fails(repeated);
  const { run, result } = isRepeatable ? repeated : first;
  try {
    const before = { messages: load.length, faults: faults.length };
    return await failureOf(result, run, { before, isRepeatable });
  } finally {
    run.close();
  }
}
