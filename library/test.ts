/**
 * `import ... from 'troupe/test'`: tests of actors on a virtual clock, without a store, a server or
 * a wait. It works in every test runner.
 */
export {
  type SimulatedAsk,
  Simulation,
  type SimulationOptions,
  simulate,
} from './simulation/simulation.ts';
