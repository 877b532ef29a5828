/**
 * What a statechart may ask of its host, and what the host tells it with every event.
 *
 * A machine is pure (I7): it reads no clock, makes no id and does no I/O. It *asks* by two means
 * only:
 *  - awaited work: `invoke: { id, src, input, onDone, onError }`, where `src` is a placeholder made
 *    by `effect()`. The host records an intent, runs the effect after the commit and answers with
 *    the invoke's done or error event;
 *  - the named actions of `hostActions` below, with `params`. Nothing else leaves an actor.
 * Timers are `after` with named delays.
 */
import { fromPromise, type PromiseActorLogic } from 'xstate';
import type { Address } from './address.ts';
import type { ErrorData } from './errors.ts';

// A registered symbol, so that a placeholder is known across copies of this module.
const EFFECT = Symbol.for('troupe.effect');

/** Placeholder for awaited work: carries the types of input and output and is never started. */
export const effect = <Output, Input>() =>
  Object.assign(
    fromPromise<Output, Input>(() =>
      Promise.reject(new Error('a host effect is never started here')),
    ),
    { [EFFECT]: true },
  ) as PromiseActorLogic<Output, Input>;

/**
 * Whether actor logic is a placeholder made by `effect()`, and not work that a host can not keep
 * durable.
 */
export const isEffect = (logic: unknown): boolean =>
  typeof logic === 'object' && logic !== null && Object.hasOwn(logic, EFFECT);

/**
 * Where an answer goes. Opaque to machines: keep it in context, hand it back in `reply`. JSON-safe.
 */
export type ReplyRef = {
  /** the message that asked */
  readonly id: string;
  /** the asking actor; absent for a client outside */
  readonly actor?: Address;
  /** actors that the request has passed: the answer goes on counting */
  readonly hops?: number;
  /** the client's inbox on the Bus */
  readonly inbox?: string;
  /** the client's idempotency key row, which keeps the answer */
  readonly key?: string;
};

/** What comes with every event. `now` is shard time in epoch milliseconds and never falls. */
export type Meta = {
  /** unique per message; the seed for ids and jitter that a machine derives */
  readonly id: string;
  readonly now: number;
  /** how far `now` is ahead of the clock, because that was set back; absent as a rule */
  readonly aheadMs?: number;
  /** the actor that receives it */
  readonly self: Address;
  /** the sending actor; absent when a client, a timer or an effect is the cause */
  readonly from?: Address;
  readonly reply?: ReplyRef;
  /** who asked, as the door authenticated them */
  readonly principal?: { readonly sub: string; readonly roles: readonly string[] };
  readonly traceId?: string;
};

/**
 * What the clock shows, which may be set back: for comparison with dates that come from outside
 * (due dates, timestamps). Everything else goes by `now`.
 */
export const wallOf = ({ now, aheadMs = 0 }: Pick<Meta, 'now' | 'aheadMs'>): number =>
  now - aheadMs;

/** An event as a machine receives it. */
export type Delivered<E> = E & { readonly meta: Meta };

/** The input of every actor's machine: it is created by its first message. */
export type ActorInput = {
  readonly self: Address;
  readonly tenant: string;
  readonly key: string;
  readonly now: number;
};

/** A message as one actor writes it to another; `type` is the receiver's event type. */
export type Message = { readonly type: string; readonly [field: string]: unknown };

export type Lane = 'data' | 'control';

/** Send `event` to an actor: durable, exactly once into its state, in order per lane. */
export type Tell = {
  readonly to: Address;
  readonly event: Message;
  /** default `data`; `control` overtakes data and must be right in either order */
  readonly lane?: Lane;
  /**
   * the receiver refuses it as EXPIRED when it is applied later than this after the sending turn
   */
  readonly ttlMs?: number;
  /**
   * ask for an answer: it comes as `{ type: 'reply', to: <id of this message>, result | error }`
   */
  readonly ask?: boolean;
  /** the receiver, if this message creates it, is supervised by the sender */
  readonly supervise?: boolean;
  /**
   * in whose name; default that of the message which is applied, so nobody's after a timer or an
   * effect
   */
  readonly principal?: NonNullable<Meta['principal']>;
};
/** Answer the request that `to` stands for. The first answer counts; later ones are ignored. */
export type Reply = {
  readonly to: ReplyRef | undefined;
  readonly result?: unknown;
  readonly error?: ErrorData;
};
/**
 * Append entries, in order, to this actor's transcript (append-only, read by effects and doors).
 */
export type Append = { readonly entries: readonly Message[] };
/** Tell watchers on the Bus, after the commit. Ephemeral: may be lost, never durable state. */
export type Publish = { readonly topic: string; readonly event: Message };
/**
 * Put (or with null remove) one row of a named index, read by anyone without waking the actor
 * (RT14).
 */
export type Project = {
  readonly index: string;
  readonly key: string;
  readonly value: unknown;
  /** the row leaves by itself so long after this turn, an hour later at most; default: it stays */
  readonly keepMs?: number;
};
/**
 * Keep a message that this actor could not get done among the dead letters of its domain, in the
 * same commit as the rest of the turn (EN11). A person may redrive it: `event` goes to `to` then.
 */
export type DeadLetterAsk = {
  /** lower-case letters, digits and `_`, as the domain of an action: `a2a.{domain}.{env}.dlq` */
  readonly domain: string;
  /** one word for lists, as EXHAUSTED; at most 64 characters */
  readonly reason: string;
  readonly error: ErrorData;
  readonly to: Address;
  readonly event: Message;
};

/**
 * No-op bodies to spread into `setup({ actions })`; the host carries them out from the returned
 * params.
 */
export const hostActions = {
  tell: (_: unknown, _params: Tell) => {},
  reply: (_: unknown, _params: Reply) => {},
  append: (_: unknown, _params: Append) => {},
  publish: (_: unknown, _params: Publish) => {},
  project: (_: unknown, _params: Project) => {},
  deadLetter: (_: unknown, _params: DeadLetterAsk) => {},
};
export type HostActionName = keyof typeof hostActions;

/**
 * Node meta: while this state is active these events wait in the actor's stash (bounded by its
 * mailbox policy).
 */
export type StateMeta = { readonly defer?: readonly string[] };
