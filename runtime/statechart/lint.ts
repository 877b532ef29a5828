/**
 * Lint: what a hosted machine may contain, checked once at registration. XState accepts undefined
 * names (a misspelled delay fires at once), and machines may start work that the host cannot keep
 * durable. Both are refused here, with the state's name and a remedy.
 *
 * Lint cannot see a function that calls `spawn` or sends under another name; such a step fails.
 */
import { type AnyStateMachine, type AnyStateNode, StateMachine } from 'xstate';
import { hostActions, isEffect, type StateMeta } from '../../protocols/statechart.ts';
import { nodesOf } from './facts.ts';
import { actionsOf, type BuiltIn, isBuiltIn, nameOf, type Part, transitionsOf } from './parts.ts';
import { unfitValue } from './values.ts';

/** One fault: the id of the state that has it, and what it is and what to do. */
export type Problem = { readonly state: string; readonly message: string };

/**
 * Microsteps of one step of a machine that sets none: far above any chart, far below a frozen
 * worker (I8).
 */
export const MAX_ITERATIONS = 1000;

/**
 * Every fault of the machine; [] when it may be hosted. `effects`: the sources that are defined for
 * it.
 */
export function lintMachine(
  machine: AnyStateMachine,
  allowed: { readonly effects: readonly string[] },
): Problem[] {
  const problems: Problem[] = [];
  const report = (state: string) => (message: string) => void problems.push({ state, message });
  machineProblems(machine, report(machine.root.id));
  const owners = new Map<string, string>();
  for (const node of nodesOf(machine.root)) {
    const tell = report(node.id);
    for (const action of actionsOf(node)) actionProblems(machine, action, tell);
    for (const { guard } of transitionsOf(node)) guardProblems(machine, guard, tell);
    invokeProblems(machine, node, allowed.effects, owners, tell);
    deferProblems(node, tell);
    if ('route' in node.config)
      tell('a route has no event that an actor may receive: use an event of its own');
  }
  return problems;
}

/** Gives the machine the bound MAX_ITERATIONS unless its `options: { maxIterations }` sets one. */
export function boundLoops(machine: AnyStateMachine): void {
  if (machine.config.options?.maxIterations === undefined)
    machine.options.maxIterations = MAX_ITERATIONS;
}

type Tell = (message: string) => void;
type Named = Readonly<Record<string, unknown>>;

function machineProblems(machine: AnyStateMachine, tell: Tell): void {
  const { context, options } = machine.config;
  const max = options?.maxIterations;
  if (max !== undefined && !(Number.isInteger(max) && max > 0)) {
    tell(
      `options.maxIterations is ${max}, it must be a whole number from 1 (left out: ${MAX_ITERATIONS})`,
    );
  }
  const unfit = typeof context === 'function' ? undefined : unfitValue(context);
  if (unfit) tell(`the initial context cannot be stored: ${unfit}; keep JSON values only`);
  if (typeof context === 'function' && SPAWNS.test(String(context))) tell(SPAWNED);
  for (const [name, delay] of Object.entries(machine.implementations.delays as Named)) {
    if (typeof delay === 'function' || (typeof delay === 'number' && delay >= 0)) continue;
    tell(
      `the delay '${name}' is ${JSON.stringify(delay)}, it must be milliseconds or a function that answers them`,
    );
  }
}

const SPAWNS = /\bspawn\s*\(/;
const SPAWNED =
  'it spawns an actor into context, a live reference that cannot be stored: invoke an effect';
const ENQUEUES = /\.\s*(spawnChild|stopChild|sendTo|sendParent|emit)\s*\(/;
const ASKS = `the host's actions (${Object.keys(hostActions).join(', ')})`;

/** Actions that only change the snapshot or the tables of timers; every other one is a request. */
const ALLOWED = new Set([
  'xstate.assign',
  'xstate.raise',
  'xstate.cancel',
  'xstate.enqueueActions',
]);

const INSTEAD: Readonly<Record<string, string>> = {
  'xstate.sendTo': 'it sends to a live reference: use the action tell with an address',
  'xstate.sendParent': 'an actor has no live parent: use the action tell with its address',
  'xstate.emit': 'it emits to listeners that an actor does not have: use the action publish',
  'xstate.log': 'a machine is pure and does not log: use the action publish or append',
  'xstate.spawnChild': 'it spawns an actor, which cannot be stored: invoke an effect',
  'xstate.stopChild': 'it stops a child: leave the state that invokes it',
};

function actionProblems(machine: AnyStateMachine, action: Part, tell: Tell): void {
  const name = nameOf(action);
  if (name === undefined)
    return functionProblems(machine, action as BuiltIn, 'an inline action', tell);
  const actions = machine.implementations.actions as Named;
  const body = Object.hasOwn(actions, name) ? (actions[name] as BuiltIn) : undefined;
  if (Object.hasOwn(hostActions, name)) {
    if (isBuiltIn(body))
      tell(`the action '${name}' belongs to the host: give your own another name`);
    if (typeof action === 'string' || !('params' in action))
      tell(`the action '${name}' needs params`);
  } else if (!body) {
    tell(
      `the action '${name}' does not exist: define it in setup({ actions }), or correct its name`,
    );
  } else {
    functionProblems(machine, body, `the action '${name}'`, tell);
  }
}

function functionProblems(machine: AnyStateMachine, body: BuiltIn, what: string, tell: Tell): void {
  if (!isBuiltIn(body))
    return tell(`${what} is a function that a host never runs: use assign, raise or ${ASKS}`);
  const type = body.type ?? '';
  if (type in INSTEAD) return tell(`${what}: ${INSTEAD[type]}`);
  if (!ALLOWED.has(type))
    return tell(`${what}: ${type} is not hosted, use assign, raise or ${ASKS}`);
  if (type === 'xstate.assign' && assignmentsOf(body).some((text) => SPAWNS.test(text)))
    tell(`${what}: ${SPAWNED}`);
  const call =
    type === 'xstate.enqueueActions' ? ENQUEUES.exec(String(body.collect))?.[1] : undefined;
  if (call) tell(`${what}: ${INSTEAD[`xstate.${call}`]}`);
  if (type === 'xstate.raise') raiseProblems(machine, body, what, tell);
}

const assignmentsOf = ({ assignment }: BuiltIn): string[] =>
  [assignment, ...Object.values(assignment ?? {})]
    .filter((part) => typeof part === 'function')
    .map(String);

/** Also the delays of `after`, which XState makes a raise on entry. */
function raiseProblems(
  machine: AnyStateMachine,
  { delay }: BuiltIn,
  what: string,
  tell: Tell,
): void {
  if (typeof delay === 'number' && !(delay >= 0))
    tell(`a delay of ${delay} ms: it must not be negative`);
  if (typeof delay === 'function')
    tell(`${what}: its delay is an inline function, name it in setup({ delays })`);
  if (typeof delay === 'string' && !Object.hasOwn(machine.implementations.delays, delay))
    tell(noDelay(delay));
}

function guardProblems(machine: AnyStateMachine, guard: Part | undefined, tell: Tell): void {
  if (guard === undefined) return;
  const name = nameOf(guard);
  if (name === undefined) {
    if (!isBuiltIn(guard))
      return tell('an inline guard has no name in a diagram: define it in setup({ guards })');
    for (const inner of guard.guards ?? []) guardProblems(machine, inner, tell);
    return;
  }
  const guards = machine.implementations.guards as Named;
  if (!Object.hasOwn(guards, name)) {
    return tell(
      `the guard '${name}' does not exist: define it in setup({ guards }), or correct its name`,
    );
  }
  const body = guards[name] as Part;
  if (isBuiltIn(body)) guardProblems(machine, body, tell);
}

type Invoke = AnyStateNode['invoke'][number];

function invokeProblems(
  machine: AnyStateMachine,
  node: AnyStateNode,
  effects: readonly string[],
  owners: Map<string, string>,
  tell: Tell,
): void {
  for (const invoke of node.invoke) {
    const other = owners.get(invoke.id);
    if (other)
      tell(`the invoke id '${invoke.id}' is taken by ${other}: ids are unique in a machine`);
    owners.set(invoke.id, node.id);
    if (invoke.systemId) tell(`invoke '${invoke.id}': a systemId names a live actor, remove it`);
    if ('onSnapshot' in invoke)
      tell(`invoke '${invoke.id}': an effect has no snapshots, remove onSnapshot`);
    sourceProblems(machine, invoke, effects, tell);
  }
}

function sourceProblems(
  machine: AnyStateMachine,
  { id, src }: Invoke,
  effects: readonly string[],
  tell: Tell,
): void {
  const actors = machine.implementations.actors as Named;
  const inline = typeof src !== 'string' || src.startsWith('xstate.invoke.');
  if (inline)
    return tell(
      `invoke '${id}' has inline logic: name an effect() in setup({ actors }) and invoke it by name`,
    );
  if (!Object.hasOwn(actors, src)) {
    return tell(
      `invoke '${id}': the actor '${src}' does not exist, define it as effect() in setup({ actors })`,
    );
  }
  const logic = actors[src];
  if (logic instanceof StateMachine) {
    return tell(
      `invoke '${id}': '${src}' is a live child machine, register it as an actor type and tell it`,
    );
  }
  if (!isEffect(logic)) {
    return tell(
      `invoke '${id}': '${src}' is host work that a restart loses, make it effect() and define it in effects`,
    );
  }
  if (!effects.includes(src))
    tell(`invoke '${id}': the effect '${src}' has no definition, add it to effects`);
}

const noDelay = (name: string): string =>
  `the delay '${name}' does not exist and would fire at once: define it in setup({ delays }), or correct its name`;

function deferProblems(node: AnyStateNode, tell: Tell): void {
  const { defer } = (node.meta ?? {}) as StateMeta;
  if (defer === undefined) return;
  if (!Array.isArray(defer)) return tell('meta.defer must be a list of event types');
  for (const name of defer as unknown[]) {
    if (typeof name !== 'string' || !DEFERRED.test(name) || name.startsWith('xstate.')) {
      tell(
        `meta.defer has ${JSON.stringify(name)}: write event types, or 'a.*' for a and all below it`,
      );
    } else if (node.transitions.has(name)) {
      tell(
        `'${name}' is deferred here and has a transition here, which could never be taken: remove one`,
      );
    }
  }
}

const DEFERRED = /^[^*\s]+(\.\*)?$/;
