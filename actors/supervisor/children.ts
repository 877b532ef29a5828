/**
 * Children: the pure parts of a supervisor's chart: its list of children, the messages to them, and
 * the reports to its own supervisor.
 */
import { type Address, isAddress, parseAddress } from '../../protocols/address.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { ActorInput, Project, Reply, Tell } from '../../protocols/statechart.ts';
import {
  type ChildSpec,
  type Down,
  ROOT,
  type SupervisorRow,
  type SupervisorStart,
} from '../../protocols/supervision.ts';
import { EMPTY_OUTBOX, put } from './outbox.ts';
import {
  affected,
  backoffMs,
  concernsOthers,
  countOf,
  DEFAULT_LIMITS,
  type Failure,
  orderForFailed,
  sendDue,
  orderToEnd,
  orderToRestart,
  tellOrder,
  wait,
  type Waiting,
  withFailure,
} from './strategy.ts';
import { type Args, type ArgsOf, on, type Plan, type SupervisorContext } from './types.ts';

export const CHILDREN_MAX = 100;
export const INTENSITY_MAX = 1_000;
const DAY_MS = 86_400_000;

type Change = Partial<SupervisorContext>;

export const initialContext = ({ self }: ActorInput): SupervisorContext => ({
  self,
  plan: planOf({ type: 'supervisor.start', children: [] }),
  children: [],
  failures: [],
  waiting: [],
  why: null,
  outbox: EMPTY_OUTBOX,
});

function planOf(event: SupervisorStart): Plan {
  const { intensity, periodMs, backoff } = event;
  return {
    strategy: event.strategy ?? 'one-for-one',
    limits: {
      intensity: intensity ?? DEFAULT_LIMITS.intensity,
      periodMs: periodMs ?? DEFAULT_LIMITS.periodMs,
      backoff: {
        firstMs: backoff?.firstMs ?? DEFAULT_LIMITS.backoff.firstMs,
        maxMs: backoff?.maxMs ?? DEFAULT_LIMITS.backoff.maxMs,
      },
    },
    whenExceeded: event.whenExceeded ?? 'stop',
    parent: event.parent ?? ROOT,
  };
}

// ---- configuration

const whole = (value: number | undefined, min: number, max: number): boolean =>
  value === undefined || (Number.isInteger(value) && value >= min && value <= max);

/** The fault of a `supervisor.start` or `supervisor.add`; undefined if it is valid. */
export function fault({ context, event }: Args): string | undefined {
  if (event.type === 'supervisor.start') return faultOfStart(context, event);
  if (event.type !== 'supervisor.add') return undefined;
  const others = context.children.filter(({ child }) => child !== event.child?.child);
  return faultOfChildren(context, [...others, event.child]);
}

function faultOfStart(context: SupervisorContext, event: SupervisorStart): string | undefined {
  const { children, strategy, intensity, periodMs, backoff, whenExceeded, parent } = event;
  if (strategy && !['one-for-one', 'one-for-all', 'rest-for-one'].includes(strategy))
    return `strategy is ${JSON.stringify(strategy)}: one-for-one, one-for-all or rest-for-one`;
  if (whenExceeded && whenExceeded !== 'stop' && whenExceeded !== 'quarantine')
    return `whenExceeded is ${JSON.stringify(whenExceeded)}: stop or quarantine`;
  if (!whole(intensity, 0, INTENSITY_MAX)) return `intensity must be 0 to ${INTENSITY_MAX}`;
  if (!whole(periodMs, 1, DAY_MS)) return `periodMs must be 1 to ${DAY_MS}`;
  if (!whole(backoff?.firstMs, 0, DAY_MS) || !whole(backoff?.maxMs, 0, DAY_MS))
    return `backoff.firstMs and backoff.maxMs must be 0 to ${DAY_MS}`;
  if (parent !== undefined && (!isAddress(parent) || parent === context.self))
    return 'parent must be the address of another actor';
  if (!Array.isArray(children)) return 'children must be a list of { child, start }';
  return faultOfChildren(context, children);
}

function faultOfChildren(
  { self }: SupervisorContext,
  children: readonly ChildSpec[],
): string | undefined {
  if (children.length > CHILDREN_MAX)
    return `${children.length} children are too many, ${CHILDREN_MAX} are allowed`;
  const seen = new Set<Address>([self]);
  for (const [n, spec] of children.entries()) {
    const at = `child ${n + 1}`;
    if (!isAddress(spec?.child)) return `${at}: child must be an address tenant/type/key`;
    if (seen.has(spec.child)) return `${at}: ${spec.child} is listed twice, or is this supervisor`;
    if (typeof spec.start?.type !== 'string') return `${at}: start must be a message with a type`;
    if (spec.action && !['restart', 'resume', 'quarantine'].includes(spec.action))
      return `${at}: action is ${JSON.stringify(spec.action)}: restart, resume or quarantine`;
    seen.add(spec.child);
  }
  return undefined;
}

export const refused = (args: Args): Reply => ({
  to: args.event.meta.reply,
  error: { code: 'INVALID_ARGUMENT', message: `${args.event.type}: ${fault(args)}` },
});

const addressesOf = (children: readonly ChildSpec[]): ReadonlySet<Address> =>
  new Set(children.map(({ child }) => child));

/** Applies the new list; children that are no longer on it are ended. */
export function adopt({ context, event }: Args): Change {
  if (event.type !== 'supervisor.start') return {};
  const wanted = addressesOf(event.children);
  const gone = context.children.filter(({ child }) => !wanted.has(child));
  return {
    plan: planOf(event),
    children: event.children,
    waiting: context.waiting.filter(({ child }) => wanted.has(child)),
    ...put(
      context,
      gone.map(({ child }) => tellOrder(child, orderToEnd(child, 'stop'))),
    ),
  };
}

/** As `adopt`; new children are created, the others continue. */
export function take(args: Args): Change {
  const { event, context } = args;
  if (event.type !== 'supervisor.start') return {};
  const known = addressesOf(context.children);
  const adopted = { ...context, ...adopt(args) };
  const created = event.children.filter(({ child }) => !known.has(child));
  return { ...adopted, ...put(adopted, created.map(startOf)) };
}

/** A listed child keeps its position. */
export function add({ context, event }: Args): Change {
  if (event.type !== 'supervisor.add') return {};
  const { child: spec } = event;
  const at = context.children.findIndex(({ child }) => child === spec.child);
  if (at >= 0) return { children: context.children.with(at, spec) };
  return { children: [...context.children, spec], ...put(context, [startOf(spec)]) };
}

export function remove({ context, event }: Args): Change {
  if (event.type !== 'supervisor.remove') return {};
  const { child } = event;
  if (!specOf(context, child)) return {};
  return {
    children: context.children.filter((spec) => spec.child !== child),
    waiting: context.waiting.filter((order) => order.child !== child),
    failures: context.failures.filter((failure) => failure.child !== child),
    ...put(context, [tellOrder(child, orderToEnd(child, 'stop'))]),
  };
}

/** Sent on the lane of the orders, so that it follows the restart to which it belongs. */
const startOf = ({ child, start }: ChildSpec): Tell => ({
  to: child,
  event: start,
  lane: 'control',
  supervise: true,
});

// ---- failures of children

const specOf = ({ children }: SupervisorContext, address: Address): ChildSpec | undefined =>
  children.find(({ child }) => child === address);

const failuresWith = ({ context, event }: ArgsOf<'supervision.down'>): Failure[] =>
  withFailure(context.failures, { child: event.child, at: event.meta.now }, context.plan.limits);

export const isOurs = on(
  'supervision.down',
  ({ context, event }): boolean => specOf(context, event.child) !== undefined,
);

export const isToBeQuarantined = on(
  'supervision.down',
  ({ context, event }): boolean => specOf(context, event.child)?.action === 'quarantine',
);

/** Counted over all children, as OTP does: the group fails as one. */
export const isOneTooMany = on(
  'supervision.down',
  (args): boolean => failuresWith(args).length > args.context.plan.limits.intensity,
);

export const noteFailure = on(
  'supervision.down',
  (args): Change => ({ failures: failuresWith(args) }),
);

/** After a delay the child resumes, with those that the strategy selects. */
export const plan = on('supervision.down', ({ context, event }): Change => {
  const { child: failed } = event;
  const order = orderForFailed(event, specOf(context, failed)?.action ?? 'restart');
  const addresses = context.children.map(({ child }) => child);
  const group = concernsOthers(order)
    ? affected(context.plan.strategy, addresses, failed)
    : [failed];
  const due = event.meta.now + backoffMs(countOf(context.failures, failed), context.plan.limits);
  const orders = group.map(
    (child): Waiting => ({ child, order: child === failed ? order : orderToRestart(child), due }),
  );
  return { waiting: wait(context.waiting, orders) };
});

export const orderDue = (args: Args): Change => sendDue(args, carryOut);

/** A restarted child receives its start message again. */
function carryOut(
  context: SupervisorContext,
  { child, order }: Pick<Waiting, 'child' | 'order'>,
): Tell[] {
  const spec = order === 'sys.restart' ? specOf(context, child) : undefined;
  return [tellOrder(child, order), ...(spec ? [startOf(spec)] : [])];
}

export const quarantineFailed = on(
  'supervision.down',
  ({ context, event }): Change =>
    put(context, [tellOrder(event.child, 'sys.quarantine', event.error.message)]),
);

/**
 * The child was removed, or the group has given up: no other actor would ever send it a message.
 */
export const endFailed = on('supervision.down', ({ context, event }): Change => {
  const { child, error } = event;
  return put(context, [
    tellOrder(child, orderToEnd(child, context.plan.whenExceeded), error.message),
  ]);
});

// ---- escalation and restart

/** Every child is ended, the last one first. */
export const endAll = ({ context }: Args): Change => ({
  waiting: [],
  ...put(
    context,
    context.children
      .map(({ child }) =>
        tellOrder(child, orderToEnd(child, context.plan.whenExceeded), context.why?.message),
      )
      .reverse(),
  ),
});

export const noteWhy = on('supervision.down', ({ context, event }): Change => {
  const { child, error } = event;
  const { intensity, periodMs } = context.plan.limits;
  const why: ErrorData = {
    code: 'INTERNAL',
    message: `${context.self} gave up its ${context.children.length} children: more than ${intensity} failures in ${periodMs} ms, the last of ${child}: ${error.message}`,
  };
  return { why };
});

export function escalate({ context, event }: Args): Tell {
  const down: Down = {
    type: 'supervision.down',
    child: context.self,
    error: context.why!,
    crashes: context.failures.length,
    at: event.meta.now,
    poison: false,
    escalated: true,
  };
  return { to: context.plan.parent, event: down };
}

/** Restarts all children in order, without recorded failures. */
export const beginAgain = ({ context }: Args): Change => ({
  failures: [],
  waiting: [],
  why: null,
  ...put(
    context,
    context.children.flatMap(({ child }) =>
      carryOut(context, { child, order: orderToRestart(child) }),
    ),
  ),
});

// ---- the row

function row({ context, event }: Args, status: SupervisorRow['status']): SupervisorRow {
  return {
    supervisor: context.self,
    status,
    strategy: context.plan.strategy,
    children: context.children.length,
    failures: context.failures.length,
    updatedAt: event.meta.now,
    ...(context.why ? { why: context.why } : {}),
  };
}

export const projected = (args: Args, status: SupervisorRow['status']): Project => ({
  index: 'supervisors',
  key: parseAddress(args.context.self).key,
  value: row(args, status),
});

export const answered = (args: Args, status: SupervisorRow['status']): Reply => ({
  to: args.event.meta.reply,
  result: row(args, status),
});
