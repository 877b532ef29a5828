/**
 * Host: runs an XState machine as a pure function. `step` receives a machine in memory and one
 * cause, and returns the next machine and its requests; nothing is started, timed or sent here.
 *
 * Owns the only call into XState's transitions, and decides which causes reach it. Boundary: no
 * I/O, no clock, no store; the shard commits what `save` returns and then executes the requests.
 *
 * Invariants:
 *  - I5 an outcome or a timer that is no longer open (wrong key, settled, swept) never reaches the
 *    machine;
 *  - I7 the machine sees only its snapshot and the event; sending or spawning by reference fails
 *    the step.
 */
import {
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  createEmptyActor,
  type StateValue,
} from 'xstate';
import { type ErrorData, errorData, TroupeError } from '../../protocols/errors.ts';
import type { ActorInput, Meta } from '../../protocols/statechart.ts';
import { type Action, type Draft, expire, fold, NOTHING, settle, stub } from './requests.ts';
import { factsOf, nodeById } from './facts.ts';
import type { StepRequest, Cause, Live, MachineRow, Saved, Step } from './live.ts';
import { unfitChange, unfitValue } from './values.ts';

export type * from './live.ts';

/**
 * A new machine in its first state. Its entry actions see the event `xstate.init` with `input`; it
 * has no `meta`, timers count from `meta.now`.
 * @throws TroupeError INTERNAL when the first state cannot be made
 */
export function initialState(
  machine: AnyStateMachine,
  input: ActorInput,
  meta: Meta,
): { live: Live; requests: StepRequest[] } {
  collected = [];
  const snapshot = firstSnapshot(machine, input);
  const actions = collected;
  if (snapshot.status === 'error') {
    throw new TroupeError(
      'INTERNAL',
      `${machine.id} cannot begin: ${errorData(snapshot.error).message}`,
      {
        cause: snapshot.error,
      },
    );
  }
  const unfit = unfitValue(snapshot.context);
  if (unfit)
    throw new TroupeError(
      'INTERNAL',
      `${machine.id} cannot begin: its ${unfit}, which cannot be stored`,
    );
  const draft: Draft = {
    seq: 0,
    now: meta.now,
    snapshot,
    jobs: {},
    timers: {},
    before: NOTHING,
    requests: [],
  };
  fold(machine, draft, actions);
  return { live: liveOf(draft), requests: draft.requests };
}

/**
 * For machines that do nothing in their first state: its snapshot, in which actors differ by their
 * context only; null for the others.
 */
const quietStarts = new WeakMap<AnyStateMachine, AnyMachineSnapshot | null>();

function firstSnapshot(machine: AnyStateMachine, input: ActorInput): AnyMachineSnapshot {
  const quiet = quietStarts.get(machine);
  const contextOf: unknown = machine.config.context;
  if (quiet && typeof contextOf === 'function') {
    try {
      const context: unknown = contextOf({ input, spawn: refuse, self: scope.self });
      return { ...quiet, context, children: {} };
    } catch (error) {
      return { ...quiet, context: {}, children: {}, status: 'error', error };
    }
  }
  const snapshot = machine.getInitialSnapshot(scope, input) as AnyMachineSnapshot;
  if (quiet === undefined)
    quietStarts.set(machine, isQuiet(snapshot) ? { ...snapshot, context: undefined } : null);
  return snapshot;
}

const isQuiet = ({ status, _nodes }: AnyMachineSnapshot): boolean =>
  status === 'active' &&
  _nodes.every(
    ({ entry, always, invoke, after, initial }) =>
      entry.length + invoke.length + after.length + (initial?.actions.length ?? 0) === 0 && !always,
  );

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
    assertStorable(next, snapshot.context);
    if (next === snapshot && actions.length === 0 && !cause.job && !cause.timer) {
      return { live, requests: [], outcome: snapshot.can(cause.event) ? 'unchanged' : 'ignored' };
    }
    const draft: Draft = {
      seq: live.seq + 1,
      now,
      snapshot: next,
      jobs: live.jobs,
      timers: live.timers,
      before: live,
      requests: [],
    };
    if (cause.job) settle(draft, cause.job.id);
    if (cause.timer) expire(draft, cause.timer.id);
    fold(machine, draft, actions);
    return {
      live: liveOf(draft),
      requests: draft.requests,
      outcome: next === snapshot ? 'unchanged' : 'moved',
    };
  } catch (thrown) {
    return failure(live, cause, thrown);
  }
}

/** @throws TroupeError INTERNAL when the machine holds a value that its row cannot restore */
function assertStorable({ context, output }: AnyMachineSnapshot, before: unknown): void {
  const unfit = unfitChange(context, before) ?? unfitValue(output, 'output');
  if (unfit) throw new TroupeError('INTERNAL', `its ${unfit}, which cannot be stored`);
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
 * The machine again as it was saved. Nothing is entered or started. Takes what `checkRow` finds
 * fit.
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
    throw new TroupeError(
      'INTERNAL',
      `${machine.id} cannot continue from a stored state: ${message}`,
      { cause },
    );
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

/**
 * A timer that is due. One that is not armed any more gives a cause that `step` answers with
 * `stale`.
 */
export const fired = (from: Live | MachineRow, id: string, key: string, meta: Meta): Cause => ({
  event: { ...(from.timers[id]?.event ?? { type: 'xstate.stale' }), meta },
  timer: { id, key },
});

/** The machine as if this timer had fired and no guard had let it do anything. */
export function missed(live: Live, { timer }: Cause): Live {
  if (!timer || live.timers[timer.id]?.key !== timer.key) return live;
  const after = { timers: live.timers };
  expire(after, timer.id);
  return { ...live, ...after };
}

/** The machine with this timer armed for a later time. */
export function postponed(live: Live, { timer }: Cause, due: number, at: number): Live {
  const armed = timer && live.timers[timer.id];
  if (!armed) return live;
  return { ...live, timers: { ...live.timers, [timer.id]: { ...armed, due, at } } };
}

/** The machine reached its final state and accepts no more events. */
export const isDone = (live: Live): boolean => live.snapshot.status === 'done';

/**
 * Whether an active state wants events of this type to wait (StateMeta.defer; `a.*` is `a` and all
 * below it).
 */
export function defers(machine: AnyStateMachine, live: Live, eventType: string): boolean {
  const { deferring } = factsOf(machine);
  if (deferring.size === 0) return false;
  for (const node of live.snapshot._nodes) if (deferring.get(node)?.(eventType)) return true;
  return false;
}

/** Whether an active state has StateMeta.passivate. */
export function passivates(machine: AnyStateMachine, live: Live): boolean {
  const { passivating } = factsOf(machine);
  return passivating.size > 0 && live.snapshot._nodes.some((node) => passivating.has(node));
}

// What XState hands out during a transition: the calls of one step, in order.
let collected: Action[] = [];

function refuse(): never {
  throw new TroupeError(
    'INTERNAL',
    'a machine cannot send to or spawn by a reference: use the action tell, or invoke an effect',
  );
}

/**
 * The scope that all machines of the process share. A transition is synchronous and its actions are
 * not executed, so nothing of one step stays in it; `systemId`, the one thing that would, is
 * refused by lint.
 */
const scope: AnyActorScope = inertScope();

function inertScope(): AnyActorScope {
  const self = createEmptyActor();
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

const liveOf = ({ seq, snapshot, jobs, timers }: Draft): Live => ({ seq, snapshot, jobs, timers });

/** Answers a cause that must not reach the machine. */
function refusal(live: Live, { event, job, timer }: Cause): Step | undefined {
  if (job) {
    const open = live.jobs[job.id];
    return open?.key === job.key && !open.settled
      ? undefined
      : { live, requests: [], outcome: 'stale' };
  }
  if (timer) {
    const armed = live.timers[timer.id];
    return armed?.key === timer.key && !armed.fired
      ? undefined
      : { live, requests: [], outcome: 'stale' };
  }
  if (live.snapshot.status !== 'active') return { live, requests: [], outcome: 'ignored' };
  const { type } = event;
  if (typeof type === 'string' && type !== '' && type !== '*' && !type.startsWith('xstate.'))
    return undefined;
  const message = `an event needs a type that is neither empty nor '*' and does not begin with 'xstate.', not ${JSON.stringify(type)}`;
  return { live, requests: [], outcome: 'ignored', error: { code: 'INVALID_ARGUMENT', message } };
}

function failure(live: Live, { event }: Cause, thrown: unknown): Step {
  const { snapshot } = live;
  const data = errorData(thrown);
  const message = `${snapshot.machine.id} in ${JSON.stringify(snapshot.value)} on ${event.type}: ${data.message}`;
  return { live, requests: [], outcome: 'failed', error: { ...data, message }, thrown };
}
