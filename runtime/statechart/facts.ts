/**
 * Facts: what the host needs to know about a machine at every step, computed once per machine.
 * Boundary: reads the machine's nodes, never a snapshot.
 */
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { actionsOf, builtin } from './parts.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { StateMeta } from '../../protocols/statechart.ts';

export type MachineFacts = {
  readonly nodes: ReadonlyMap<string, AnyStateNode>;
  /** invoke id to the node that owns it; ids are unique in a machine that passed lint */
  readonly invokes: ReadonlyMap<string, AnyStateNode>;
  /** timer id to the name of its delay (`after`) or to itself (a delayed `raise` that has an id) */
  readonly timers: ReadonlyMap<string, string>;
  /** nodes with StateMeta.defer, each with its test of an event type */
  readonly deferring: ReadonlyMap<AnyStateNode, (eventType: string) => boolean>;
  /** nodes with StateMeta.passivate */
  readonly passivating: ReadonlySet<AnyStateNode>;
};

const known = new WeakMap<AnyStateMachine, MachineFacts>();

export function factsOf(machine: AnyStateMachine): MachineFacts {
  let facts = known.get(machine);
  if (!facts) known.set(machine, (facts = findFacts(machine)));
  return facts;
}

/**
 * The node with exactly this id. (XState's own lookup splits an id at its dots.)
 * @throws TroupeError INTERNAL when the machine has none
 */
export function nodeById(machine: AnyStateMachine, id: string): AnyStateNode {
  const node = factsOf(machine).nodes.get(id);
  if (!node) throw new TroupeError('INTERNAL', `${machine.id} has no state '${id}'`);
  return node;
}

/** Every node of the machine, parents before children, in document order. */
export function* nodesOf(node: AnyStateNode): Generator<AnyStateNode> {
  yield node;
  for (const child of Object.values(node.states)) yield* nodesOf(child);
}

function findFacts(machine: AnyStateMachine): MachineFacts {
  const nodes = new Map<string, AnyStateNode>();
  const invokes = new Map<string, AnyStateNode>();
  const timers = new Map<string, string>();
  const deferring = new Map<AnyStateNode, (eventType: string) => boolean>();
  const passivating = new Set<AnyStateNode>();
  for (const node of nodesOf(machine.root)) {
    nodes.set(node.id, node);
    for (const { id } of node.invoke) invokes.set(id, node);
    for (const action of actionsOf(node)) {
      const { type, id } = builtin(machine, action);
      if (type === 'xstate.raise' && typeof id === 'string') timers.set(id, id);
    }
    // After the raises: XState makes an `after` one of them, too.
    for (const { eventType, delay } of node.after) timers.set(eventType, String(delay));
    const { defer, passivate } = (node.meta ?? {}) as StateMeta;
    if (Array.isArray(defer) && defer.length > 0) deferring.set(node, eventMatcher(defer));
    if (passivate) passivating.add(node);
  }
  return { nodes, invokes, timers, deferring, passivating };
}

/** The delays of a machine by the names that policies use. */
export const delayNames = (machine: AnyStateMachine): ReadonlySet<string> =>
  new Set(factsOf(machine).timers.values());

/** The name of a timer's delay; undefined for a delayed `raise` without an id. */
export const timerName = (machine: AnyStateMachine, timerId: string): string | undefined =>
  factsOf(machine).timers.get(timerId);

/** XState's rule for event descriptors: `a` is `a`; `a.*` is `a` and everything below it. */
function eventMatcher(descriptors: readonly string[]): (eventType: string) => boolean {
  const exact = new Set(descriptors.map((name) => name.replace(/\.\*$/, '')));
  const prefixes = descriptors
    .filter((name) => name.endsWith('.*'))
    .map((name) => name.slice(0, -1));
  return (type) => exact.has(type) || prefixes.some((prefix) => type.startsWith(prefix));
}
