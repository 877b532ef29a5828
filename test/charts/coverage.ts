/**
 * Coverage: explores all situations of a machine with the real host, and reports the states and
 * transitions (per guarded branch) that no path reached.
 *
 * The exploration is breadth-first over classes of situations (`key`). In every step of every path
 * the machine is saved to JSON, checked, loaded and stepped a second time: a stored actor must
 * behave exactly like one that stayed in memory. Time advances by a millisecond per step, and jumps
 * to the next timer when one fires; timers fire in the order of their due times.
 *
 * Boundary: depends on machines and the host only. The contract of a machine is a ledger: a record
 * of all requests along a path, with checks that throw.
 */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { chai, expect } from 'vitest';
import type { AnyStateMachine } from 'xstate';
import { Probe } from '../../library/simulation/coverage.ts';
import { parseAddress, type Address } from '../../protocols/address.ts';
import { defined } from '../../protocols/defined.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { Message, Meta } from '../../protocols/statechart.ts';
import { checkRow } from '../../runtime/statechart/check.ts';
import { timerName } from '../../runtime/statechart/facts.ts';
import {
  type StepRequest,
  initialState,
  type Cause,
  failed,
  fired,
  type Live,
  load,
  save,
  settled,
  step,
  type Step,
} from '../../runtime/statechart/host.ts';

/** One possible input of the machine. A message is an ask unless `tell`. */
export type Move =
  | {
      name: string;
      event: Message;
      from?: Address;
      tell?: true;
      principal?: NonNullable<Meta['principal']>;
    }
  | { name: string; job: string; output: unknown }
  | { name: string; job: string; error: ErrorData };

/** What happened in one step, for the ledger. */
export type Happened = { name: string; cause: Cause; meta: Meta; step: Step };

/** A record of a path: it is copied per branch and receives every step. Its checks throw. */
export interface Ledger {
  copy(): Ledger;
  take(happened: Happened): void;
}

export type Exploration = {
  machine: AnyStateMachine;
  self: Address;
  /** messages and outcomes; the walk adds the timers itself, named `timer:<delay>` */
  moves: (live: Live, now: number, ledger: Ledger) => readonly Move[];
  /** situations that need no separate exploration have the same key */
  key: (live: Live) => unknown;
  ledger: () => Ledger;
  /** paths by the names of their moves; the exploration also continues from their ends */
  scripts?: readonly (readonly string[])[];
  /** the clock may be set back by so much before a timer fires, named `timer:<delay> set back` */
  setBackMs?: number;
  /** situations; the walk fails when there are more. Default 5,000 */
  situationsMax?: number;
};

export type Report = { unreached: string[]; situations: number; steps: number };

type Place = {
  live: Live;
  now: number;
  depth: number;
  ledger: Ledger;
  /** the last moves that led here */
  path: readonly string[];
  /** the row of the actor as JSON, cached */
  stored?: string;
  /** loaded from `stored`, when the first step from here was made */
  loaded?: Live | undefined;
};
type Delivery = { name: string; cause: Cause; meta: Meta; now: number };
/** A delivery that may happen; a random walk makes one of fifty. */
type Choice = { name: string; make: () => Delivery };

const CREATED_AT = 1_000;

/** Visits every situation, breadth first. */
export function explore(options: Exploration): Report {
  const { situationsMax = 5_000 } = options;
  const probe = new Probe(options.machine);
  const known = new Set<string>();
  const places: Place[] = [];
  const visit = (place: Place): void => {
    const key = JSON.stringify(options.key(place.live));
    if (known.has(key)) return;
    known.add(key);
    places.push(place);
  };
  visit(startPlace(options, probe));
  for (const script of options.scripts ?? []) visit(follow(options, script, probe));
  let steps = 0;
  for (const place of places) {
    expect(places.length, `situations of ${options.machine.id}`).toBeLessThanOrEqual(situationsMax);
    for (const { make } of deliveriesAt(options, place)) {
      steps++;
      visit(go(options, place, make(), probe));
    }
    place.loaded = undefined;
  }
  return { unreached: probe.unreached(), situations: known.size, steps };
}

/**
 * Takes random paths, with the checks of `explore`, but deeper and in any order; returns the number
 * of paths. A path whose checks fail is shrunk, and printed with the seed that repeats it.
 */
export function exploreRandomly(options: Exploration, walks: number): number {
  const picks = fc.array(fc.nat(), { minLength: 20, maxLength: 100 });
  fc.assert(
    fc.property(picks, (list) => followPicks(options, list)),
    { numRuns: walks },
  );
  return walks;
}

function followPicks(options: Exploration, picks: readonly number[]): void {
  let place = startPlace(options);
  for (const pick of picks) {
    const choices = deliveriesAt(options, place);
    if (choices.length === 0) return;
    place = go(options, place, choices[pick % choices.length]!.make());
  }
}

/**
 * The place at the end of a path of named moves. The path may be long, because its places are not
 * stored.
 */
export function follow(options: Exploration, script: readonly string[], probe?: Probe): Place {
  let place = startPlace(options, probe);
  for (const name of script) {
    const choices = deliveriesAt(options, place);
    const delivery = choices.find((one) => one.name === name);
    if (!delivery) {
      throw new Error(
        `${name} cannot happen after ${place.path.join(', ')}; only ${choices.map((one) => one.name).join(', ')}`,
      );
    }
    place = advance(options, place, delivery.make(), place.ledger, probe);
  }
  return place;
}

function startPlace({ machine, self, ledger }: Exploration, probe?: Probe): Place {
  const { tenant, key } = parseAddress(self);
  const input = { self, tenant, key, now: CREATED_AT };
  const { live, requests } = initialState(machine, input, { id: 'm0', now: CREATED_AT, self });
  probe?.enter(live.snapshot);
  const first = ledger();
  const meta = { id: 'm0', now: CREATED_AT, self };
  const cause = { event: { type: 'xstate.init' } };
  first.take({ name: 'startPlace', cause, meta, step: { live, requests, outcome: 'moved' } });
  return { live, now: CREATED_AT, depth: 0, ledger: first, path: [] };
}

/** Everything that may happen at this place. */
function deliveriesAt(
  { machine, self, moves, setBackMs }: Exploration,
  { live, now, depth, ledger }: Place,
): Choice[] {
  const steps: Choice[] = [];
  const id = `m${depth + 1}`;
  const at = now + 1;
  const add = (name: string, when: number, make: () => { cause: Cause; meta: Meta }) =>
    steps.push({ name, make: () => ({ name, now: when, ...make() }) });
  for (const move of moves(live, at, ledger)) {
    if ('event' in move) {
      add(move.name, at, () => messageOf(move, { id, now: at, self }));
      continue;
    }
    const job = live.jobs[move.job];
    if (!job || job.settled) continue;
    add(move.name, at, () => outcomeOf(move, job.key, { id, now: at, self }));
  }
  const armed = Object.entries(live.timers).filter(([, timer]) => !timer.fired);
  const soonest = Math.min(...armed.map(([, timer]) => timer.due));
  for (const [timerId, { due, key }] of armed) {
    if (due > soonest) continue;
    const meta: Meta = { id, now: Math.max(at, due), self };
    const name = `timer:${timerName(machine, timerId) ?? timerId}`;
    add(name, meta.now, () => ({ cause: fired(live, timerId, key, meta), meta }));
    if (setBackMs === undefined) continue;
    const back = { ...meta, aheadMs: setBackMs };
    add(`${name} set back`, meta.now, () => ({
      cause: fired(live, timerId, key, back),
      meta: back,
    }));
  }
  return steps;
}

type Received = Extract<Move, { event: Message }>;

function messageOf({ event, from, principal, tell }: Received, at: Meta) {
  const meta: Meta = {
    ...at,
    ...(from ? { from } : {}),
    ...defined({ principal }),
    ...(tell ? {} : { reply: { id: at.id } }),
  };
  return { cause: { event: { ...event, meta } }, meta };
}

const outcomeOf = (move: Exclude<Move, Received>, key: string, meta: Meta) => ({
  cause:
    'output' in move
      ? settled(move.job, key, move.output, meta)
      : failed(move.job, key, move.error, meta),
  meta,
});

/** One step, in memory and from the store; both must have the same result. */
function go(options: Exploration, place: Place, delivery: Delivery, probe?: Probe): Place {
  const { machine } = options;
  place.loaded ??= loadedAt(machine, place);
  const stored = step(machine, place.loaded, delivery.cause, delivery.now);
  const next = advance(options, place, delivery, place.ledger.copy(), probe);
  next.stored = rowOf(next.live);
  if (isSame(stored, next.step, next.stored)) return next;
  const [actual, expected] = [textOf(stored), textOf(next.step)];
  if (actual !== expected) {
    const about = `${pathTo(place, delivery)}: after it was stored and loaded`;
    demand(JSON.parse(actual), about).toEqual(JSON.parse(expected));
  }
  return next;
}

/**
 * The actor of a place as loaded from a store. It is frozen: a step that changes it throws, and the
 * steps from this place cannot affect each other.
 */
function loadedAt(machine: AnyStateMachine, place: Place): Live {
  const row = frozen(JSON.parse(place.stored ?? rowOf(place.live)));
  demand(checkRow(machine, row), `${place.path.join(', ')}: stored`).toEqual([]);
  return load(machine, row);
}

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}

const rowOf = (live: Live): string => JSON.stringify(save(live));

function advance(
  { machine }: Exploration,
  place: Place,
  delivery: Delivery,
  ledger: Ledger,
  probe?: Probe,
): Place & { step: Step } {
  const { name, cause, meta, now } = delivery;
  const made = step(machine, place.live, cause, now);
  if (made.outcome === 'failed') expect.fail(`${pathTo(place, delivery)}: ${made.error?.message}`);
  probe?.follow(place.live.snapshot, cause.event);
  try {
    ledger.take({ name, cause, meta, step: made });
  } catch (error) {
    (error as Error).message = `after ${pathTo(place, delivery)}: ${(error as Error).message}`;
    throw error;
  }
  const path = [...place.path.slice(-PATH_SHOWN), name];
  return { live: made.live, now, depth: place.depth + 1, ledger, path, step: made };
}

const PATH_SHOWN = 12;
const pathTo = ({ path }: Place, { name }: Delivery): string => [...path, name].join(', ');

/**
 * Two steps with equal requests and rows. Requests are compared as objects: a large text in them is
 * the same string, whose JSON took half of a walk.
 */
const isSame = (a: Step, b: Step, rowOfB: string): boolean =>
  a.outcome === b.outcome && isDeepStrictEqual(a.requests, b.requests) && rowOf(a.live) === rowOfB;

const textOf = ({ outcome, requests, live }: Step): string =>
  JSON.stringify({ outcome, requests, row: save(live) });

/**
 * `expect` for ledgers, which run within a test but are defined outside. It counts no assertions:
 * counting hundreds of thousands took a fifth of the time.
 */
export const demand = chai.expect as unknown as typeof expect;

/** The params of all requests of one host action, in order. */
export const requestsOf = <Params>(requests: readonly StepRequest[], type: string): Params[] =>
  requests.flatMap((ask) =>
    ask.kind === 'action' && ask.type === type ? [ask.params as Params] : [],
  );
