/**
 * The actions that a statechart can request from its host, and the data that the host adds to every
 * event.
 *
 * A machine is pure (I7): it reads no clock, creates no ids and does no I/O. It requests work in
 * two ways only:
 *  - awaited work: `invoke: { id, src, input, onDone, onError }`, where `src` is a placeholder made
 *    by `effect()`. The host records an intent, runs the effect after the commit and delivers the
 *    done or error event of the invoke;
 *  - the named actions of `hostActions` below, with `params`. Nothing else leaves an actor. Timers
 *    are `after` with named delays.
 */
import { fromPromise, type PromiseActorLogic } from 'xstate';
import type { Address } from './address.ts';
import type { ErrorData } from './errors.ts';

// A registered symbol, so that several copies of this module recognize the same placeholders.
const EFFECT = Symbol.for('troupe.effect');

/**
 * Placeholder for awaited work: carries the types of output and input and is never started. The
 * implementation is in `defineActor({ effects })`.
 *
 * @example
 * ```ts
 * import { effect } from 'troupe';
 * import { setup } from 'xstate';
 *
 * const chart = setup({ actors: { charge: effect<string, { cents: number }>() } });
 * assert.ok(chart);
 * ```
 */
export const effect = <Output, Input>() =>
  Object.assign(
    fromPromise<Output, Input>(() =>
      Promise.reject(new Error('a host effect is never started here')),
    ),
    { [EFFECT]: true },
  ) as PromiseActorLogic<Output, Input>;

/**
 * Whether actor logic is a placeholder made by `effect()`. A host cannot make any other logic
 * durable.
 */
export const isEffect = (logic: unknown): boolean =>
  typeof logic === 'object' && logic !== null && Object.hasOwn(logic, EFFECT);

/**
 * The destination of a reply. Opaque to machines: store it in the context and pass it to `reply`.
 * JSON-safe.
 */
export type ReplyRef = {
  /** id of the request message */
  readonly id: string;
  /** the requesting actor; absent for an external client */
  readonly actor?: Address;
  /** number of actors that the request has passed; the reply continues the count */
  readonly hops?: number;
  /** the client's inbox on the Bus */
  readonly inbox?: string;
  /** key of the client's idempotency row, which stores the reply */
  readonly key?: string;
};

/** Data of every event. `now` is shard time in epoch milliseconds and never decreases. */
export type Meta = {
  /** unique per message; seed for ids and jitter that a machine derives */
  readonly id: string;
  readonly now: number;
  /** how far `now` is ahead of the clock after the clock was set back; usually absent */
  readonly aheadMs?: number;
  /** the actor that receives it */
  readonly self: Address;
  /** the sending actor; absent when a client, a timer or an effect is the cause */
  readonly from?: Address;
  readonly reply?: ReplyRef;
  /** the principal that the entry point authenticated */
  readonly principal?: { readonly sub: string; readonly roles: readonly string[] };
  readonly traceId?: string;
};

/**
 * The clock's time, which may be set back: only for comparison with external dates (due dates,
 * timestamps). Use `now` for everything else.
 *
 * @example
 * ```ts
 * import { wallOf } from 'troupe';
 *
 * assert.equal(wallOf({ now: 1_000, aheadMs: 400 }), 600);
 * ```
 */
export const wallOf = ({ now, aheadMs = 0 }: Pick<Meta, 'now' | 'aheadMs'>): number =>
  now - aheadMs;

/** An event as a machine receives it. */
export type Delivered<E> = E & { readonly meta: Meta };

/** The input of every actor's machine: the first message creates the actor. */
export type ActorInput = {
  readonly self: Address;
  readonly tenant: string;
  readonly key: string;
  readonly now: number;
};

/** A message from one actor to another; `type` is the receiver's event type. */
export type Message = { readonly type: string; readonly [field: string]: unknown };

export type Lane = 'data' | 'control';

/** Send `event` to an actor: durable, applied exactly once, in order per lane. */
export type Tell = {
  readonly to: Address;
  readonly event: Message;
  /** default `data`; `control` overtakes data, so the actor must accept both orders */
  readonly lane?: Lane;
  /**
   * the receiver refuses it as EXPIRED when it is applied later than this after the sending turn
   */
  readonly ttlMs?: number;
  /**
   * request a reply: it arrives as `{ type: 'reply', to: <id of this message>, result | error }`
   */
  readonly ask?: boolean;
  /** if this message creates the receiver, the sender supervises it */
  readonly supervise?: boolean;
  /** acting principal; default: that of the current message, so none after a timer or an effect */
  readonly principal?: NonNullable<Meta['principal']>;
};
/** Reply to the request that `to` identifies. The first reply counts; later ones are ignored. */
export type Reply = {
  readonly to: ReplyRef | undefined;
  readonly result?: unknown;
  readonly error?: ErrorData;
};
/**
 * Append entries, in order, to this actor's transcript (append-only; effects and entry points read
 * it).
 */
export type Append = { readonly entries: readonly Message[] };
/** Publish to watchers on the Bus after the commit. Ephemeral: may be lost, never durable state. */
export type Publish = { readonly topic: string; readonly event: Message };
/**
 * Put (or with null remove) one row of a named index, which readers access without activating the
 * actor.
 */
export type Project = {
  readonly index: string;
  readonly key: string;
  readonly value: unknown;
  /** the row expires this long after the turn, up to an hour later; default: it stays */
  readonly keepMs?: number;
};
/**
 * Store a message that this actor could not process as a dead letter of its domain, in the same
 * commit as the turn. An operator may redrive it, which sends `event` to `to`.
 */
export type DeadLetterAsk = {
  /** lower-case letters, digits and `_`, like the domain of an action: `a2a.{domain}.{env}.dlq` */
  readonly domain: string;
  /** a code for lists, such as EXHAUSTED; at most 64 characters */
  readonly reason: string;
  readonly error: ErrorData;
  readonly to: Address;
  readonly event: Message;
};

/** No-op bodies to spread into `setup({ actions })`; the host executes the returned params. */
export const hostActions = {
  tell: (_: unknown, _params: Tell) => {},
  reply: (_: unknown, _params: Reply) => {},
  append: (_: unknown, _params: Append) => {},
  publish: (_: unknown, _params: Publish) => {},
  /** undefined: nothing */
  project: (_: unknown, _params: Project | undefined) => {},
  deadLetter: (_: unknown, _params: DeadLetterAsk) => {},
};
export type HostActionName = keyof typeof hostActions;

/** Node meta: how the host handles an actor while this state is active. */
export type StateMeta = {
  /** these events wait in the actor's stash (bounded by its mailbox policy) */
  readonly defer?: readonly string[];
  /**
   * hardly any message is expected: the actor leaves memory with the turn that ends in this state,
   * and the next message loads its row
   */
  readonly passivate?: true;
};
