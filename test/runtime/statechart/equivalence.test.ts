/**
 * The host steps machines through XState's internal functions, with its own actor scope, with
 * placeholders for children, and with JSON between the steps. Any difference from the public
 * `transition()` on the same events is a bug of the host.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type EventObject,
  initialTransition,
  transition,
} from 'xstate';
import type { Message } from '../../../protocols/statechart.ts';
import {
  type StepRequest,
  initialState,
  type Cause,
  failed,
  fired,
  type Live,
  load,
  type MachineRow,
  save,
  settled,
  step,
} from '../../../runtime/statechart/host.ts';
import { input, maze, meta, order, player } from './machines.ts';

const events: ReadonlyMap<AnyStateMachine, readonly Message[]> = new Map<
  AnyStateMachine,
  readonly Message[]
>([
  [
    order,
    [
      { type: 'order.pay', total: 5 },
      { type: 'order.pay', total: 0 },
      { type: 'order.poke' },
      { type: 'order.cancel' },
    ],
  ],
  [
    player,
    ['power', 'play', 'play', 'stop', 'louder', 'mute', 'back', 'tick'].map((type) => ({ type })),
  ],
  [
    maze,
    [
      { type: 'walk', far: 1 },
      { type: 'walk', far: 9 },
      { type: 'echo' },
      { type: 'alarm' },
      { type: 'fail' },
      { type: 'loop' },
    ],
  ],
]);

/**
 * The open work of an environment that executes the requests of a machine: the inputs of its jobs
 * and the due times of its timers.
 */
type Open = { jobs: Record<string, string>; timers: Record<string, number>; actions: string[] };
const nothing = (): Open => ({ jobs: {}, timers: {}, actions: [] });

const roundTrip = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** Follows the results of XState's own API. */
function follow(
  open: Open,
  actions: readonly { type: string; params?: unknown }[],
  next: AnyMachineSnapshot,
  now: number,
): Open {
  const { jobs, timers } = open;
  const said: string[] = [];
  for (const { type, params } of actions) {
    const p = params as {
      id: string;
      actorRef: { id: string };
      input: unknown;
      delay?: number;
      sendId: string;
    };
    if (type === 'xstate.spawnChild') jobs[p.actorRef.id] = JSON.stringify(p.input);
    else if (type === 'xstate.stopChild') delete jobs[p.id];
    else if (type === 'xstate.cancel') delete timers[p.sendId];
    else if (type !== 'xstate.raise') said.push(JSON.stringify([type, params]));
    else if (p.delay !== undefined)
      timers[p.id] = Math.min(Number.MAX_SAFE_INTEGER, now + Math.max(0, Math.ceil(p.delay)));
  }
  return next.status === 'active'
    ? { jobs, timers, actions: said }
    : { ...nothing(), actions: said };
}

/** Catches a stop or cancel of a job or timer that was never started. */
function assertOpen(was: boolean, ask: StepRequest): void {
  if (!was) throw new Error(`no open job or timer for ${JSON.stringify(ask)}`);
}

/** Executes the requests of the host, by id and key as a shard does. */
class World {
  readonly jobs = new Map<string, { id: string; input: string }>();
  readonly timers = new Map<string, { id: string; due: number }>();
  actions: string[] = [];

  carry(asks: readonly StepRequest[]): void {
    this.actions = [];
    for (const ask of asks) {
      if (ask.kind === 'start')
        this.jobs.set(ask.key, { id: ask.id, input: JSON.stringify(ask.input) });
      else if (ask.kind === 'timer') this.timers.set(ask.key, { id: ask.id, due: ask.due });
      else if (ask.kind === 'stop') assertOpen(this.jobs.delete(ask.key), ask);
      else if (ask.kind === 'cancel') assertOpen(this.timers.delete(ask.key), ask);
      else this.actions.push(JSON.stringify([ask.type, ask.params]));
    }
  }

  open(): Open {
    return {
      jobs: Object.fromEntries([...this.jobs.values()].map((open) => [open.id, open.input])),
      timers: Object.fromEntries([...this.timers.values()].map(({ id, due }) => [id, due])),
      actions: this.actions,
    };
  }
}

const facts = (snapshot: AnyMachineSnapshot) => ({
  ...roundTrip({
    status: snapshot.status,
    value: snapshot.value,
    context: snapshot.context,
    output: snapshot.output,
  }),
  tags: [...snapshot.tags].sort(),
  children: Object.keys(snapshot.children).sort(),
  history: Object.entries(snapshot.historyValue).map(([id, nodes]) => [
    id,
    nodes?.map((node) => node.id),
  ]),
});

/**
 * One of all possible inputs of the machine: its events, outcomes of its jobs, its timers, outdated
 * ones.
 */
function choose(machine: AnyStateMachine, row: MachineRow, world: World, pick: number): Cause {
  const causes: Cause[] = events.get(machine)!.map((event) => ({ event: { ...event, meta } }));
  for (const [key, { id }] of world.jobs) {
    causes.push(settled(id, key, { receipt: 'r1' }, meta), settled(id, `x${key}`, null, meta));
    causes.push(failed(id, key, { code: 'UNAVAILABLE', message: 'off' }, meta));
  }
  for (const [key, { id }] of world.timers)
    causes.push(fired(row, id, key, meta), fired(row, id, `x${key}`, meta));
  return causes[pick % causes.length]!;
}

let steps = 0;

/** Runs both sides side by side over the picks; a machine that ends is created again. */
function sideBySide(machine: AnyStateMachine, picks: readonly number[]): void {
  let world = new World();
  let open = nothing();
  let row: MachineRow | undefined;
  let official: AnyMachineSnapshot | undefined;
  for (const [n, pick] of picks.entries()) {
    const now = 1000 + n;
    if (!row || !official || official.status !== 'active') {
      world = new World();
      const first = initialState(machine, input, { ...meta, now });
      const [snapshot, actions] = initialTransition(machine, input);
      official = snapshot as AnyMachineSnapshot;
      world.carry(first.requests);
      open = follow(nothing(), actions, official, now);
      row = compare(first.live, world, official, open);
      continue;
    }
    const cause = choose(machine, row, world, pick);
    const live: Live = load(machine, roundTrip(row));
    const answer = step(machine, live, cause, now);
    steps++;
    const key = cause.job?.key ?? cause.timer?.key;
    if (key?.startsWith('x')) {
      expect(answer).toMatchObject({ requests: [], outcome: 'stale' });
      expect(answer.live).toBe(live);
      continue;
    }
    const expected = publicStep(machine, official, cause.event);
    if (!expected) {
      expect(answer).toMatchObject({ requests: [], outcome: 'failed' });
      expect(answer.live).toBe(live);
      continue;
    }
    // The environment delivers an outcome or a timer once.
    if (cause.job) world.jobs.delete(cause.job.key);
    if (cause.timer) world.timers.delete(cause.timer.key);
    if (cause.job) delete open.jobs[cause.job.id];
    if (cause.timer) delete open.timers[cause.timer.id];
    official = expected[0];
    world.carry(answer.requests);
    open = follow(open, expected[1], official, now);
    row = compare(answer.live, world, official, open);
  }
}

/** XState's public API; undefined when it throws or the machine enters status `error`. */
function publicStep(machine: AnyStateMachine, snapshot: AnyMachineSnapshot, event: EventObject) {
  try {
    const [next, actions] = transition(machine, snapshot, event);
    const known = next as AnyMachineSnapshot;
    return known.status === 'error'
      ? undefined
      : ([known, actions as { type: string; params?: unknown }[]] as const);
  } catch {
    return undefined;
  }
}

function compare(live: Live, world: World, official: AnyMachineSnapshot, open: Open): MachineRow {
  const mine = facts(live.snapshot);
  const theirs = facts(official);
  // XState keeps the children of a machine that is done in its snapshot; nothing reads them any
  // more.
  expect(official.status === 'done' ? { ...mine, children: theirs.children } : mine).toEqual(
    theirs,
  );
  expect(world.open()).toEqual(open);
  return save(live);
}

it.each([
  ['an order with effects and timers', order],
  ['a player with regions and history', player],
  ['a maze of raised, eventless and dynamic steps', maze],
])('%s steps like the public API of XState, with JSON in between', (_, machine) => {
  steps = 0;
  const picks = fc.array(fc.nat({ max: 2 ** 20 }), { minLength: 25, maxLength: 50 });
  fc.assert(
    fc.property(picks, (list) => sideBySide(machine, list)),
    { numRuns: 80 },
  );
  expect(steps).toBeGreaterThan(1000);
});
