/** Checks the options of `defineActor`. Every message contains path, value and what is allowed. */
import { type AnyStateMachine, StateMachine } from 'xstate';
import { HISTORY_BOUNDS, HISTORY_KEPT } from '../history/policy.ts';
import { unknownNames } from '../option-names.ts';
import { delayNames } from '../statechart/facts.ts';
import type { ActorOptions } from './definition.ts';
import type { Effects } from './effect.ts';

const TYPE = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const DAY_MS = 86_400_000;

/** All faults of the options; [] when they are valid. */
export function optionProblems(options: ActorOptions<AnyStateMachine>, effects: Effects): string[] {
  const { type, version, machine, mailbox, supervision, migrate, idleMs, whenDone } = options;
  const { missedTimers = {}, workTimers = [] } = options;
  const found: (string | false)[] = [
    !TYPE.test(type) &&
      wrong('type', type, '1 to 63 of a-z, 0-9, _ and -, beginning with a letter or digit'),
    !whole(version, 1, 2 ** 31) && wrong('version', version, 'a whole number from 1'),
    !(machine instanceof StateMachine) && wrong('machine', typeof machine, 'a machine of xstate 5'),
    range('mailbox.capacity', mailbox?.capacity, 1, 100_000),
    oneOf('mailbox.whenFull', mailbox?.whenFull, ['reject', 'defer', 'coalesce', 'dropOldest']),
    oneOf('supervision.onThrow', supervision?.onThrow, ['supervisor', 'resume', 'quarantine']),
    range('idleMs', idleMs, 0, DAY_MS),
    oneOf('whenDone', whenDone, ['keep', 'forget']),
    ...Object.entries(migrate ?? {}).flatMap(([from, rewrite]) =>
      migrateProblems(from, rewrite, version),
    ),
    ...historyProblems(options.history),
    ...missedProblems(machine, missedTimers),
    ...workTimerProblems(machine, workTimers),
    ...Object.entries(effects).flatMap(([src, effect]) => effectProblems(machine, src, effect)),
    ...unknownNames('', options, OPTIONS),
    ...unknownNames('mailbox.', mailbox, ['capacity', 'whenFull']),
    ...unknownNames('supervision.', supervision, ['onThrow']),
  ];
  return found.filter((problem) => problem !== false);
}

const OPTIONS =
  'type version machine effects mailbox supervision migrate idleMs whenDone missedTimers workTimers history'.split(
    ' ',
  );

function effectProblems(
  machine: AnyStateMachine,
  src: string,
  effect: unknown,
): (string | false)[] {
  const path = `effects.${src}`;
  if (typeof effect !== 'object' || effect === null)
    return [wrong(path, effect, 'an object { class, run }')];
  const { class: kind, run, reconcile, timeoutMs, takesSlot } = effect as Partial<Effects[string]>;
  return [
    kind === undefined
      ? wrong(`${path}.class`, kind, "one of 'repeatable', 'keyed', 'once'")
      : oneOf(`${path}.class`, kind, ['repeatable', 'keyed', 'once']),
    typeof run !== 'function' && wrong(`${path}.run`, run, 'a function (input, context)'),
    reconcile !== undefined &&
      typeof reconcile !== 'function' &&
      wrong(`${path}.reconcile`, reconcile, 'a function'),
    reconcile !== undefined &&
      kind !== 'once' &&
      `${path}.reconcile: only an effect of class 'once' is reconciled`,
    range(`${path}.timeoutMs`, timeoutMs, 1, DAY_MS),
    takesSlot !== undefined &&
      typeof takesSlot !== 'boolean' &&
      wrong(`${path}.takesSlot`, takesSlot, 'true or false'),
    machine instanceof StateMachine &&
      !Object.hasOwn(machine.implementations.actors, src) &&
      `${path} is not invoked by any state of ${machine.id}`,
  ];
}

function migrateProblems(from: string, rewrite: unknown, version: number): (string | false)[] {
  return [
    !(whole(Number(from), 1, 2 ** 31) && Number(from) < version) &&
      wrong('migrate', from, `an older version than ${version} as the key`),
    typeof rewrite !== 'function' && wrong(`migrate.${from}`, rewrite, 'a function (row) => row'),
  ];
}

function historyProblems(
  history: ActorOptions<AnyStateMachine>['history'] = {},
): (string | false)[] {
  if (typeof history === 'string') return [oneOf('history', history, HISTORY_KEPT)];
  return [
    ...unknownNames('history.', history, ['keep', 'turns', 'days']),
    oneOf('history.keep', history.keep, HISTORY_KEPT),
    range('history.turns', history.turns, ...HISTORY_BOUNDS.turns),
    range('history.days', history.days, ...HISTORY_BOUNDS.days),
  ];
}

function workTimerProblems(machine: AnyStateMachine, names: readonly string[]): (string | false)[] {
  if (!(machine instanceof StateMachine)) return [];
  if (!Array.isArray(names)) return [wrong('workTimers', names, 'a list of delay names')];
  return names.map((name) => delayProblem('workTimers', name, machine));
}

const delayProblem = (path: string, name: string, machine: AnyStateMachine): string | false => {
  const names = delayNames(machine);
  const known = [...names].join(', ') || 'it has none';
  return !names.has(name) && wrong(path, name, `a delay of the machine: ${known}`);
};

function missedProblems(
  machine: AnyStateMachine,
  missed: Readonly<Record<string, string>>,
): (string | false)[] {
  if (!(machine instanceof StateMachine)) return [];
  return Object.entries(missed).flatMap(([name, policy]) => [
    delayProblem('missedTimers', name, machine),
    oneOf(`missedTimers.${name}`, policy, ['late', 'skip', 'once']),
  ]);
}

const whole = (value: unknown, min: number, max: number): boolean =>
  Number.isInteger(value) && (value as number) >= min && (value as number) <= max;

const wrong = (path: string, value: unknown, allowed: string): string =>
  `${path} is ${typeof value === 'string' ? JSON.stringify(value) : show(value)}, it must be ${allowed}`;

const show = (value: unknown): string =>
  typeof value === 'object' && value !== null ? 'an object' : String(value);

const range = (path: string, value: unknown, min: number, max: number): string | false =>
  value !== undefined &&
  !whole(value, min, max) &&
  wrong(
    path,
    value,
    `a whole number from ${min.toLocaleString('en')} to ${max.toLocaleString('en')}`,
  );

const oneOf = (path: string, value: unknown, allowed: readonly string[]): string | false =>
  value !== undefined &&
  !allowed.includes(value as string) &&
  wrong(path, value, `one of ${allowed.map((name) => `'${name}'`).join(', ')}`);
