/**
 * `import ... from 'troupe/test'`: tests of actors on a virtual clock, without a store, a server or
 * a wait. It works in every test runner.
 */
export { simulate } from './simulation/simulate.ts';
export {
  type SimulatedAsk,
  Simulation,
  type SimulationOptions,
} from './simulation/simulation.ts';
export type { SimulationReport, SimulationRunOptions } from './simulation/many-runs.ts';
export type { SimulationFailure, SimulationReplay } from './simulation/failure.ts';
export type { Fault, FaultKind, Faults } from './simulation/faults.ts';
export { Random } from './simulation/random.ts';
export {
  say,
  type ScriptedAnswer,
  type ScriptedRequest,
  type SimulatedAgents,
} from './simulation/agents.ts';
export type {
  Invariant,
  SimulatedActor,
  SimulatedAnswer,
  SimulatedEffect,
  SimulatedMessage,
  SimulatedWorld,
} from './simulation/world.ts';
export { type ChartCoverage, expectCovered } from './simulation/coverage.ts';
export {
  type ChartPath,
  type ChartSituation,
  type EffectEnd,
  exploreChart,
  type ExploredChart,
  type ExploreOptions,
} from './simulation/explore-chart.ts';
export { type GoldenReplay, replayRecordings } from './simulation/golden.ts';
