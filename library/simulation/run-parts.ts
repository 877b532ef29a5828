/** What the parts of a run share: its plan, what happens in it, and what its parts use of it. */
import type { AgentServices } from '../../agent/services.ts';
import type { Address } from '../../protocols/address.ts';
import type { ActorDefinition } from '../../runtime/actor/definition.ts';
import type { Decision, System, UnknownEffect } from '../../runtime/system.ts';
import type { Fault, FaultPlan } from './faults.ts';
import type { SimProcess } from './process.ts';
import type { RunWorld } from './run-world.ts';
import type { VirtualClock } from './virtual-clock.ts';
import type { Invariant, SimulatedMessage, SimulatedWorld } from './world.ts';

/** What all runs of a simulation have in common. */
export type RunSetup = {
  readonly actors: readonly ActorDefinition[];
  readonly agents?: ((run: RunPort) => AgentParts) | undefined;
  readonly services?: ((world: SimulatedWorld) => unknown) | undefined;
  readonly invariants: Readonly<Record<string, Invariant>>;
  readonly atRest: Readonly<Record<string, Invariant>>;
  readonly operator?: ((effect: UnknownEffect) => Decision | undefined) | undefined;
  readonly shards: number;
  readonly supervisor?: Address | undefined;
  readonly restMs: number;
  readonly turnsMax: number;
  readonly mayCrash: boolean;
};

export type RunPlan = {
  readonly seed: number;
  /** with their numbers, which name them also where others are left out */
  readonly load: readonly (readonly [n: number, message: SimulatedMessage])[];
  readonly faults: FaultPlan;
};

/** One thing that happened. Times are virtual milliseconds since the start. */
export type RunEvent = { readonly at: number } & (
  | { readonly kind: 'send'; readonly name: string; readonly message: SimulatedMessage }
  | { readonly kind: 'answer'; readonly name: string; readonly answer: string }
  | {
      readonly kind: 'turn';
      readonly actor: string;
      readonly turn: number;
      readonly result: string;
      readonly machine: string;
      readonly value?: unknown;
      readonly context?: unknown;
    }
  | {
      readonly kind: 'effect';
      readonly actor: string;
      readonly effect: string;
      readonly attempt: number;
      /** `begins`, `done`, or how it failed */
      readonly what: string;
    }
  | { readonly kind: 'fault'; readonly fault: Fault; readonly what: string }
  | { readonly kind: 'note'; readonly what: string }
);

export type RunFailure = {
  /** name of the broken rule */
  readonly rule: string;
  readonly why: string;
  readonly at: number;
};

export type RunResult = {
  readonly seed: number;
  readonly failure?: RunFailure;
  readonly events: readonly RunEvent[];
  readonly faults: readonly Fault[];
  readonly turns: number;
  /** the actors at the end */
  readonly world: RunWorld;
  /** SHA-256 of everything that happened, states and contexts included */
  readonly digest: string;
};

/** What agents add to a run. */
export type AgentParts = {
  readonly actors: readonly ActorDefinition[];
  readonly supervisor: Address;
  readonly services: AgentServices;
  /** Configures the agents; called at each start of the process. */
  start(system: System): Promise<void>;
  /** Called after each commit. */
  look(): void;
};

/** An event without its time. */
export type Said = RunEvent extends infer E ? (E extends RunEvent ? Omit<E, 'at'> : never) : never;

/** A run as its parts use it. */
export interface RunPort {
  readonly clock: VirtualClock;
  readonly faults: FaultPlan;
  readonly world: RunWorld;
  /** the process that runs at present, or the last one */
  readonly process: SimProcess;
  /** the system that clients reach; undefined while no process runs */
  readonly system: System | undefined;
  readonly isOver: boolean;
  /** true: only the history is read any more */
  readonly isFrozen: boolean;
  /** attempts of effects that run in the living process */
  running: number;
  say(event: Said): void;
  /** Called after each commit. */
  check(): void;
  crashed(actor: string, why: string): void;
  /** Kills the process; another one starts later on the same store. */
  kill(fault: Fault, when: string): void;
}
