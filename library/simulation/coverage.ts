/** Coverage: which states and transitions of a chart were taken, by XState's own inspection. */
import {
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  type AnyTransitionDefinition,
  createEmptyActor,
  type EventObject,
} from 'xstate';
import type { ActorDefinition } from '../../runtime/actor/definition.ts';
import { nodesOf } from '../../runtime/statechart/facts.ts';
import { nameOf, transitionsOf } from '../../runtime/statechart/parts.ts';

/** What was exercised of a chart. A transition is one guarded branch of one event. */
export type ChartCoverage = {
  /** type@version */
  readonly actor: string;
  readonly states: number;
  readonly transitions: number;
  /**
   * states and transitions that were not reached, as `state ID` and `transition ID on EVENT to
   * ID`; errors of effects are events `xstate.error.actor.ID`
   */
  readonly unreached: readonly string[];
};

/** Notes every state and every transition that a step passes through. */
export class Probe {
  readonly #machine: AnyStateMachine;
  readonly #states = new Set<string>();
  readonly #transitions = new Set<AnyTransitionDefinition>();
  readonly #scope: AnyActorScope;

  constructor(machine: AnyStateMachine) {
    this.#machine = machine;
    const self = createEmptyActor();
    self.system.inspect((event) => {
      if (event.type !== '@xstate.microstep') return;
      this.enter(event.snapshot as AnyMachineSnapshot);
      for (const transition of event._transitions) this.#transitions.add(transition);
    });
    this.#scope = {
      self,
      system: self.system,
      id: 'probe',
      sessionId: 'probe',
      logger: () => {},
      defer: () => {},
      stopChild: () => {},
      emit: () => {},
      actionExecutor: () => {},
    };
  }

  enter(snapshot: AnyMachineSnapshot): void {
    for (const { id } of snapshot._nodes) this.#states.add(id);
  }

  follow(snapshot: AnyMachineSnapshot, event: EventObject): void {
    this.enter(snapshot);
    this.#machine.transition(snapshot, event, this.#scope);
  }

  unreached(): string[] {
    const missing: string[] = [];
    for (const node of nodesOf(this.#machine.root)) {
      if (!this.#states.has(node.id)) missing.push(`state ${node.id}`);
      for (const transition of transitionsOf(node)) {
        if (!this.#transitions.has(transition)) missing.push(nameOfTransition(node, transition));
      }
    }
    return missing;
  }

  coverage(actor: string): ChartCoverage {
    const nodes = [...nodesOf(this.#machine.root)];
    const transitions = nodes.reduce((count, node) => count + transitionsOf(node).length, 0);
    return { actor, states: nodes.length, transitions, unreached: this.unreached() };
  }
}

function nameOfTransition(node: AnyStateNode, transition: AnyTransitionDefinition): string {
  const { eventType, guard, target } = transition;
  const name = guard && (nameOf(guard) ?? 'a composed guard');
  const to = target?.map(({ id }) => id).join(', ') ?? 'no target';
  return `transition ${node.id} on ${eventType || 'always'}${name ? ` [${name}]` : ''} to ${to}`;
}

/** The same definition; the probe notes each transition that its host takes. */
export function probed(definition: ActorDefinition, probe: Probe): ActorDefinition {
  const { machine } = definition;
  const transition: AnyStateMachine['transition'] = (snapshot, event, scope) => {
    try {
      probe.follow(snapshot, event);
    } catch {
      // The host reports what a transition throws.
    }
    return machine.transition(snapshot, event, scope);
  };
  return { ...definition, machine: Object.create(machine, { transition: { value: transition } }) };
}

/**
 * Checks that each state, transition and error of charts was exercised.
 *
 * @param coverage of `simulate({ coverage: true, ... })` or `exploreChart`
 * @param except lines of `unreached` that need not be reached
 * @throws Error that names what was not reached, and exceptions that were reached
 * @example
 * ```ts
 * import { expectCovered } from 'troupe/test';
 *
 * expectCovered([{ actor: 'lamp@1', states: 3, transitions: 2, unreached: [] }]);
 * ```
 */
export function expectCovered(
  coverage: readonly ChartCoverage[],
  except: readonly string[] = [],
): void {
  const missing = coverage.flatMap(({ actor, unreached }) =>
    unreached.filter((line) => !except.includes(line)).map((line) => `${actor}: ${line}`),
  );
  const all = new Set(coverage.flatMap(({ unreached }) => unreached));
  const needless = except.filter((line) => !all.has(line));
  const lines = [
    ...(missing.length > 0 ? ['not reached:', ...missing] : []),
    ...(needless.length > 0 ? ['reached, or unknown, although excepted:', ...needless] : []),
  ];
  if (lines.length > 0) throw new Error(lines.join('\n'));
}
