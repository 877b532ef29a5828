/** Progress: the pure parts of the chart that decide and remember. */
import { defined } from '../../protocols/defined.ts';
import { type ErrorCode, type ErrorData, isFinalCode } from '../../protocols/errors.ts';
import type { RemoteCall, RemoteTask } from '../../protocols/remote-call.ts';
import type { ActorInput, ReplyRef } from '../../protocols/statechart.ts';
import { pauseMsOf } from '../kit/backoff.ts';
import { errorOf } from '../kit/handlers.ts';
import { firstOf } from '../kit/text.ts';
import { type Args, type CallContext, type Ending, on, type Started } from './types.ts';

type Change = Partial<CallContext>;
type State = Pick<Args, 'context'>;

/** Tools that may wait for one call: its attempts on several workers. */
const WAITERS_MAX = 16;
const STATUS_CHARACTERS_MAX = 200;
const POLL_MS = { min: 100, max: 60_000 };
const PAUSE_MS = { first: 500, max: 30_000 };
/** Starts that fail in succession before the call fails. */
export const STARTS_MAX = 5;
const CANCELS_MAX = 5;
export const initialContext = ({ key, tenant, now }: ActorInput): CallContext => ({
  tenant,
  id: key,
  startedAt: now,
  call: null,
  task: null,
  mayBeMade: false,
  ending: null,
  endedAt: null,
  waiters: [],
  failures: 0,
  problem: null,
  pauseMs: PAUSE_MS.first,
});

/** Never throws: no state that calls it is reached before a call has started. */
export function callOf({ call, id }: CallContext): RemoteCall {
  if (call) return call;
  throw new Error(`the remote call ${id} was not started`);
}

const withWaiter = (waiters: readonly ReplyRef[], waiter: ReplyRef | undefined) =>
  waiter && waiters.length < WAITERS_MAX ? [...waiters, waiter] : waiters;

export const begin = on(
  'remote-call.start',
  ({ context, event }): Change => ({
    call: event.call,
    startedAt: event.meta.now,
    waiters: withWaiter(context.waiters, event.meta.reply),
  }),
);
export const noteMade = (): Change => ({ mayBeMade: true });
export const wait = ({ context, event }: Args): Change => ({
  waiters: withWaiter(context.waiters, event.meta.reply),
});

// ---- what the requests answered

type Step = { readonly step: Started };

export const noteTask = (_: State, { step }: Step): Change => {
  if (step.kind !== 'running') return {};
  const { handle, pollMs, status } = step;
  const task: RemoteTask = {
    handle,
    pollMs: Math.min(POLL_MS.max, Math.max(POLL_MS.min, pollMs)),
    ...defined({ status: status && firstOf(status, STATUS_CHARACTERS_MAX) }),
  };
  return { task, failures: 0, problem: null, pauseMs: task.pollMs };
};

export function noteFailure({ context, event }: Args): Change {
  const [failures, error] = [context.failures + 1, errorOf(event)];
  return {
    mayBeMade: false,
    failures,
    problem: error,
    pauseMs: pauseMsOf(PAUSE_MS, failures, { seed: event.meta.id, error }),
  };
}

// ---- its end

const ends = ({ event }: Args, ending: Ending): Change => ({ ending, endedAt: event.meta.now });

export const noteResult = (args: Args, { step }: Step): Change => {
  if (step.kind === 'done') return ends(args, { state: 'done', result: step.result });
  return unknown(args, step.kind === 'lost' ? step.why : 'it continues outside');
};

const unknown = (args: Args, why: string): Change =>
  ends(args, { state: 'unknown', result: { text: unknownText(args, why), ...UNKNOWN } });
const UNKNOWN = { isError: true, unknown: true } as const;
/** Whether it was requested, and has neither an answer nor a task that could be asked. */
const isLost = ({ context: { mayBeMade, task } }: State): boolean => mayBeMade && task === null;

const unknownText = ({ context }: State, why: string): string => {
  const { server, name } = callOf(context);
  return (
    `Unknown: ${why}. ${name} of ${server} may have had its effect completely, partly or not at ` +
    'all. It was not called again. Check the present state before you try it again.'
  );
};

export const noteError = (args: Args): Change =>
  ends(args, { state: 'failed', error: errorOf(args.event) });

export const noteLate = (args: Args): Change => {
  const { server, name, timeoutMs } = callOf(args.context);
  const said = args.context.task?.status;
  const last = said === undefined ? '' : `; last: ${said}`;
  const message = `${name} of ${server} did not end within ${Math.round(timeoutMs / 1_000)} s${last}`;
  if (isLost(args)) return unknown(args, message);
  return ends(args, { state: 'failed', error: { code: 'DEADLINE_EXCEEDED', message } });
};

export const noteCancelled = (args: Args): Change => {
  const { server, name } = callOf(args.context);
  if (isLost(args)) return unknown(args, 'the call was cancelled');
  const error: ErrorData = { code: 'CANCELLED', message: `${name} of ${server} was cancelled` };
  return ends(args, { state: 'cancelled', error });
};

// ---- guards

export const isOnce = ({ context }: State): boolean => callOf(context).class === 'once';
export const isRunning = (_: State, { step }: Step): boolean => step.kind === 'running';
export const hasTask = ({ context }: State): boolean => context.task !== null;
/** Codes that say of a call of class `once` that it was not made, and may be made later. */
const NOT_MADE: ReadonlySet<ErrorCode> = new Set(['UNAVAILABLE', 'RATE_LIMIT_EXCEEDED']);
/** Whether a start that failed is repeated. */
export function mayStartAgain({ context, event }: Args): boolean {
  const { code } = errorOf(event);
  const mayPass = isOnce({ context }) ? NOT_MADE.has(code) : !isFinalCode(code);
  return mayPass && context.failures + 1 < STARTS_MAX;
}
/** Whether the program has given the task up; everything else may pass. */
export const isGone = ({ event }: Args): boolean => errorOf(event).code === 'NOT_FOUND';
export const mayCancelAgain = ({ context }: State): boolean => context.failures + 1 < CANCELS_MAX;
