/** simulate: a simulated system that a test controls, or many runs of one with faults. */
import { checkOptions, type OptionNames } from '../../runtime/option-names.ts';
import { type SimulationReport, type SimulationRunOptions, simulateRuns } from './many-runs.ts';
import { Simulation, type SimulationOptions } from './simulation.ts';

const CONTROLLED = {
  actors: 'required',
  services: 'optional',
  supervisor: 'optional',
  load: 'optional',
  shards: 'optional',
} satisfies OptionNames<SimulationOptions>;
const RUNS = {
  ...CONTROLLED,
  actors: 'optional',
  load: 'required',
  agents: 'optional',
  faults: 'optional',
  invariants: 'optional',
  atRest: 'optional',
  seed: 'optional',
  runs: 'optional',
  operator: 'optional',
  restMs: 'optional',
  turnsMax: 'optional',
  coverage: 'optional',
  mayCrash: 'optional',
  print: 'optional',
} satisfies OptionNames<SimulationRunOptions>;

/**
 * Runs actors in many simulated runs with faults, until an invariant is broken. Each run has its
 * own store, virtual time and services; a run that fails is repeated with fewer messages and
 * faults, and the shortest history is printed. Without `load`, it starts a `Simulation`, which the
 * test controls itself.
 *
 * The same options and seed give the same history, if effects, services and invariants use no
 * other time, randomness or I/O than those of the simulated world.
 *
 * @throws TroupeError when the actors cannot be registered together, or an option is missing
 *   or misspelled. TypeError when its value is not valid
 * @example
 * ```ts
 * import { address, defineActor } from 'troupe';
 * import { simulate } from 'troupe/test';
 * import { assign, setup } from 'xstate';
 *
 * const machine = setup({
 *   types: { context: {} as { count: number }, events: {} as { type: 'counter.add' } },
 * }).createMachine({
 *   context: { count: 0 },
 *   on: { 'counter.add': { actions: assign({ count: ({ context }) => context.count + 1 }) } },
 * });
 * const to = address('default', 'counter', 'visits');
 * const report = await simulate({
 *   actors: [defineActor({ type: 'counter', version: 1, machine })],
 *   load: ['1', '2', '3'].map((key) => ({ to, event: { type: 'counter.add' }, key })),
 *   atRest: { 'each is counted once': ({ actor }) => actor(to)?.context.count === 3 },
 *   seed: 1,
 *   runs: 20,
 * });
 * report.throwIfFailed();
 * ```
 */
export function simulate<Services = unknown>(
  options: SimulationRunOptions<Services>,
): Promise<SimulationReport>;
export function simulate(options: SimulationOptions): Promise<Simulation>;
export async function simulate<S>(
  options: SimulationRunOptions<S> | SimulationOptions,
): Promise<SimulationReport | Simulation> {
  const isOfRuns = (options as { load?: unknown } | undefined)?.load !== undefined;
  checkOptions('simulate', options, isOfRuns ? RUNS : CONTROLLED);
  if (options.load !== undefined) return simulateRuns(options);
  const simulation = new Simulation(options);
  await simulation.start();
  return simulation;
}
