/**
 * Retention: removes what is older than the configured age, by tenant and kind of data. One actor
 * per tenant, key `sweeper`, sweeps now and then.
 */
import { type Address, address } from './address.ts';
import type { ErrorData } from './errors.ts';

/** In the order in which a sweep removes them. */
export const RETENTION_KINDS = [
  'transcripts',
  'audit',
  'artifacts',
  'deadLetters',
  'history',
  'memoryIndex',
] as const;
export type RetentionKind = (typeof RETENTION_KINDS)[number];

/** A number for each kind. */
export type RetentionCounts = Readonly<Record<RetentionKind, number>>;
export const NO_ITEMS: RetentionCounts = {
  transcripts: 0,
  audit: 0,
  artifacts: 0,
  deadLetters: 0,
  history: 0,
  memoryIndex: 0,
};

/** How long a kind is kept, as it was configured. */
export type RetentionAge = {
  readonly kind: RetentionKind;
  /** as `90d`, or `keep` */
  readonly age: string;
  /** neither the tenant nor the section `retention` has one */
  readonly isDefault: boolean;
};

export type RetentionBudget = {
  /** items that one turn removes, 1 to 1,000 */
  readonly itemsPerTurn: number;
  /** items that one hour removes, at least 1 */
  readonly itemsPerHour: number;
  /**
   * bytes that one hour removes; the item that exceeds it is the last one. Absent in a sweep that
   * an earlier version began: no limit
   */
  readonly bytesPerHour?: number;
};

/** Starts the actor, and sets how often it sweeps. May be repeated. No reply. */
export type RetentionConfigure = {
  readonly type: 'retention.configure';
  /** from the begin of one sweep to the begin of the next, milliseconds */
  readonly everyMs: number;
};
/**
 * Sweeps now. Reply: RetentionRow when the sweep has ended, or rests because its budget is used up;
 * at once while another sweep is under way.
 */
export type RetentionSweep = { readonly type: 'retention.sweep'; readonly who: string };

/**
 * - `waiting`: for the next sweep. `sweeping`: a sweep is under way.
 * - `resting`: the budget of the hour is used up. `delayed`: something failed, and is tried again.
 */
export const RETENTION_STATES = ['waiting', 'sweeping', 'resting', 'delayed'] as const;
export type RetentionState = (typeof RETENTION_STATES)[number];

/** A sweep, without content of what it removed. */
export type RetentionSweepRow = {
  readonly startedAt: number;
  readonly who: string;
  readonly endedAt?: number;
  /** found when the sweep began: as a dry run counts */
  readonly found: RetentionCounts;
  readonly removed: RetentionCounts;
  /** found, but used again, held or not removable when it was to be removed */
  readonly skipped: number;
  /** older than their age, and kept by a legal hold, when the sweep began */
  readonly held: number;
  /** kinds that this sweep gave up, with the error */
  readonly failed: Readonly<Partial<Record<RetentionKind, ErrorData>>>;
};

/** Index `retention`, key `sweeper`. */
export const RETENTION_INDEX = 'retention';
export const RETENTION_KEY = 'sweeper';
export type RetentionRow = {
  readonly state: RetentionState;
  /** when the next sweep begins; of a sweep under way: when the next one would begin */
  readonly dueAt: number;
  readonly everyMs: number;
  /** the sweep under way, or else the last one */
  readonly sweep?: RetentionSweepRow;
  /** items that all sweeps have removed */
  readonly removed: RetentionCounts;
  readonly error?: ErrorData;
};

export const retentionAddress = (tenant: string): Address =>
  address(tenant, 'retention', RETENTION_KEY);

/**
 * From retention: as `session.close`, if nothing is under way and the session was not active since
 * `before`, epoch milliseconds. Otherwise it is refused with CONFLICT.
 */
export type SessionExpire = { type: 'session.expire'; before: number };

// ---- effects

export type RetentionPlan = {
  /** kinds with an age: what is from before that time, epoch milliseconds, is removed */
  readonly kinds: readonly { readonly kind: RetentionKind; readonly before: number }[];
  readonly budget: RetentionBudget;
  readonly found: RetentionCounts;
  readonly held: number;
};
export type RetentionPickInput = {
  readonly tenant: string;
  readonly kind: RetentionKind;
  readonly before: number;
  /** where the last pick ended; null: at the beginning */
  readonly cursor: string | null;
  readonly limit: number;
  /** the pick ends with the item that reaches it; absent: sizes are not looked at */
  readonly bytesLimit?: number;
};
export type RetentionPicked = {
  /** what the kind needs to find each again; no content */
  readonly items: readonly string[];
  /** of those that this pick looked at */
  readonly held: number;
  /** null: there is no more of the kind */
  readonly cursor: string | null;
  /** of the items, as they are stored; 0 without `bytesLimit` */
  readonly bytes: number;
  /** in effect now; absent in a plan */
  readonly budget?: RetentionBudget;
};
export type RetentionRemoval = Pick<RetentionPickInput, 'tenant' | 'kind' | 'before'> & {
  readonly items: readonly string[];
};
export type RetentionRemoved = {
  /** items that stay: used again, or held */
  readonly skipped: number;
};

/** What the installation does for the actor. All but `remove` change nothing. */
export type RetentionEffects = {
  /** The ages in effect at `now`, and what a sweep would remove. */
  plan(
    this: void,
    input: { readonly tenant: string; readonly now: number },
    signal: AbortSignal,
  ): Promise<RetentionPlan>;
  pick(this: void, input: RetentionPickInput, signal: AbortSignal): Promise<RetentionPicked>;
  /** May be repeated: an item that is gone already counts as removed. */
  remove(this: void, input: RetentionRemoval, signal: AbortSignal): Promise<RetentionRemoved>;
};
