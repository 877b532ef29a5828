/**
 * exploreChart: visits every situation that a chart can reach, breadth first, with the code that
 * takes turns in a shard. Effects end as the test says, and timers fire in the order of their due
 * times.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Address, parseAddress } from '../../protocols/address.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { Message, Meta } from '../../protocols/statechart.ts';
import type { ActorDefinition } from '../../runtime/actor/definition.ts';
import { checkRow } from '../../runtime/statechart/check.ts';
import { timerName } from '../../runtime/statechart/facts.ts';
import {
  type Cause,
  failed,
  fired,
  initialState,
  type Live,
  load,
  save,
  settled,
  step,
} from '../../runtime/statechart/host.ts';
import { type ChartCoverage, Probe } from './coverage.ts';
import { complaintOfAnswer } from './world.ts';

/** How an effect may end. */
export type EffectEnd = { readonly output: unknown } | { readonly error: ErrorData };

/** What a rule of `exploreChart` sees. */
export type ChartSituation = {
  readonly value: unknown;
  // oxlint-disable-next-line typescript/no-explicit-any -- its type belongs to the caller
  readonly context: any;
  /** `active`, or `done` when the chart has ended */
  readonly status: string;
};

export type ExploreOptions = {
  readonly actor: ActorDefinition;
  /** messages that may arrive, in any state; each is sent as a question of a client */
  readonly events: readonly Message[] | ((situation: ChartSituation) => readonly Message[]);
  /** by name of the effect: all ways in which it may end; default: it does not end */
  readonly ends?: Readonly<Record<string, readonly EffectEnd[]>>;
  /** by name: rules for each situation, as for `simulate` */
  readonly invariants?: Readonly<
    Record<string, (situation: ChartSituation) => boolean | string | void>
  >;
  /** situations with equal keys are one; default: state value and context */
  readonly key?: (situation: ChartSituation) => unknown;
  /** 1 to 1,000,000; default 5,000. More are an error */
  readonly situationsMax?: number;
  /** default `default/{type}/explored` */
  readonly self?: Address;
};

/** A situation with a shortest path to it. */
export type ChartPath = ChartSituation & {
  /** names of events, `EFFECT done N`, `EFFECT failed N` and `timer NAME`, in order */
  readonly steps: readonly string[];
};

export type ExploredChart = {
  /** one path for each situation, shortest first */
  readonly paths: readonly ChartPath[];
  /** steps that were taken */
  readonly steps: number;
  readonly coverage: ChartCoverage;
};

type Place = { readonly live: Live; readonly now: number; readonly steps: readonly string[] };
type Delivery = { readonly name: string; readonly cause: Cause; readonly now: number };

const CREATED_AT = 1_000;

/**
 * Visits every situation that a chart can reach. In each step, the actor is also stored and loaded,
 * and must behave as before.
 *
 * @throws Error with the shortest path when a rule is broken, a turn throws, or an actor that was
 *   stored behaves in another way; or when there are more situations than `situationsMax`
 * @example
 * ```ts
 * import { defineActor } from 'troupe';
 * import { expectCovered, exploreChart } from 'troupe/test';
 * import { setup } from 'xstate';
 *
 * const machine = setup({ types: { events: {} as { type: 'lamp.switch' } } }).createMachine({
 *   initial: 'off',
 *   states: { off: { on: { 'lamp.switch': 'on' } }, on: { after: { 60_000: 'off' } } },
 * });
 * const explored = exploreChart({
 *   actor: defineActor({ type: 'lamp', version: 1, machine }),
 *   events: [{ type: 'lamp.switch' }],
 *   invariants: { 'it is on or off': ({ value }) => value === 'on' || value === 'off' },
 * });
 * assert.deepEqual(explored.paths.map(({ steps }) => steps.join(', ')), ['', 'lamp.switch']);
 * expectCovered([explored.coverage]);
 * ```
 */
export function exploreChart(options: ExploreOptions): ExploredChart {
  const { actor, situationsMax = 5_000, invariants = {} } = options;
  const { key = ({ value, context }: ChartSituation) => [value, context] } = options;
  const probe = new Probe(actor.machine);
  const known = new Set<string>();
  const places: Place[] = [];
  const visit = (place: Place): void => {
    const situation = situationOf(place);
    for (const [rule, holds] of Object.entries(invariants)) {
      const why = complaintOfAnswer(holds(situation));
      if (why !== undefined) throw new Error(`'${rule}' is broken after ${pathOf(place)}: ${why}`);
    }
    const name = JSON.stringify(key(situation));
    if (known.has(name)) return;
    known.add(name);
    places.push(place);
    if (places.length > situationsMax)
      throw new Error(`there are more than ${situationsMax} situations: give a coarser 'key'`);
  };
  visit(firstPlace(options, probe));
  let steps = 0;
  for (const place of places) {
    for (const delivery of deliveriesAt(options, place)) {
      steps++;
      visit(advance(options, place, delivery, probe));
    }
  }
  const paths = places.map((place) => ({ steps: place.steps, ...situationOf(place) }));
  return { paths, steps, coverage: probe.coverage(actor.name) };
}

const pathOf = ({ steps }: Place): string => (steps.length === 0 ? 'the start' : steps.join(', '));

const situationOf = ({ live: { snapshot } }: Place): ChartSituation => ({
  value: snapshot.value,
  context: snapshot.context,
  status: snapshot.status,
});

const selfOf = ({ self, actor }: ExploreOptions): Address =>
  self ?? (`default/${actor.type}/explored` as Address);

function firstPlace(options: ExploreOptions, probe: Probe): Place {
  const self = selfOf(options);
  const { tenant, key } = parseAddress(self);
  const input = { self, tenant, key, now: CREATED_AT };
  const meta = { id: 'm0', now: CREATED_AT, self };
  const { live } = initialState(options.actor.machine, input, meta);
  probe.enter(live.snapshot);
  return { live, now: CREATED_AT, steps: [] };
}

/** Everything that may happen at this place. */
function deliveriesAt(options: ExploreOptions, place: Place): Delivery[] {
  const { events, ends = {}, actor } = options;
  const { live, now, steps } = place;
  if (live.snapshot.status !== 'active') return [];
  const at = now + 1;
  const meta: Meta = { id: `m${steps.length + 1}`, now: at, self: selfOf(options) };
  const asked = { ...meta, reply: { id: meta.id, inbox: 'inbox' } };
  const messages = typeof events === 'function' ? events(situationOf(place)) : events;
  const found: Delivery[] = messages.map((event) => ({
    name: event.type,
    cause: { event: { ...event, meta: asked } },
    now: at,
  }));
  for (const [id, { src, key, settled: isSettled }] of Object.entries(live.jobs)) {
    if (isSettled) continue;
    for (const [n, end] of (ends[src] ?? []).entries()) {
      const isDone = 'output' in end;
      const cause = isDone ? settled(id, key, end.output, meta) : failed(id, key, end.error, meta);
      found.push({ name: `${src} ${isDone ? 'done' : 'failed'} ${n + 1}`, cause, now: at });
    }
  }
  const armed = Object.entries(live.timers).filter(([, timer]) => !timer.fired);
  const soonest = Math.min(...armed.map(([, { due }]) => due));
  for (const [id, { due, key }] of armed) {
    if (due > soonest) continue;
    const then = Math.max(at, due);
    const name = `timer ${timerName(actor.machine, id) ?? id}`;
    found.push({ name, cause: fired(live, id, key, { ...meta, now: then }), now: then });
  }
  return found;
}

/** One step, in memory and from the store; both must have the same result. */
function advance(options: ExploreOptions, place: Place, delivery: Delivery, probe: Probe): Place {
  const { machine } = options.actor;
  const { name, cause, now } = delivery;
  const steps = [...place.steps, name];
  const made = step(machine, place.live, cause, now);
  const next = { live: made.live, now, steps };
  if (made.outcome === 'failed')
    throw new Error(`a turn fails after ${pathOf(next)}: ${made.error?.message}`);
  probe.follow(place.live.snapshot, cause.event);
  const row = JSON.parse(JSON.stringify(save(place.live)));
  const problems = checkRow(machine, row);
  if (problems.length > 0)
    throw new Error(`the row cannot be stored after ${pathOf(place)}: ${problems.join('; ')}`);
  const again = step(machine, load(machine, row), cause, now);
  const plain = ({ live, requests }: typeof made) =>
    JSON.parse(JSON.stringify([save(live), requests]));
  if (!isDeepStrictEqual(plain(made), plain(again)))
    throw new Error(`an actor that was stored behaves in another way after ${pathOf(next)}`);
  return next;
}
