/**
 * Host: runs an XState machine as a pure function. `step` takes a machine in memory and one cause and
 * answers the next machine and what it asks for; nothing is started, timed or sent here.
 *
 * Owns: which jobs (invokes) and timers (`after`, delayed `raise`) a machine has open, and the keys that
 * fence them. Boundary: no I/O, no clock, no store; the shard commits what `save` gives and then carries
 * the asks out.
 *
 * Invariants:
 *  - I5 an outcome or a timer that is not open any more (wrong key, settled, swept) never reaches the machine;
 *  - I7 the machine sees only its snapshot and the event; sending or spawning by reference fails the step;
 *  - I8 a delay is a whole number of milliseconds, so that `due` is a safe integer;
 *  - a machine that is not active holds no job and no timer.
 */
import {
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  createEmptyActor,
  type EventObject,
  type StateValue,
} from 'xstate';
import { type ErrorData, errorData, TroupeError } from '../../protocols/errors.ts';
import {
  type ActorInput,
  type HostActionName,
  hostActions,
  type Message,
  type Meta,
} from '../../protocols/statechart.ts';
import { factsOf, nodeById } from './facts.ts';
import { unfitValue } from './values.ts';

/** A machine's snapshot as data: status, value, context, output, error, and node ids per history node. */
export type Saved = {
  s: string;
  v: unknown;
  c: unknown;
  o?: unknown;
  e?: unknown;
  h?: Record<string, string[]>;
};

/** An open effect; `key` fences stale outcomes. A settled one stays until its state is left. */
export type Job = { src: string; key: string; settled?: true };

/**
 * An armed timer; `event` is delivered when it fires. `due` is shard time in milliseconds. One of `after`
 * that has fired and left its state active (a guard said no) stays, marked, until the state is left.
 */
export type ArmedTimer = { due: number; key: string; event: EventObject; fired?: true };

/** What is persisted of one machine; safe in JSON and MessagePack. Shares its parts with the Live. */
export type MachineRow = {
  seq: number;
  snap: Saved;
  jobs: Record<string, Job>;
  timers: Record<string, ArmedTimer>;
};

/** A running machine in memory; immutable: every step returns a new one, so an uncommitted one can be dropped. */
export type Live = {
  /** steps that were not ignored, since birth; the first half of every key */
  readonly seq: number;
  readonly snapshot: AnyMachineSnapshot;
  readonly jobs: Readonly<Record<string, Job>>;
  readonly timers: Readonly<Record<string, ArmedTimer>>;
};

/** What a step asks of the host, in the machine's order. Keys are unique in a machine's life. */
export type Ask =
  | { kind: 'start'; id: string; src: string; key: string; input: unknown }
  | { kind: 'stop'; id: string; key: string }
  | { kind: 'timer'; id: string; key: string; due: number }
  | { kind: 'cancel'; id: string; key: string; due: number }
  | { kind: 'action'; type: HostActionName; params: unknown };

/** One event, and the job or the timer it settles. Outcomes and timers: by `settled`, `failed` and `fired` only. */
export type Cause = {
  readonly event: Message;
  readonly job?: { readonly id: string; readonly key: string };
  readonly timer?: { readonly id: string; readonly key: string };
};

/**
 * How a step ended:
 *  - `moved`: another snapshot; `unchanged`: the same snapshot, yet something was asked or settled, or a
 *    transition was taken that changes nothing. Both: commit `live` and carry out `asks`;
 *  - `ignored`: the machine takes no such event now (with `error`: it may never be sent);
 *  - `stale`: the job or the timer is not open any more;
 *  - `failed`: the machine threw or went to status `error`.
 * After the last three `live` is the one that was given and `asks` is empty.
 */
export type Step = {
  readonly live: Live;
  readonly asks: Ask[];
  readonly outcome: 'moved' | 'unchanged' | 'ignored' | 'stale' | 'failed';
  readonly error?: ErrorData;
  /** what was thrown, with its stack, for logs of this process only */
  readonly thrown?: unknown;
};

/**
 * A new machine in its first state. Its entry actions see the event `xstate.init` with `input`; it has no
 * `meta`, timers count from `meta.now`.
 * @throws TroupeError INTERNAL when the first state can not be made
 */
export function born(machine: AnyStateMachine, input: ActorInput, meta: Meta): { live: Live; asks: Ask[] } {
  collected = [];
  const snapshot = machine.getInitialSnapshot(scope, input) as AnyMachineSnapshot;
  const actions = collected;
  if (snapshot.status === 'error') {
    throw new TroupeError('INTERNAL', `${machine.id} can not begin: ${errorData(snapshot.error).message}`, {
      cause: snapshot.error,
    });
  }
  const unfit = unfitValue(snapshot.context);
  if (unfit) throw new TroupeError('INTERNAL', `${machine.id} can not begin: its ${unfit}, which can not be stored`);
  const draft: Draft = { seq: 0, now: meta.now, snapshot, jobs: {}, timers: {}, before: NOTHING, asks: [] };
  fold(machine, draft, actions);
  return { live: liveOf(draft), asks: draft.asks };
}

/** One event into the machine. Never throws; `now` is shard time, from which timers count. */
export function step(machine: AnyStateMachine, live: Live, cause: Cause, now: number): Step {
  const refused = refusal(live, cause);
  if (refused) return refused;
  const { snapshot } = live;
  try {
    collected = [];
    const next = machine.transition(snapshot, cause.event, scope) as AnyMachineSnapshot;
    const actions = collected;
    if (next.status === 'error') return failure(live, cause, next.error);
    if (next === snapshot && actions.length === 0 && !cause.job && !cause.timer) {
      return { live, asks: [], outcome: snapshot.can(cause.event) ? 'unchanged' : 'ignored' };
    }
    const draft: Draft = { seq: live.seq + 1, now, snapshot: next, jobs: live.jobs, timers: live.timers, before: live, asks: [] };
    if (cause.job) settle(draft, cause.job.id);
    if (cause.timer) expire(draft, cause.timer.id);
    fold(machine, draft, actions);
    return { live: liveOf(draft), asks: draft.asks, outcome: next === snapshot ? 'unchanged' : 'moved' };
  } catch (thrown) {
    return failure(live, cause, thrown);
  }
}

/** The row to persist. It shares context and tables with `live`: encode it, do not change it. */
export function save(live: Live): MachineRow {
  const { snapshot } = live;
  const snap: Saved = { s: snapshot.status, v: snapshot.value, c: snapshot.context };
  if (snapshot.output !== undefined) snap.o = snapshot.output;
  if (snapshot.error !== undefined) snap.e = errorData(snapshot.error);
  for (const id in snapshot.historyValue) {
    snap.h ??= {};
    snap.h[id] = snapshot.historyValue[id]!.map((node) => node.id);
  }
  return { seq: live.seq, snap, jobs: live.jobs, timers: live.timers };
}

/**
 * The machine again as it was saved. Nothing is entered or started. Takes what `checkRow` finds fit.
 * @throws TroupeError INTERNAL when the machine has no such state
 */
export function load(machine: AnyStateMachine, row: MachineRow): Live {
  const { snap, seq, jobs, timers } = row;
  const historyValue: Record<string, AnyStateNode[]> = {};
  try {
    for (const id in snap.h) historyValue[id] = snap.h[id]!.map((node) => nodeById(machine, node));
    const snapshot: AnyMachineSnapshot = machine.resolveState({
      value: snap.v as StateValue,
      context: snap.c,
      historyValue,
      status: snap.s as AnyMachineSnapshot['status'],
      output: snap.o,
      error: snap.e,
    });
    for (const id in jobs) snapshot.children[id] = stub(id, jobs[id]!.src);
    return { seq, snapshot, jobs, timers };
  } catch (cause) {
    const { message } = errorData(cause);
    throw new TroupeError('INTERNAL', `${machine.id} can not go on from a stored state: ${message}`, { cause });
  }
}

/** The outcome of a job that came to its end. */
export const settled = (id: string, key: string, output: unknown, meta: Meta): Cause => ({
  event: { type: `xstate.done.actor.${id}`, output, actorId: id, meta },
  job: { id, key },
});

/** The outcome of a job that failed. A machine that has no `onError` for it crashes. */
export const failed = (id: string, key: string, error: ErrorData, meta: Meta): Cause => ({
  event: { type: `xstate.error.actor.${id}`, error, actorId: id, meta },
  job: { id, key },
});

/** A timer that is due. One that is not armed any more gives a cause that `step` answers with `stale`. */
export const fired = (from: Live | MachineRow, id: string, key: string, meta: Meta): Cause => ({
  event: { ...(from.timers[id]?.event ?? { type: 'xstate.stale' }), meta },
  timer: { id, key },
});

/** The machine reached its final state: it takes no more events. */
export const isDone = (live: Live): boolean => live.snapshot.status === 'done';

/** The output of a machine that is done; undefined before. */
export const outputOf = (live: Live): unknown => live.snapshot.output;

/** Whether an active state wants events of this type to wait (StateMeta.defer; `a.*` is `a` and all below it). */
export function defers(machine: AnyStateMachine, live: Live, eventType: string): boolean {
  const { deferring } = factsOf(machine);
  if (deferring.size === 0) return false;
  for (const node of live.snapshot._nodes) if (deferring.get(node)?.(eventType)) return true;
  return false;
}

// What XState hands out during a transition: the calls of one step, in order.
type Action = { readonly type: string; readonly params: unknown };
let collected: Action[] = [];

/**
 * The scope that all machines of the process share. A transition is synchronous and its actions are not
 * executed, so nothing of one step stays in it; `systemId`, the one thing that would, is refused by lint.
 */
const scope: AnyActorScope = inertScope();

function inertScope(): AnyActorScope {
  const self = createEmptyActor();
  const refuse = (): never => {
    throw new TroupeError(
      'INTERNAL',
      'a machine can not send to or spawn by a reference: use the action tell, or invoke an effect',
    );
  };
  Object.assign(self, { id: 'self', sessionId: 'self', send: refuse });
  return {
    self,
    system: self.system,
    id: 'self',
    sessionId: 'self',
    logger: () => {},
    defer: refuse,
    stopChild: refuse,
    emit: refuse,
    actionExecutor: (action) => void collected.push(action),
  };
}

type Draft = {
  readonly seq: number;
  readonly now: number;
  readonly snapshot: AnyMachineSnapshot;
  jobs: Readonly<Record<string, Job>>;
  timers: Readonly<Record<string, ArmedTimer>>;
  readonly before: Pick<Live, 'jobs' | 'timers'>;
  readonly asks: Ask[];
};
const NOTHING: Draft['before'] = { jobs: {}, timers: {} };

const liveOf = ({ seq, snapshot, jobs, timers }: Draft): Live => ({ seq, snapshot, jobs, timers });

const without = <T>(table: Readonly<Record<string, T>>, id: string): Record<string, T> => {
  const { [id]: _, ...rest } = table;
  return rest;
};

/** Answers a cause that must not reach the machine. */
function refusal(live: Live, { event, job, timer }: Cause): Step | undefined {
  if (job) {
    const open = live.jobs[job.id];
    return open?.key === job.key && !open.settled ? undefined : { live, asks: [], outcome: 'stale' };
  }
  if (timer) {
    const armed = live.timers[timer.id];
    return armed?.key === timer.key && !armed.fired ? undefined : { live, asks: [], outcome: 'stale' };
  }
  if (live.snapshot.status !== 'active') return { live, asks: [], outcome: 'ignored' };
  const { type } = event;
  if (typeof type === 'string' && type !== '' && type !== '*' && !type.startsWith('xstate.')) return undefined;
  const message = `an event needs a type that is neither empty nor '*' and does not begin with 'xstate.', not ${JSON.stringify(type)}`;
  return { live, asks: [], outcome: 'ignored', error: { code: 'INVALID_ARGUMENT', message } };
}

function failure(live: Live, { event }: Cause, thrown: unknown): Step {
  const { snapshot } = live;
  const data = errorData(thrown);
  const message = `${snapshot.machine.id} in ${JSON.stringify(snapshot.value)} on ${event.type}: ${data.message}`;
  return { live, asks: [], outcome: 'failed', error: { ...data, message }, thrown };
}

/** A second outcome of a settled job is stale; the job stays until XState leaves its state. */
function settle(draft: Draft, id: string): void {
  draft.jobs = { ...draft.jobs, [id]: { ...draft.jobs[id]!, settled: true } };
}

/** A timer fires once; that of an `after` stays until XState leaves its state, as a job does. */
function expire(draft: Draft, id: string): void {
  if (!id.startsWith('xstate.after.')) draft.timers = without(draft.timers, id);
  else draft.timers = { ...draft.timers, [id]: { ...draft.timers[id]!, fired: true } };
}

/** Turns XState's actions into asks, in order, and keeps the tables of jobs and timers. */
function fold(machine: AnyStateMachine, draft: Draft, actions: readonly Action[]): void {
  for (let n = 0; n < actions.length; n++) {
    const { type, params } = actions[n]!;
    switch (type) {
      case 'xstate.spawnChild':
        openJob(machine, draft, `${draft.seq}.${n}`, params as Spawn);
        break;
      case 'xstate.stopChild':
        if (params) stopJob(machine, draft, (params as { id: string }).id);
        break;
      case 'xstate.raise':
        armTimer(draft, `${draft.seq}.${n}`, params as Raise);
        break;
      case 'xstate.cancel':
        cancelTimer(draft, (params as { sendId: string }).sendId);
        break;
      default:
        if (!Object.hasOwn(hostActions, type)) throw foreignAction(type);
        draft.asks.push({ kind: 'action', type: type as HostActionName, params });
    }
  }
  if (draft.snapshot.status !== 'active') sweep(draft);
}

type Spawn = { actorRef?: { id: string }; src: unknown; input: unknown };

function openJob(machine: AnyStateMachine, draft: Draft, key: string, { actorRef, src, input }: Spawn): void {
  const id = actorRef?.id;
  if (id === undefined || typeof src !== 'string' || !factsOf(machine).invokes.has(id)) {
    throw new TroupeError('INTERNAL', `the actor ${String(src)} is not started by an invoke of a named effect`);
  }
  if (draft.jobs[id]) closeJob(draft, id);
  draft.jobs = { ...draft.jobs, [id]: { src, key } };
  draft.asks.push({ kind: 'start', id, src, key, input });
  // The snapshot keeps a stand-in of two fields for XState's actor, which would hold the input in memory.
  if (draft.snapshot.children[id] === actorRef) draft.snapshot.children[id] = stub(id, src);
}

type Child = AnyMachineSnapshot['children'][string];
/** All that XState needs of a child to stop it; private knowledge, held by the equivalence test. */
const stub = (id: string, src: string): Child => ({ id, src }) as unknown as Child;

/** XState stops the job of a state that is left; one whose state stays could never be stored and resumed. */
function stopJob(machine: AnyStateMachine, draft: Draft, id: string): void {
  closeJob(draft, id);
  const owner = factsOf(machine).invokes.get(id);
  if (draft.snapshot.status !== 'active' || draft.snapshot.children[id] || !owner) return;
  if (draft.snapshot._nodes.includes(owner)) {
    throw new TroupeError('INTERNAL', `the job ${id} was stopped in its own state ${owner.id}: leave the state instead`);
  }
}

function closeJob(draft: Draft, id: string): void {
  const job = draft.jobs[id];
  if (!job) return;
  draft.jobs = without(draft.jobs, id);
  if (job.settled) return;
  if (job === draft.before.jobs[id]) draft.asks.push({ kind: 'stop', id, key: job.key });
  else annul(draft, job.key);
}

type Raise = { event: EventObject; id: string | undefined; delay: unknown };

/** A raise without a delay has already run inside the transition. */
function armTimer(draft: Draft, key: string, { event, id = `raise.${key}`, delay }: Raise): void {
  if (typeof delay !== 'number') {
    if (!event.type.startsWith('xstate.after.')) return;
    throw new TroupeError('INTERNAL', `the delay of ${event.type} is ${JSON.stringify(delay)}, not a number of milliseconds`);
  }
  cancelTimer(draft, id);
  const due = dueAt(draft.now, delay);
  draft.timers = { ...draft.timers, [id]: { due, key, event } };
  draft.asks.push({ kind: 'timer', id, key, due });
}

/** Never earlier than asked: a fraction counts as a whole millisecond; NaN and what is negative as none. */
const dueAt = (now: number, delay: number): number =>
  delay > 0 ? Math.min(now + Math.ceil(delay), Number.MAX_SAFE_INTEGER) : now;

function cancelTimer(draft: Draft, id: string): void {
  const timer = draft.timers[id];
  if (!timer) return;
  draft.timers = without(draft.timers, id);
  if (timer.fired) return;
  if (timer === draft.before.timers[id]) draft.asks.push({ kind: 'cancel', id, key: timer.key, due: timer.due });
  else annul(draft, timer.key);
}

/** Asked and taken back within one step: nobody needs to know. */
function annul({ asks }: Draft, key: string): void {
  asks.splice(asks.findIndex((ask) => (ask.kind === 'start' || ask.kind === 'timer') && ask.key === key), 1);
}

/** XState stops the children of a machine that ends, but cancels no timer. */
function sweep(draft: Draft): void {
  for (const id in draft.jobs) closeJob(draft, id);
  for (const id in draft.timers) cancelTimer(draft, id);
}

const foreignAction = (type: string) =>
  new TroupeError(
    'INTERNAL',
    `the action '${type}' is none of ${Object.keys(hostActions).join(', ')}, assign, raise and cancel`,
  );
