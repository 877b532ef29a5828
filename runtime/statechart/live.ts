/** Live: the types of a hosted machine: in memory, as stored, its causes and its requests. */
import type { AnyMachineSnapshot, EventObject } from 'xstate';
import type { ErrorData } from '../../protocols/errors.ts';
import type { HostActionName, Message } from '../../protocols/statechart.ts';

/**
 * A machine's snapshot as data: status, value, context, output, error, and node ids per history
 * node.
 */
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
 * An armed timer; `event` is delivered when it fires. `due` is shard time in milliseconds, and so
 * is `at`, when it was armed (older rows do not say). One of `after` that has fired and left its
 * state active (a guard said no) stays, marked, until the state is left.
 */
export type ArmedTimer = {
  due: number;
  at?: number;
  key: string;
  event: EventObject;
  fired?: true;
};

/**
 * What is persisted of one machine; safe in JSON and MessagePack. Shares its parts with the Live.
 */
export type MachineRow = {
  seq: number;
  snap: Saved;
  jobs: Record<string, Job>;
  timers: Record<string, ArmedTimer>;
};

/**
 * A running machine in memory; immutable: every step returns a new one, so an uncommitted one can
 * be dropped.
 */
export type Live = {
  /** steps that were not ignored, since birth; the first half of every key */
  readonly seq: number;
  readonly snapshot: AnyMachineSnapshot;
  readonly jobs: Readonly<Record<string, Job>>;
  readonly timers: Readonly<Record<string, ArmedTimer>>;
};

/**
 * What a step requests from the host, in the machine's order. Keys are unique in a machine's life.
 */
export type StepRequest =
  | { kind: 'start'; id: string; src: string; key: string; input: unknown }
  | { kind: 'stop'; id: string; key: string }
  | { kind: 'timer'; id: string; key: string; due: number }
  | { kind: 'cancel'; id: string; key: string; due: number }
  | { kind: 'action'; type: HostActionName; params: unknown };

/**
 * One event, and the job or the timer it settles. Outcomes and timers: by `settled`, `failed` and
 * `fired` only.
 */
export type Cause = {
  readonly event: Message;
  readonly job?: { readonly id: string; readonly key: string };
  readonly timer?: { readonly id: string; readonly key: string };
};

/**
 * How a step ended:
 *  - `moved`: another snapshot; `unchanged`: the same snapshot, but something was requested or
 *    settled, or a transition without changes was taken. Both: commit `live` and execute
 *    `requests`;
 *  - `ignored`: the machine accepts no such event now (with `error`: it may never be sent);
 *  - `stale`: the job or the timer is no longer open;
 *  - `failed`: the machine threw or reached status `error`.
 * After the last three, `live` is unchanged and `requests` is empty.
 */
export type Step = {
  readonly live: Live;
  readonly requests: StepRequest[];
  readonly outcome: 'moved' | 'unchanged' | 'ignored' | 'stale' | 'failed';
  readonly error?: ErrorData;
  /** what was thrown, with its stack, for logs of this process only */
  readonly thrown?: unknown;
};
