/**
 * Strategy: the decisions of supervision as pure functions, after Erlang/OTP's supervisor: which
 * children a failure affects, when there are too many failures, how long to wait, and which
 * directives to send. The charts of supervisors and of the root share it.
 *
 * Two things differ from OTP, because here a turn that threw is rolled back and mail is durable:
 *  - `resume` exists: the last committed state is valid, and only the failed message is lost;
 *  - siblings are not stopped while a failed child waits: their mail would be refused. They are
 *    restarted together with it.
 */
import { type Address, parseAddress } from '../../protocols/address.ts';
import type { Meta, Tell } from '../../protocols/statechart.ts';
import type { ChildAction, Directive, Down, Strategy } from '../../protocols/supervision.ts';
import { type Outbox, put } from './outbox.ts';

export type Limits = {
  /** failures within the period that are answered */
  readonly intensity: number;
  readonly periodMs: number;
  readonly backoff: { readonly firstMs: number; readonly maxMs: number };
};
export const DEFAULT_LIMITS: Limits = {
  intensity: 3,
  periodMs: 60_000,
  backoff: { firstMs: 200, maxMs: 30_000 },
};

export type Failure = { readonly child: Address; readonly at: number };

/** What a child receives: a directive to its host or, for a supervisor, a message. */
export type Order = Directive | 'supervisor.restart' | 'supervisor.stop';

/** An order that waits for its backoff. */
export type Waiting = { readonly child: Address; readonly order: Order; readonly due: number };

/** The failures that still count, with a new one at the end. */
export const withFailure = (
  failures: readonly Failure[],
  failure: Failure,
  { periodMs }: Limits,
): Failure[] => [...failures.filter(({ at }) => at > failure.at - periodMs), failure];

export const countOf = (failures: readonly Failure[], child: Address): number =>
  failures.filter((failure) => failure.child === child).length;

/** Doubles with each failure, up to the bound. `failures` counts the present one. */
export const backoffMs = (failures: number, { backoff }: Limits): number =>
  Math.min(backoff.firstMs * 2 ** (failures - 1), backoff.maxMs);

/** The children that are restarted with the one that failed, itself among them, in their order. */
export function affected(
  strategy: Strategy,
  children: readonly Address[],
  failed: Address,
): readonly Address[] {
  switch (strategy) {
    case 'one-for-one':
      return [failed];
    case 'one-for-all':
      return children;
    case 'rest-for-one':
      return children.slice(children.indexOf(failed));
  }
}

const isSupervisor = (child: Address): boolean => parseAddress(child).type === 'supervisor';

/**
 * The directive to the failed child. A crashed supervisor keeps its children, which are its state.
 */
export function orderForFailed({ child, escalated }: Down, action: ChildAction): Order {
  if (action === 'quarantine') return 'sys.quarantine';
  if (escalated) return 'supervisor.restart';
  return isSupervisor(child) ? 'sys.resume' : `sys.${action}`;
}

/** The directive to a child that did not fail itself. */
export const orderToRestart = (child: Address): Order =>
  isSupervisor(child) ? 'supervisor.restart' : 'sys.restart';

export const orderToEnd = (child: Address, how: 'stop' | 'quarantine'): Order =>
  isSupervisor(child) ? 'supervisor.stop' : `sys.${how}`;

/** Whether others must restart with it: not if the failed child resumes from its state. */
export const concernsOthers = (order: Order): boolean =>
  order === 'sys.restart' || order === 'supervisor.restart';

/** Later orders replace earlier ones to the same child. */
export function wait(waiting: readonly Waiting[], orders: readonly Waiting[]): readonly Waiting[] {
  const ordered = new Set(orders.map(({ child }) => child));
  return [...waiting.filter(({ child }) => !ordered.has(child)), ...orders];
}

type Args = {
  readonly context: { readonly waiting: readonly Waiting[]; readonly outbox: Outbox };
  readonly event: { readonly meta: Pick<Meta, 'now'> };
};

export const hasWaiting = ({ context }: Pick<Args, 'context'>): boolean =>
  context.waiting.length > 0;

/** Milliseconds until the first waiting order is due. */
export const restartBackoffMs = ({ context: { waiting }, event: { meta } }: Args): number =>
  Math.max(0, Math.min(...waiting.map(({ due }) => due)) - meta.now);

/** Moves the orders that are due to the outbox. `tellsOf` returns the messages of one order. */
export function sendDue<Context extends Args['context']>(
  { context, event: { meta } }: Args & { readonly context: Context },
  tellsOf: (context: Context, order: Waiting) => readonly Tell[],
): Args['context'] {
  const isDue = ({ due }: Waiting) => due <= meta.now;
  return {
    waiting: context.waiting.filter((order) => !isDue(order)),
    ...put(
      context,
      context.waiting.filter(isDue).flatMap((order) => tellsOf(context, order)),
    ),
  };
}

/** Directives overtake what waits in the child's mailbox. */
export const tellOrder = (child: Address, order: Order, why?: string): Tell => ({
  to: child,
  event: { type: order, ...(why ? { why } : {}) },
  lane: 'control',
});
