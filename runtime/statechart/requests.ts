/**
 * Asks: translates the actions of one XState transition into requests to the host, and keeps the
 * tables of open jobs and armed timers. A draft lives for one step.
 *
 * Invariants: a table and its requests never disagree. What starts and ends in one step is never
 * requested. A machine that is not active holds nothing (I5, I8).
 */
import type { AnyMachineSnapshot, AnyStateMachine, EventObject } from 'xstate';
import { TroupeError } from '../../protocols/errors.ts';
import { type HostActionName, hostActions } from '../../protocols/statechart.ts';
import { factsOf } from './facts.ts';
import type { ArmedTimer, StepRequest, Job, Live } from './live.ts';

/** What XState hands out instead of doing it. */
export type Action = { readonly type: string; readonly params: unknown };

export type Draft = {
  readonly seq: number;
  readonly now: number;
  readonly snapshot: AnyMachineSnapshot;
  jobs: Readonly<Record<string, Job>>;
  timers: Readonly<Record<string, ArmedTimer>>;
  readonly before: Pick<Live, 'jobs' | 'timers'>;
  readonly requests: StepRequest[];
};
export const NOTHING: Draft['before'] = { jobs: {}, timers: {} };

const without = <T>(table: Readonly<Record<string, T>>, id: string): Record<string, T> => {
  const { [id]: _, ...rest } = table;
  return rest;
};

/** A second outcome of a settled job is stale; the job stays until XState leaves its state. */
export function settle(draft: Draft, id: string): void {
  draft.jobs = { ...draft.jobs, [id]: { ...draft.jobs[id]!, settled: true } };
}

/** A timer fires once; that of an `after` stays until XState leaves its state, as a job does. */
export function expire(draft: Pick<Draft, 'timers'>, id: string): void {
  if (!id.startsWith('xstate.after.')) draft.timers = without(draft.timers, id);
  else draft.timers = { ...draft.timers, [id]: { ...draft.timers[id]!, fired: true } };
}

/**
 * Translates XState's actions into requests, in order, and updates the tables of jobs and timers.
 */
export function fold(machine: AnyStateMachine, draft: Draft, actions: readonly Action[]): void {
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
        if (type === 'project' && params === undefined) break;
        draft.requests.push({ kind: 'action', type: type as HostActionName, params });
    }
  }
  if (draft.snapshot.status !== 'active') sweep(draft);
}

type Spawn = { actorRef?: { id: string }; src: unknown; input: unknown };

function openJob(
  machine: AnyStateMachine,
  draft: Draft,
  key: string,
  { actorRef, src, input }: Spawn,
): void {
  const id = actorRef?.id;
  if (id === undefined || typeof src !== 'string' || !factsOf(machine).invokes.has(id)) {
    throw new TroupeError(
      'INTERNAL',
      `the actor ${String(src)} is not started by an invoke of a named effect`,
    );
  }
  if (draft.jobs[id]) closeJob(draft, id);
  draft.jobs = { ...draft.jobs, [id]: { src, key } };
  draft.requests.push({ kind: 'start', id, src, key, input });
  // The snapshot keeps a stub with two fields instead of XState's actor, which would hold the input
  // in memory.
  if (draft.snapshot.children[id] === actorRef) draft.snapshot.children[id] = stub(id, src);
}

type Child = AnyMachineSnapshot['children'][string];
/** All that XState needs of a child to stop it; private knowledge, held by the equivalence test. */
export const stub = (id: string, src: string): Child => ({ id, src });

/**
 * XState stops the job of a state that is left; one whose state stays could never be stored and
 * resumed.
 */
function stopJob(machine: AnyStateMachine, draft: Draft, id: string): void {
  closeJob(draft, id);
  const owner = factsOf(machine).invokes.get(id);
  if (draft.snapshot.status !== 'active' || draft.snapshot.children[id] || !owner) return;
  if (draft.snapshot._nodes.includes(owner)) {
    throw new TroupeError(
      'INTERNAL',
      `the job ${id} was stopped in its own state ${owner.id}: leave the state instead`,
    );
  }
}

function closeJob(draft: Draft, id: string): void {
  const job = draft.jobs[id];
  if (!job) return;
  draft.jobs = without(draft.jobs, id);
  if (job.settled) return;
  if (job === draft.before.jobs[id]) draft.requests.push({ kind: 'stop', id, key: job.key });
  else annul(draft, job.key);
}

type Raise = { event: EventObject; id: string | undefined; delay: unknown };

/** A raise without a delay has already run inside the transition. */
function armTimer(draft: Draft, key: string, { event, id = `raise.${key}`, delay }: Raise): void {
  if (typeof delay !== 'number') {
    if (!event.type.startsWith('xstate.after.')) return;
    throw new TroupeError(
      'INTERNAL',
      `the delay of ${event.type} is ${JSON.stringify(delay)}, not a number of milliseconds`,
    );
  }
  cancelTimer(draft, id);
  const due = dueAt(draft.now, delay);
  draft.timers = { ...draft.timers, [id]: { due, at: draft.now, key, event } };
  draft.requests.push({ kind: 'timer', id, key, due });
}

/**
 * Never earlier than requested: a fraction counts as a whole millisecond; NaN and negative values
 * count as zero.
 */
const dueAt = (now: number, delay: number): number =>
  delay > 0 ? Math.min(now + Math.ceil(delay), Number.MAX_SAFE_INTEGER) : now;

function cancelTimer(draft: Draft, id: string): void {
  const timer = draft.timers[id];
  if (!timer) return;
  draft.timers = without(draft.timers, id);
  if (timer.fired) return;
  if (timer === draft.before.timers[id])
    draft.requests.push({ kind: 'cancel', id, key: timer.key, due: timer.due });
  else annul(draft, timer.key);
}

/** Requested and cancelled within one step: the host does not see it. */
function annul({ requests }: Draft, key: string): void {
  requests.splice(
    requests.findIndex(
      (request) => (request.kind === 'start' || request.kind === 'timer') && request.key === key,
    ),
    1,
  );
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
