/**
 * defineActor: the public way to register a statechart as an actor type. It gives every
 * option its default, reports all faults of the machine and the options together, and refuses the
 * type before an actor is created.
 *
 * Boundary: nothing runs here. The shard steps the machine, the effect runner runs the effects.
 */
import { type AnyStateMachine, StateMachine } from 'xstate';
import { TroupeError } from '../../protocols/errors.ts';
import { definitionHash } from '../statechart/check.ts';
import { DEFAULT_POLICY, type HistoryPolicy } from '../history/policy.ts';
import { timerName } from '../statechart/facts.ts';
import { boundLoops, lintMachine } from '../statechart/lint.ts';
import type { ActorDefinition, ActorOptions, MissedTimer } from './definition.ts';
import type { EffectDefinition, Effects } from './effect.ts';
import { optionProblems } from './options.ts';

export type * from './definition.ts';
export type * from './effect.ts';

/**
 * Registers a statechart as an actor type.
 *
 * @throws TroupeError INVALID_ARGUMENT that lists every problem, with its state or its option
 * @example
 * ```ts
 * import { type ActorInput, address, defineActor, hostActions, type Delivered } from 'troupe';
 * import { simulate } from 'troupe/test';
 * import { assign, setup } from 'xstate';
 *
 * type Add = Delivered<{ type: 'counter.add'; amount: number }>;
 * const machine = setup({
 *   types: { context: {} as { sum: number }, events: {} as Add, input: {} as ActorInput },
 *   actions: {
 *     ...hostActions,
 *     add: assign({ sum: ({ context, event }) => context.sum + event.amount }),
 *   },
 * }).createMachine({
 *   id: 'counter',
 *   context: { sum: 0 },
 *   initial: 'counting',
 *   states: {
 *     counting: {
 *       on: {
 *         'counter.add': {
 *           actions: [
 *             'add',
 *             {
 *               type: 'reply',
 *               params: ({ context, event }) => ({ to: event.meta.reply, result: context.sum }),
 *             },
 *           ],
 *         },
 *       },
 *     },
 *   },
 * });
 * const counter = defineActor({ type: 'counter', version: 1, machine });
 * const simulation = await simulate({ actors: [counter] });
 * const add = { type: 'counter.add', amount: 2 };
 * const answer = await simulation.ask(address('default', 'counter', 'a'), add);
 * assert.deepEqual(answer, { kind: 'answered', result: 2 });
 * await simulation.stop();
 * ```
 */
export function defineActor<const Machine extends AnyStateMachine>(
  options: ActorOptions<Machine>,
): ActorDefinition {
  const { type, version, machine } = options;
  const effects: Effects = options.effects ?? {};
  const problems = [
    ...optionProblems(options, effects),
    ...machineProblems(machine, Object.keys(effects)),
  ];
  if (problems.length > 0)
    throw new TroupeError('INVALID_ARGUMENT', refusal(type, version, problems), {
      details: { problems },
    });
  boundLoops(machine);
  return {
    type,
    version,
    name: `${type}@${version}`,
    machine,
    hash: definitionHash(machine),
    effects: Object.fromEntries(
      Object.entries(effects).map(([src, effect]) => [src, withTimeout(effect)]),
    ),
    mailbox: { capacity: 1000, whenFull: 'reject', ...options.mailbox },
    supervision: { onThrow: 'supervisor', ...options.supervision },
    migrate: options.migrate ?? {},
    idleMs: options.idleMs ?? 60_000,
    whenDone: options.whenDone ?? 'keep',
    missedTimers: options.missedTimers ?? {},
    workTimers: options.workTimers ?? [],
    history: policyOf(options.history),
  };
}

const policyOf = (history: ActorOptions<AnyStateMachine>['history'] = {}): HistoryPolicy => ({
  ...DEFAULT_POLICY,
  ...(typeof history === 'string' ? { keep: history } : history),
});

const machineProblems = (machine: unknown, effects: readonly string[]): string[] =>
  machine instanceof StateMachine
    ? lintMachine(machine, { effects }).map(({ state, message }) => `${state}: ${message}`)
    : [];

/** The default of EffectDefinition.timeoutMs: ten minutes. */
export const EFFECT_TIMEOUT_MS = 600_000;

// Calls the effect as a method of its object, so that one written as a class keeps its fields.
const withTimeout = (effect: EffectDefinition): EffectDefinition => ({
  class: effect.class,
  timeoutMs: effect.timeoutMs ?? EFFECT_TIMEOUT_MS,
  run: (input, context) => effect.run(input, context),
  ...(effect.takesSlot === false && { takesSlot: false }),
  ...(effect.workspace && { workspace: effect.workspace }),
  ...(effect.placement && { placement: (input) => effect.placement!(input) }),
  ...(effect.reconcile && { reconcile: (input, context) => effect.reconcile!(input, context) }),
});

const refusal = (type: unknown, version: unknown, problems: readonly string[]): string =>
  `the actor type ${String(type)}@${String(version)} is refused:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`;

/** How to handle a timer that was due while the actor had no owner; `timerId` as in `Ask`. */
export const missedPolicy = (
  { machine, missedTimers }: ActorDefinition,
  timerId: string,
): MissedTimer => missedTimers[timerName(machine, timerId) ?? ''] ?? 'late';

/** Whether a timer limits running work; `timerId` as in `Ask`. */
export const isWorkTimer = (
  { machine, workTimers }: Pick<ActorDefinition, 'machine' | 'workTimers'>,
  timerId: string,
): boolean => workTimers.includes(timerName(machine, timerId) ?? '');
