/**
 * Parts: the shapes of actions and guards in a machine's nodes. XState's types leave most of it
 * open, so this file is the only one that knows them; lint, check and export build on it.
 */
import {
  type AnyStateMachine,
  type AnyStateNode,
  type AnyTransitionDefinition,
  and,
  not,
  or,
  stateIn,
} from 'xstate';

/**
 * An action or guard as written: a name, a name with params, or a function, which XState's own
 * creators (`assign`, `raise`, `and` ...) mark with `resolve` or `check` and their arguments.
 */
export type Part = string | { readonly type: string; readonly params?: unknown } | BuiltIn;

/** Arguments of XState's creators, as far as they are read here. */
export type BuiltIn = ((...args: never[]) => unknown) & {
  readonly type?: string;
  readonly resolve?: unknown;
  readonly check?: unknown;
  readonly id?: unknown;
  readonly delay?: unknown;
  readonly event?: unknown;
  readonly sendId?: unknown;
  readonly assignment?: unknown;
  readonly collect?: unknown;
  readonly guards?: readonly Part[];
  readonly stateValue?: unknown;
};

/**
 * Transitions of a node by any cause, in document order; those of `always` and `initial` have no
 * event type.
 */
export const transitionsOf = (node: AnyStateNode): readonly AnyTransitionDefinition[] => [
  ...[...node.transitions.values()].flat(),
  ...(node.always ?? []),
];

/**
 * Every action that a node holds: entry, exit, those of its transitions and of its initial
 * transition.
 */
export const actionsOf = (node: AnyStateNode): readonly Part[] =>
  [
    node.entry,
    node.exit,
    ...transitionsOf(node).map((transition) => transition.actions),
    node.type === 'compound' ? node.initial.actions : [],
  ].flat() as readonly Part[];

export const isBuiltIn = (part: Part | undefined): part is BuiltIn =>
  typeof part === 'function' && ('resolve' in part || 'check' in part);

/** The name of a part; undefined for a function. */
export const nameOf = (part: Part): string | undefined =>
  typeof part === 'string' ? part : typeof part === 'function' ? undefined : part.type;

/** The name under which logic is invoked; inline logic, which lint refuses, has none. */
export const sourceName = (src: AnyStateNode['invoke'][number]['src']): string =>
  typeof src === 'string' ? src : 'inline logic';

/**
 * What XState runs for an action: itself, or the implementation of its name; {} when there is none.
 */
export function builtin(machine: AnyStateMachine, action: Part): Partial<BuiltIn> {
  const name = nameOf(action);
  const found =
    name === undefined ? action : (machine.implementations.actions as Record<string, Part>)[name];
  return isBuiltIn(found) ? found : {};
}

// By the check that a creator gives its guards: the names of functions do not survive every
// bundler.
const checkOf = (guard: unknown): unknown => (guard as BuiltIn).check;
const GUARDS: ReadonlyMap<unknown, string> = new Map([
  [checkOf(and([])), 'and'],
  [checkOf(or([])), 'or'],
  [checkOf(not('')), 'not'],
  [checkOf(stateIn('')), 'stateIn'],
]);

/** The name of the creator of a built-in action or guard, as it is imported from xstate. */
export const creatorOf = ({ type = '', check }: BuiltIn): string =>
  GUARDS.get(check) ?? guardOfOtherCopy(check) ?? type.replace('xstate.', '');

/** A program of a user's own may have its own copy of XState; its functions keep their names. */
function guardOfOtherCopy(check: unknown): string | undefined {
  const [, name] =
    typeof check === 'function' ? (/^check(StateIn|Not|And|Or)/.exec(check.name) ?? []) : [];
  return name && name[0]!.toLowerCase() + name.slice(1);
}
