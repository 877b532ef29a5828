/**
 * Effect: work outside a turn, which runs after the commit from a recorded intent. Types of effect
 * definitions and of their context.
 */
import type { AnyStateMachine, InputFrom, OutputFrom, ProvidedActor, StateMachine } from 'xstate';
import type { Address } from '../../protocols/address.ts';
import type { Message } from '../../protocols/statechart.ts';
import type { Index, PastActor, TranscriptEntry } from '../system.ts';
import type { Peeked, Workspace } from '../workspaces/workspaces.ts';

/**
 * How often the work may happen:
 *  - `repeatable`: any number of times, because it changes nothing outside;
 *  - `keyed`: again under the same `id`, by which the other side recognizes it;
 *  - `once`: a lost outcome is UNKNOWN; it is reconciled, or an operator decides. It never runs
 *    twice silently.
 */
export type EffectClass = 'repeatable' | 'keyed' | 'once';

/** What an effect receives in addition to its input. */
export type EffectContext = {
  /** idempotency key: the same for all attempts of one intent */
  readonly id: string;
  /** from 1 */
  readonly attempt: number;
  readonly actor: Address;
  /** W3C trace id of the message that caused it */
  readonly traceId?: string;
  /** aborted when the outcome is no longer wanted, the time limit is reached or the worker stops */
  readonly signal: AbortSignal;
  /** Notifies watchers on the Bus at once; ephemeral, not part of any turn. */
  publish(topic: string, event: Message): void;
  /** wall time, epoch milliseconds */
  now(): number;
  /** the services that the application passed to createSystem */
  readonly services: unknown;
  /** Committed transcript of an actor; default the effect's own. */
  transcript(actor?: Address): TranscriptReader;
  /**
   * Committed rows of the whole cell. On a worker of a cluster, the first effect that uses it makes
   * the worker keep a copy of all rows from then on, and waits until the copy is readable. Rows of
   * other owners may lag a little; the rows of the named actor are as new as this call.
   *
   * @throws TroupeError UNAVAILABLE when the journals cannot be read in time
   */
  index(asNewAs?: Address): Promise<Index>;
  /**
   * One committed row that the named actor projects, as new as this call; its index is that of the
   * actor's tenant. Cheaper than `index`: a worker of a cluster copies only the rows of that
   * actor's shard.
   *
   * @throws TroupeError UNAVAILABLE when the journal cannot be read in time
   */
  row<V>(of: Address, index: string, key: string): Promise<V | undefined>;
  /**
   * An actor as one of its turns left it, from the history.
   *
   * @throws TroupeError NOT_FOUND when the turn is not kept with its bodies
   */
  past(actor: Address, turn: number): Promise<PastActor>;
  /**
   * The folder with the files of an actor, default the effect's own actor. A repeated call returns
   * the same folder, or a new one after the effect closed it. `EffectDefinition.workspace` says
   * what happens to it. An effect that opens two waits for both; always open them in the same
   * order.
   *
   * @throws TroupeError UNAVAILABLE when it cannot be reached, or none are configured
   */
  workspace(actor?: Address): Promise<Workspace>;
  /**
   * Some files of an actor's workspace as they are, without opening it; see `Workspaces.peek`.
   * undefined when none are configured.
   *
   * @throws TroupeError UNAVAILABLE when it cannot be reached
   */
  peek(actor: Address, paths: readonly string[], before?: Peeked): Promise<Peeked | undefined>;
};

export type TranscriptReader = {
  /**
   * Entries from position `from` (inclusive, default the first), oldest first; `limit` defaults to
   * 1,000.
   */
  read(options?: { from?: number; limit?: number }): Promise<readonly TranscriptEntry[]>;
  /** Position of the last entry, 0 if none. */
  last(): Promise<number>;
};

/**
 * `again` runs the effect once more with the next attempt; `ask` leaves it UNKNOWN until an
 * operator decides.
 */
export type Reconciled<Output> = { readonly outcome: Output } | 'again' | 'ask';

export type EffectDefinition<Input = unknown, Output = unknown> = {
  readonly class: EffectClass;
  /**
   * Does the work. Its result becomes the invoke's done event, what it throws the error event (a
   * TroupeError keeps its code). Results are JSON-safe.
   */
  run(input: Input, context: EffectContext): Promise<Output>;
  /**
   * For `once`: determines the outcome of an attempt whose result was lost. Without it an operator
   * decides.
   */
  reconcile?(input: Input, context: EffectContext): Promise<Reconciled<Output>>;
  /** one attempt, milliseconds; default 600,000, 1 to 86,400,000 */
  readonly timeoutMs?: number;
  /**
   * false: the effect only waits, as an open connection does, or for another effect. It begins at
   * once, and the limits of running effects do not count it. Default true.
   */
  readonly takesSlot?: boolean;
  /**
   * How the workspaces that it opened are handled after a successful attempt: `save` (default)
   * saves them before the outcome is reported, and a save that fails makes the outcome `failed`
   * with its error; `discard` is for effects that only read. An attempt that fails or is aborted
   * never saves, and neither does `reconcile`; what was saved by the effect itself stays saved.
   */
  readonly workspace?: 'save' | 'discard';
  /** Which workers may run it, by its input; left out: any. Pure. */
  placement?(input: Input): Placement;
};

/** All of it must hold of the worker. */
export type Placement = {
  /** the worker reaches the workspaces of these actors */
  readonly workspacesOf?: readonly Address[];
  /** the worker is in this place, as `asia-southeast1` */
  readonly locality?: string | undefined;
};

/** Effects by `src`; `timeoutMs` is set. */
export type Effects = Readonly<Record<string, EffectDefinition>>;

type ProvidedOf<Machine extends AnyStateMachine> =
  Machine extends StateMachine<
    infer _Context,
    infer _Event,
    infer _Children,
    infer Actor,
    infer _Action,
    infer _Guard,
    infer _Delay,
    infer _Value,
    infer _Tag,
    infer _Input,
    infer _Output,
    infer _Emitted,
    infer _Meta,
    infer _Schema
  >
    ? Actor
    : never;

/** One definition per effect that the machine declares in `setup({ actors })`, with its types. */
export type EffectsOf<Machine extends AnyStateMachine> = string extends ProvidedOf<Machine>['src']
  ? Effects
  : {
      readonly [Actor in ProvidedOf<Machine> as Named<Actor>]: EffectDefinition<
        InputFrom<Actor['logic']>,
        OutputFrom<Actor['logic']>
      >;
    };

type Named<Actor extends ProvidedActor> = Actor['src'] & string;
