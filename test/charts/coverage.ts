/**
 * Coverage: explores all situations of a machine with the real host, and reports the states and
 * transitions (per guarded branch) that no path reached.
 *
 * The exploration is breadth-first over classes of situations (`key`). In every step of every path
 * the machine is saved to JSON, checked, loaded and stepped a second time: a stored actor must
 * behave exactly like one that stayed in memory. Time advances by a millisecond per step, and jumps
 * to the next timer when one fires; timers fire in the order of their due times.
 *
 * Boundary: depends on machines and the host only. The contract of a machine is a ledger: an
 * account of all requests along a path, with checks that throw.
 */
import fc from 'fast-check';
import { chai, expect } from 'vitest';
import {
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  type AnyTransitionDefinition,
  createEmptyActor,
} from 'xstate';
import { parseAddress, type Address } from '../../protocols/address.ts';
import { defined } from '../../protocols/defined.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { Message, Meta } from '../../protocols/statechart.ts';
import { checkRow } from '../../runtime/statechart/check.ts';
import { nodesOf, timerName } from '../../runtime/statechart/facts.ts';
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
import { nameOf, transitionsOf } from '../../runtime/statechart/parts.ts';

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

/** An account of a path: a copy per branch, notified of every step. Checks throw. */
export interface Ledger {
  copy(): Ledger;
  take(happened: Happened): void;
}

export type Exploration = {
  machine: AnyStateMachine;
  self: Address;
  /** by messages and outcomes; timers are found by themselves, named `timer:<delay>` */
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
  /** its row as JSON, cached */
  stored?: string;
};
type Deed = { name: string; cause: Cause; meta: Meta; now: number };

const BORN_AT = 1_000;

/** Walks breadth first through every situation. */
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
  visit(birth(options, probe));
  for (const script of options.scripts ?? []) visit(follow(options, script, probe));
  let steps = 0;
  for (const place of places) {
    expect(places.length, `situations of ${options.machine.id}`).toBeLessThanOrEqual(situationsMax);
    for (const deed of deedsAt(options, place)) {
      steps++;
      visit(go(options, place, deed, probe));
    }
  }
  return { unreached: probe.unreached(), situations: known.size, steps };
}

/**
 * Walks at random, with the checks of `explore`, but deeper and in any order; answers how many
 * walks there were. A walk that breaks a promise is shrunk, and printed with the seed to repeat it.
 */
export function stroll(options: Exploration, walks: number): number {
  const picks = fc.array(fc.nat(), { minLength: 20, maxLength: 100 });
  fc.assert(
    fc.property(picks, (list) => strollBy(options, list)),
    { numRuns: walks },
  );
  return walks;
}

function strollBy(options: Exploration, picks: readonly number[]): void {
  let place = birth(options);
  for (const pick of picks) {
    const deeds = deedsAt(options, place);
    if (deeds.length === 0) return;
    place = go(options, place, deeds[pick % deeds.length]!);
  }
}

/**
 * The place at the end of a path of named moves, which may be long: it is not stored on the way.
 */
export function follow(options: Exploration, script: readonly string[], probe?: Probe): Place {
  let place = birth(options, probe);
  for (const name of script) {
    const deeds = deedsAt(options, place);
    const deed = deeds.find((one) => one.name === name);
    if (!deed) {
      throw new Error(
        `${name} cannot happen after ${place.path.join(', ')}; only ${deeds.map((one) => one.name).join(', ')}`,
      );
    }
    place = advance(options, place, deed, place.ledger, probe);
  }
  return place;
}

function birth({ machine, self, ledger }: Exploration, probe?: Probe): Place {
  const { tenant, key } = parseAddress(self);
  const input = { self, tenant, key, now: BORN_AT };
  const { live, requests } = initialState(machine, input, { id: 'm0', now: BORN_AT, self });
  probe?.enter(live.snapshot);
  const first = ledger();
  const meta = { id: 'm0', now: BORN_AT, self };
  const cause = { event: { type: 'xstate.init' } };
  first.take({ name: 'birth', cause, meta, step: { live, requests, outcome: 'moved' } });
  return { live, now: BORN_AT, depth: 0, ledger: first, path: [] };
}

/** Everything that may happen at this place. */
function deedsAt(
  { machine, self, moves, setBackMs }: Exploration,
  { live, now, depth, ledger }: Place,
): Deed[] {
  const deeds: Deed[] = [];
  const id = `m${depth + 1}`;
  const at = now + 1;
  for (const move of moves(live, at, ledger)) {
    const meta: Meta = { id, now: at, self };
    if ('event' in move) {
      const given: Meta = {
        ...meta,
        ...(move.from ? { from: move.from } : {}),
        ...defined({ principal: move.principal }),
        ...(move.tell ? {} : { reply: { id } }),
      };
      const cause = { event: { ...move.event, meta: given } };
      deeds.push({ name: move.name, cause, meta: given, now: at });
      continue;
    }
    const job = live.jobs[move.job];
    if (!job || job.settled) continue;
    const cause =
      'output' in move
        ? settled(move.job, job.key, move.output, meta)
        : failed(move.job, job.key, move.error, meta);
    deeds.push({ name: move.name, cause, meta, now: at });
  }
  const armed = Object.entries(live.timers).filter(([, timer]) => !timer.fired);
  const soonest = Math.min(...armed.map(([, timer]) => timer.due));
  for (const [timerId, { due, key }] of armed) {
    if (due > soonest) continue;
    const meta: Meta = { id, now: Math.max(at, due), self };
    const name = `timer:${timerName(machine, timerId) ?? timerId}`;
    deeds.push({ name, cause: fired(live, timerId, key, meta), meta, now: meta.now });
    if (setBackMs === undefined) continue;
    const back = { ...meta, aheadMs: setBackMs };
    const cause = fired(live, timerId, key, back);
    deeds.push({ name: `${name} set back`, cause, meta: back, now: meta.now });
  }
  return deeds;
}

/** One step, in memory and from the store; both must come to the same. */
function go(options: Exploration, place: Place, deed: Deed, probe?: Probe): Place {
  const { machine } = options;
  const row = storedAt(machine, place);
  const stored = step(machine, load(machine, row), deed.cause, deed.now);
  const next = advance(options, place, deed, place.ledger.copy(), probe);
  const [actual, expected] = [textOf(stored), textOf(next.step)];
  if (actual !== expected) {
    const about = `${pathTo(place, deed)}: after it was stored and loaded`;
    demand(JSON.parse(actual), about).toEqual(JSON.parse(expected));
  }
  return next;
}

/** Its row as read from a store; checked at the first step from here. */
function storedAt(machine: AnyStateMachine, place: Place): ReturnType<typeof save> {
  if (place.stored === undefined) {
    place.stored = JSON.stringify(save(place.live));
    const about = `${place.path.join(', ')}: stored`;
    demand(checkRow(machine, JSON.parse(place.stored)), about).toEqual([]);
  }
  return JSON.parse(place.stored);
}

function advance(
  { machine }: Exploration,
  place: Place,
  deed: Deed,
  ledger: Ledger,
  probe?: Probe,
): Place & { step: Step } {
  const { name, cause, meta, now } = deed;
  const made = step(machine, place.live, cause, now);
  if (made.outcome === 'failed') expect.fail(`${pathTo(place, deed)}: ${made.error?.message}`);
  probe?.follow(place.live.snapshot, cause);
  try {
    ledger.take({ name, cause, meta, step: made });
  } catch (error) {
    (error as Error).message = `after ${pathTo(place, deed)}: ${(error as Error).message}`;
    throw error;
  }
  const path = [...place.path.slice(-PATH_SHOWN), name];
  return { live: made.live, now, depth: place.depth + 1, ledger, path, step: made };
}

const PATH_SHOWN = 12;
const pathTo = ({ path }: Place, { name }: Deed): string => [...path, name].join(', ');

const textOf = ({ outcome, requests, live }: Step): string =>
  JSON.stringify({ outcome, requests, row: save(live) });

/**
 * `expect` for ledgers, which run within a test but are defined outside. It counts no assertions:
 * counting hundreds of thousands took a fifth of the time.
 */
export const demand = chai.expect as unknown as typeof expect;

/** The params of all requests of one host action, in order. */
export const said = <Params>(requests: readonly StepRequest[], type: string): Params[] =>
  requests.flatMap((ask) =>
    ask.kind === 'action' && ask.type === type ? [ask.params as Params] : [],
  );

/**
 * Notes every state and every transition that a step passes through, by XState's own inspection.
 */
class Probe {
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

  follow(snapshot: AnyMachineSnapshot, { event }: Cause): void {
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
}

function nameOfTransition(node: AnyStateNode, transition: AnyTransitionDefinition): string {
  const { eventType, guard, target } = transition;
  const name = guard && (nameOf(guard) ?? 'a composed guard');
  const to = target?.map(({ id }) => id).join(', ') ?? 'no target';
  return `transition ${node.id} on ${eventType || 'always'}${name ? ` [${name}]` : ''} to ${to}`;
}
