/** Reads a replay file. It may come from anywhere, so all that is shown is checked. */
import type { ActorTurn } from '../../protocols/actor-view.ts';

/** What is shown of a file; `SimulationReplay` of `troupe/test` has more. */
export type Replay = {
  readonly seed: number;
  readonly rule: string;
  readonly why: string;
  readonly history: readonly string[];
  /** at least one, oldest turn first */
  readonly turns: readonly { readonly actor: string; readonly turns: readonly ActorTurn[] }[];
};

/** Undefined for a file that is no replay with turns. */
export function replayOf(text: string): Replay | undefined {
  try {
    const file: unknown = JSON.parse(text);
    return isReplay(file) ? file : undefined;
  } catch {
    return undefined;
  }
}

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isNumber: Check = (value) => typeof value === 'number';
const maybe =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every((each) => check(each));
const fields =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries(checks).every(([name, check]) =>
      check((value as Readonly<Record<string, unknown>>)[name]),
    );

const isTime: Check = (value) =>
  isNumber(value) && !Number.isNaN(new Date(value as number).getTime());

/** A state value of XState. */
const isState: Check = (value) =>
  isText(value) ||
  (typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((each) => isState(each)));

const isTurn = fields({
  turn: isNumber,
  at: isTime,
  input: isText,
  result: isText,
  from: maybe(isText),
  why: maybe(isText),
  before: maybe(isState),
  state: maybe(isState),
  sent: listOf(fields({ to: isText, type: isText })),
  opened: listOf(isText),
  ended: listOf(isText),
});

const hasFields = fields({
  format: (value) => value === 'troupe-simulation',
  seed: isNumber,
  rule: isText,
  why: isText,
  history: listOf(isText),
  turns: listOf(fields({ actor: isText, turns: listOf(isTurn) })),
});

const isReplay = (file: unknown): file is Replay =>
  hasFields(file) && (file as Replay).turns.length > 0;
