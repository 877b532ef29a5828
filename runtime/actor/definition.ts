/**
 * Definition: an actor type as its author writes it (`ActorOptions`) and as the runtime uses it
 * (`ActorDefinition`).
 */
import type { AnyStateMachine } from 'xstate';
import type { MachineRow } from '../statechart/live.ts';
import type { HistoryKept, HistoryPolicy } from '../history/policy.ts';
import type { Effects, EffectsOf } from './effect.ts';

/**
 * What happens to a message that must wait while the actor's stash is full:
 *  - `reject` (default): its sender receives RATE_LIMIT_EXCEEDED;
 *  - `defer`: ten times the capacity may wait, then as `reject`;
 *  - `coalesce`: at any time a message replaces a waiting one of its type; when full, as `reject`;
 *  - `dropOldest`: the oldest waiting message becomes a dead letter.
 */
export type WhenFull = 'reject' | 'defer' | 'coalesce' | 'dropOldest';

export type MailboxPolicy = {
  /** messages that may wait, 1 to 100,000; default 1,000 */
  readonly capacity: number;
  readonly whenFull: WhenFull;
};

/**
 * What happens after a turn threw and was rolled back: `supervisor` (default) suspends the actor
 * until its supervisor decides, `resume` continues with the next message, `quarantine` stops
 * deliveries.
 */
export type OnThrow = 'supervisor' | 'resume' | 'quarantine';

/**
 * How a timer is handled that came due while no worker ran its shard: `late` (default) fires
 * it now, `skip` drops it, `once` fires it now and only once, however many of its periods were
 * missed.
 */
export type MissedTimer = 'late' | 'skip' | 'once';

/**
 * `keep` (default): an actor that is done stays readable and refuses messages. `forget`: its row is
 * removed.
 */
export type WhenDone = 'keep' | 'forget';

/**
 * Rewrites a row of an older version for this one; pure, and its result is checked before it is
 * used.
 */
export type Migrate = (row: MachineRow) => MachineRow;

export type ActorOptions<Machine extends AnyStateMachine> = {
  /** 1 to 63 of a-z, 0-9, _ and -, as in an address */
  readonly type: string;
  /** integer from 1; raise it with every change that affects stored state */
  readonly version: number;
  readonly machine: Machine;
  readonly mailbox?: Partial<MailboxPolicy>;
  readonly supervision?: { readonly onThrow?: OnThrow };
  /** by the version that wrote the row, directly to this one */
  readonly migrate?: Readonly<Record<number, Migrate>>;
  /** idle time after which the actor leaves memory; default 60,000, 0 to 86,400,000 */
  readonly idleMs?: number;
  readonly whenDone?: WhenDone;
  /** by delay name (or the id of a delayed `raise`) */
  readonly missedTimers?: Readonly<Record<string, MissedTimer>>;
  /**
   * Names of delays that limit running work. Time in which the computer was suspended, or that its
   * clock skipped, does not count for them.
   */
  readonly workTimers?: readonly string[];
  /** the history of its turns; default: summaries of 1,000 turns, for 30 days */
  readonly history?: HistoryKept | Partial<HistoryPolicy>;
} & EffectsOption<Machine>;

/** Required as soon as the machine declares effects in `setup({ actors })`. */
type EffectsOption<Machine extends AnyStateMachine> =
  Record<never, never> extends EffectsOf<Machine>
    ? { readonly effects?: EffectsOf<Machine> }
    : { readonly effects: EffectsOf<Machine> };

/** A registered type: every option with its value. Made by `defineActor` only. */
export type ActorDefinition = {
  readonly type: string;
  readonly version: number;
  /** `type@version`, which every row of its actors contains */
  readonly name: string;
  readonly machine: AnyStateMachine;
  /** of the chart's states and transitions: two builds with one version and other hashes differ */
  readonly hash: string;
  readonly effects: Effects;
  readonly mailbox: MailboxPolicy;
  readonly supervision: { readonly onThrow: OnThrow };
  readonly migrate: Readonly<Record<number, Migrate>>;
  readonly idleMs: number;
  readonly whenDone: WhenDone;
  readonly missedTimers: Readonly<Record<string, MissedTimer>>;
  readonly workTimers: readonly string[];
  readonly history: HistoryPolicy;
};
