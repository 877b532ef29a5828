/** Progress: the changes of a configuration, its row, and its requests to others. Pure. */
import { type ErrorData, isFinalCode } from '../../protocols/errors.ts';
import {
  PUSH_INDEX,
  type PushDelivery,
  type PushRetry,
  type PushRow,
} from '../../protocols/push.ts';
import type {
  ActorInput,
  DeadLetterAsk,
  Project,
  Reply,
  Tell,
} from '../../protocols/statechart.ts';
import { isFinal, taskAddress } from '../../protocols/task.ts';
import { type TaskUnwatch, type TaskWatch } from '../../protocols/task-watch.ts';
import { pushAddress } from '../../protocols/push.ts';
import { pauseMsOf } from '../kit/backoff.ts';
import { type Args, on, type PushContext } from './types.ts';

/** A receiver that accepts nothing for this long gets no more attempts. */
export const PATIENCE_MS = 24 * 3_600_000;
/** About 200 attempts fit into that time; more are made only if the time is wrong. */
const ATTEMPTS_MAX = 500;
const BACKOFF_MS = { first: 1_000, max: 900_000 };
/** A task has fewer changes unless it asks for many inputs; then the oldest are dropped. */
const QUEUE_MAX = 32;

type Change = Partial<PushContext>;
type State = Pick<Args, 'context'>;

export const initialContext = ({ tenant, key }: ActorInput): PushContext => ({
  tenant,
  key,
  config: null,
  secret: null,
  createdAt: 0,
  queue: [],
  last: 0,
  delivered: 0,
  isOver: false,
  failures: 0,
  failingSince: 0,
  error: null,
  pauseMs: 0,
});

const configOf = ({ config, key }: PushContext): NonNullable<typeof config> => {
  if (config) return config;
  throw new Error(`the push configuration ${key} is not set`);
};

export const configure = on('push.configure', ({ context, event }): Change => {
  const { config, secret = null, meta } = event;
  const createdAt = context.config ? context.createdAt : meta.now;
  return { config, secret, createdAt, ...ENABLED };
});

/** An operator has redriven the dead letter of a disabled configuration. */
export const retry = (): Change => ENABLED;
/** The state of the task is posted when it is watched again. */
export const dropQueue = (): Change => ({ queue: [] });

const ENABLED = { isOver: false, failures: 0, failingSince: 0, error: null } as const;

/** Only its owner replaces or removes a configuration. */
export const isForeign = on(
  ['push.configure', 'push.remove'],
  ({ context: { config }, event: { meta } }): boolean =>
    config !== null && meta.principal?.sub !== config.principal,
);
/**
 * Whether the configuration is the one that it has: nothing changes then. Sealed secrets cannot be
 * compared; after the end of the task nothing is posted with them any more.
 */
export const isSame = on('push.configure', ({ context, event }): boolean => {
  const { config, isOver } = context;
  const wanted = event.config;
  const hasSecret = context.secret !== null || event.secret !== undefined;
  return config?.url === wanted.url && config.scheme === wanted.scheme && (isOver || !hasSecret);
});
export const refused = ({ event }: Args): Reply => ({
  to: event.meta.reply,
  error: { code: 'CONFLICT', message: 'the id of the push configuration is used already' },
});

export const enqueue = on('task.changed', ({ context, event }): Change => {
  const last = context.last + 1;
  return { last, queue: [...context.queue, { n: last, view: event.task }].slice(-QUEUE_MAX) };
});

/** The first notice was delivered, or a newer one has displaced it. */
export const noteDelivered = ({ context }: State, { n }: { readonly n: number }): Change => {
  const [first, ...rest] = context.queue;
  return {
    queue: first?.n === n ? rest : context.queue,
    delivered: context.delivered + 1,
    isOver: first !== undefined && first.n === n && isFinal(first.view.state),
    failures: 0,
    failingSince: 0,
    error: null,
  };
};

export const noteFailure = (
  { context, event }: Args,
  { error }: { readonly error: ErrorData },
): Change => {
  const failures = context.failures + 1;
  return {
    failures,
    failingSince: context.failures === 0 ? event.meta.now : context.failingSince,
    error,
    pauseMs: pauseMsOf(BACKOFF_MS, failures, { seed: `${context.key} ${event.meta.now}`, error }),
  };
};

// ---- guards

export const hasNotices = ({ context }: State): boolean => context.queue.length > 0;
export const isOver = ({ context }: State): boolean => context.isOver;
/** @param error of this attempt */
export const isHopeless = (
  { context, event }: Args,
  { error }: { readonly error: ErrorData },
): boolean =>
  isFinalCode(error.code) ||
  context.failures + 1 >= ATTEMPTS_MAX ||
  (context.failures > 0 && event.meta.now - context.failingSince >= PATIENCE_MS);

// ---- requests

export const watch = ({ context }: State): Tell => {
  const event: TaskWatch = {
    type: 'task.watch',
    watcher: pushAddress(context.tenant, context.key),
  };
  return { to: taskAddress(context.tenant, configOf(context).task_id), event };
};

/** Another configuration may take its place at the task. */
export const unwatch = ({ context: { tenant, key } }: State): Tell => {
  const event: TaskUnwatch = { type: 'task.unwatch', watcher: pushAddress(tenant, key) };
  return { to: taskAddress(tenant, key.slice(0, key.lastIndexOf('.'))), event };
};

export const delivery = ({ context }: State): PushDelivery => {
  const { tenant, key, secret, queue, createdAt } = context;
  const { n, view } = queue[0]!;
  const config = configOf(context);
  return { tenant, id: `${key}.${createdAt}.${n}`, config, ...(secret ? { secret } : {}), view };
};

export const answered = ({ event }: Args): Reply => ({ to: event.meta.reply, result: null });

const row =
  (state: PushRow['state']) =>
  ({ context }: State): Project => {
    const { key, delivered, failures, error, createdAt } = context;
    const value: PushRow = {
      ...configOf(context),
      state,
      delivered,
      failures,
      ...(error ? { last_error: error.message } : {}),
      created_at: new Date(createdAt).toISOString(),
    };
    return { index: PUSH_INDEX, key, value };
  };
export const activeRow = row('active');
export const failingRow = row('failing');
export const disabledRow = row('disabled');
export const finishedRow = row('finished');
export const noRow = ({ context }: State): Project => ({
  index: PUSH_INDEX,
  key: context.key,
  value: null,
});

/** A redrive watches the task again, whose state is posted then. */
export const dead = ({ context }: State): DeadLetterAsk => {
  const { error, tenant, key } = context;
  const event: PushRetry = { type: 'push.retry' };
  return { domain: 'push', reason: 'DISABLED', error: error!, to: pushAddress(tenant, key), event };
};
