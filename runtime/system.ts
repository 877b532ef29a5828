/**
 * System: the public interface of the runtime. Entry points (gateway, CLI, tests) reach actors by
 * messages only, and read committed state from indexes and transcripts without activating an actor.
 */
import type { Erasing } from './erasing-port.ts';
import type { Retaining } from './retaining-port.ts';
import type { Charts } from '../charts/published.ts';
import type {
  ActorHistory,
  ActorRecording,
  ActorSummary,
  ActorTurn,
  ActorTurnDetail,
  ActorView,
} from '../protocols/actor-view.ts';
import type { Address } from '../protocols/address.ts';
import type { ErrorData } from '../protocols/errors.ts';
import type { Lane, Message } from '../protocols/statechart.ts';
import type { Finished, UpgradeStatus } from '../protocols/upgrade.ts';
import type { Bus } from './bus/bus.ts';
import type { Labels } from './labels.ts';

export type Principal = { readonly sub: string; readonly roles: readonly string[] };

export type SendOptions = {
  readonly principal: Principal;
  /**
   * idempotency key, scoped to tenant + event type + receiver, kept 28 h; without it every send is
   * a new message (F6)
   */
  readonly key?: string;
  /**
   * the receiver itself recognizes a repeated message. As with a key, the message is sent again
   * until it is known to be stored, and an ask until it is answered; but no result is stored, and
   * the first of several answers counts
   */
  readonly repeatable?: true;
  /** default `data` */
  readonly lane?: Lane;
  /**
   * refused as EXPIRED when it would be applied later than this after acceptance; default 300,000
   */
  readonly ttlMs?: number;
  /** W3C trace id, carried on to every message this one causes */
  readonly traceId?: string;
  /** part of work that was accepted before: read-only mode does not refuse it */
  readonly continues?: true;
};

/**
 * `accepted` = durably appended: it will be applied once, or refused, or dead-lettered. `refused`:
 * nothing was accepted.
 */
export type TellAnswer =
  | { readonly kind: 'accepted'; readonly id: string }
  | { readonly kind: 'refused'; readonly error: ErrorData };

export type AskAnswer =
  | { readonly kind: 'answered'; readonly result: unknown }
  | { readonly kind: 'refused'; readonly error: ErrorData }
  /** accepted, but no answer came in time; ask again with the same key to wait on */
  | { readonly kind: 'timeout' };

export type IndexRow<V = unknown> = { readonly key: string; readonly value: V };

/**
 * Committed rows that actors project. Embedded: never stale. Cluster: at most 1 s stale while the
 * log answers, and never older than what the caller's own `ask` was answered from.
 */
export interface Index {
  /** @param of the actor that projects the row: only its shard is read. Default: every shard */
  get<V = unknown>(index: string, tenant: string, key: string, of?: Address): V | undefined;
  /** Rows in key order; `prefix` narrows, `limit` defaults to 1,000, `after` pages. */
  list<V = unknown>(
    index: string,
    tenant: string,
    options?: { prefix?: string; after?: string; limit?: number },
  ): readonly IndexRow<V>[];
  /**
   * Calls `visit` with the requested fields of every row, in no order: for finding a few among very
   * many rows. Other work runs between slices, so concurrent writes may or may not be visible; each
   * row is visited at most once. Memory does not grow with the rows.
   */
  scan<V, F extends keyof V & string>(
    index: string,
    tenant: string,
    options: { readonly prefix?: string; readonly fields: readonly F[] },
    visit: (row: Pick<V, F>) => void,
  ): Promise<void>;
}

export type TranscriptEntry = {
  readonly position: number;
  readonly at: number;
  /** number of the turn that appended it; rises, as far as the actor stays in its shard */
  readonly turn?: number;
  readonly entry: Message;
};

export interface Transcripts {
  /**
   * Entries from `position` `from` (inclusive, default the first), oldest first; `limit` defaults
   * to 1,000.
   */
  read(
    actor: Address,
    options?: { from?: number; limit?: number },
  ): Promise<readonly TranscriptEntry[]>;
  /** Position of the last entry, 0 if none. */
  last(actor: Address): Promise<number>;
}

export type DeadLetter = {
  /** `actors` for letters of the runtime itself; otherwise named by the machine that gave it up */
  readonly domain: string;
  /** in its domain: rises, with gaps */
  readonly position: number;
  readonly at: number;
  readonly id: string;
  readonly to: string;
  readonly from?: string;
  readonly reason: string;
  readonly error: ErrorData;
  readonly event?: Message;
};
/** A letter as it is listed: without its message, and with an error of bounded size. */
export type DeadLetterHead = Omit<DeadLetter, 'event'> & {
  /** absent when the letter contains no message that could be sent again */
  readonly eventType?: string;
};
export type Audit = { readonly who: string; readonly why: string };

/** `already`: it was redriven before, by `who` and `at` that time, epoch milliseconds. */
export type RedriveAnswer =
  | TellAnswer
  | { readonly kind: 'already'; readonly at: number; readonly who: string };

/** What an operator did about a dead letter; `refused` follows a redrive that was refused. */
export type AuditEntry = Audit & {
  readonly domain: string;
  readonly position: number;
  readonly at: number;
  readonly action: 'redrive' | 'refused' | 'drop';
};

/**
 * Messages that could not be delivered or processed, by domain. An omitted `domain` means `actors`;
 * for `list` and `audits` it means all domains.
 * @throws TroupeError INVALID_ARGUMENT for an invalid domain
 */
export interface DeadLetters {
  /** All domains that ever had a letter, sorted; always contains `actors`. */
  domains(): Promise<readonly string[]>;
  /**
   * Letters that are neither redriven nor dropped: of one domain by position, of all by time.
   * `from` is the first position, default 1; with all domains it applies to each. `limit` defaults
   * to 1,000. `includeResolved: true` includes resolved letters, which are kept for 30 days.
   */
  list(options?: {
    domain?: string;
    from?: number;
    limit?: number;
    includeResolved?: boolean;
  }): Promise<readonly DeadLetterHead[]>;
  /** One letter, open or resolved. @throws TroupeError NOT_FOUND */
  get(position: number, domain?: string): Promise<DeadLetter>;
  /**
   * Sends the message again as a new one and records who did it and why. May be repeated: for a
   * letter that was redriven before, it returns `already` and does nothing.
   */
  redrive(position: number, audit: Audit, domain?: string): Promise<RedriveAnswer>;
  /** Audit records of redriven and dropped letters, in order; kept as long as their letters. */
  audits(options?: { domain?: string }): Promise<readonly AuditEntry[]>;
  /** Marks it as resolved without sending it. */
  drop(position: number, audit: Audit, domain?: string): Promise<void>;
}

/** One shard, as its owner reports it. */
export type ShardStatus = {
  readonly shard: number;
  readonly state: 'loading' | 'owned' | 'lost' | 'quarantined' | 'stopped';
  readonly epoch: number;
  readonly position: number;
  readonly turnNo: number;
  /** data lane: every entry up to this position has its turn */
  readonly mailFloor: number;
  /** the same of the control lane */
  readonly ctlFloor: number;
  /** mailbox entries that wait for their turn, as far as the owner has seen */
  readonly lag: number;
  /** true until an owner has read the ends of its mailbox: more entries may wait than `lag` */
  readonly lagUnknown?: boolean;
  /** shard time, milliseconds: the log's clock as the owner knows it */
  readonly now: number;
  /** how far `now` is ahead of the log's clock, if that clock was set back; normally absent */
  readonly clockAheadMs?: number;
  readonly residents: number;
  /** since when a snapshot is due and not stored, milliseconds; absent while none is late */
  readonly snapshotDueMs?: number;
  /** the node that owns the shard; absent without a cluster */
  readonly node?: string;
  /** why the shard is not owned, or why its store accepts no records at present */
  readonly why?: string;
  /** quarantined until a program that knows this format of records owns it */
  readonly formatNeeded?: number;
};

/** Rows of a shard on a worker that may take it over: to `position`, `lag` records behind. */
export type ShardCopy = { readonly shard: number; readonly position: number; readonly lag: number };

/** One process of a cluster, as it reported `ageMs` ago. */
export type NodeStatus = {
  /** unique per process */
  readonly node: string;
  /** stable over restarts */
  readonly name: string;
  readonly role: 'worker' | 'gateway';
  readonly version: string;
  readonly startedAtMs: number;
  readonly draining: boolean;
  /** keeps its shards, and gets others only when every worker is cordoned */
  readonly cordoned: boolean;
  /** share of the shards relative to the other workers */
  readonly weight: number;
  readonly labels: Labels;
  readonly load: NodeLoad;
  /** newest format of records that it reads; it reads all before, too */
  readonly reads: number;
  /** the format that it writes */
  readonly writes: number;
  /** `type@version` of the actors that it can run */
  readonly types: readonly string[];
  /** number of shards that it owns */
  readonly shards: number;
  /** shards of other workers that it could take over at once; absent without any */
  readonly copies?: readonly ShardCopy[];
  readonly ageMs: number;
  /** what operators should know about it; absent without any */
  readonly notices?: readonly string[];
};

export type NodeLoad = {
  /** processor cores in use: 1 is one core */
  readonly cpu: number;
  /** share of time that its event loop is busy, 0 to 1 */
  readonly eventLoop: number;
  /** effects that run */
  readonly effects: number;
  readonly rssBytes: number;
  readonly turnsPerSecond: number;
};

/** An actor as one of its turns left it. */
export type PastActor = {
  readonly turn: number;
  /** shard time of the turn, epoch milliseconds */
  readonly at: number;
  /** of its machine, as the newest registered version reads it */
  readonly context: unknown;
  /**
   * the newest entries that its transcript had by then: number of their turn, and how many it
   * appended; absent if no kept turn appended one
   */
  readonly appended?: { readonly turn: number; readonly entries: number };
};

/** Committed state of actors, for operators. Activates none of them. */
export interface Actors {
  /**
   * Actors of a tenant in the order of their addresses; `after` an address. `limit` defaults to
   * 1,000.
   */
  list(
    tenant: string,
    options?: { readonly type?: string; readonly after?: string; readonly limit?: number },
  ): Promise<readonly ActorSummary[]>;
  /** One actor; undefined if it does not exist. `context`: with the context of its machine. */
  get(actor: Address, options?: { readonly context?: boolean }): Promise<ActorView | undefined>;
  /**
   * Every turn of the actor that is committed after this promise has resolved, until `signal` is
   * aborted; also of an actor that does not exist yet. `context`: with contexts.
   * @throws TroupeError UNAVAILABLE when the journal of its shard cannot be read
   */
  turns(
    actor: Address,
    signal: AbortSignal,
    options?: { readonly context?: boolean },
  ): Promise<AsyncIterable<ActorTurn>>;
  /**
   * Turns that are kept, newest first; `before` a turn number. `limit` defaults to 100. Also of an
   * actor that has ended. A message that was accepted right before a crash has its turn after the
   * next start, so it may be missing in a history that is read at once then.
   */
  history(
    actor: Address,
    options?: { readonly before?: number; readonly limit?: number },
  ): Promise<ActorHistory>;
  /** One of them; undefined if it is not kept. `context`: with the context after the turn. */
  turn(
    actor: Address,
    turn: number,
    options?: { readonly context?: boolean },
  ): Promise<ActorTurnDetail | undefined>;
  /** All turns whose bodies are kept, for a replay. Nothing in it is masked. */
  recording(actor: Address): Promise<ActorRecording>;
  /**
   * The actor as one of its turns left it. Nothing in it is masked.
   * @throws TroupeError NOT_FOUND when the turn is not kept with its bodies
   */
  past(actor: Address, turn: number): Promise<PastActor>;
}

export type UnknownEffect = {
  readonly id: string;
  readonly actor: Address;
  readonly effect: string;
  readonly attempt: number;
  readonly at: number;
  readonly input: unknown;
};
export type Decision =
  | { readonly kind: 'again' }
  | { readonly kind: 'done'; readonly output: unknown }
  | { readonly kind: 'failed'; readonly error: ErrorData };

export interface System {
  /** 128-bit hex name of this installation's store; never changes */
  readonly cell: string;
  readonly bus: Bus;
  readonly index: Index;
  readonly transcripts: Transcripts;
  readonly deadLetters: DeadLetters;
  readonly actors: Actors;
  readonly erasing: Erasing;
  readonly retaining: Retaining;
  /** the statecharts of the registered actor types */
  readonly charts: Charts;
  /** formats of records: what processes read and write, and the end of an upgrade */
  readonly upgrade: {
    /** @throws TroupeError UNAVAILABLE when the log does not answer */
    status(): Promise<UpgradeStatus>;
    /**
     * Raises the format in which records are written, so that older programs refuse the cell. May
     * be repeated.
     * @param by who does it; `at` epoch milliseconds
     * @throws TroupeError CONFLICT while a process lives that cannot read it; UNAVAILABLE
     */
    finish(by: string, at: number): Promise<Finished>;
  };
  tell(to: Address, event: Message, options: SendOptions): Promise<TellAnswer>;
  /**
   * Waits for the actor's `reply`. With a key a repeated ask gets the first result, also after a
   * restart.
   */
  ask(
    to: Address,
    event: Message,
    options: SendOptions & { timeoutMs: number },
  ): Promise<AskAnswer>;
  /**
   * Committed state of one actor for inspection; undefined if it does not exist. Activates no
   * actor.
   */
  inspect(
    actor: Address,
  ): { machine: string; status: string; value: unknown; context: unknown } | undefined;
  /**
   * Resolves when what is read here of the actor and its rows is as new as this call. At
   * once where there is one process only; in a cluster it asks the journal.
   * @throws TroupeError UNAVAILABLE when the rows stay behind, or the journal does not answer
   */
  caughtUp(actor: Address): Promise<void>;
  /** Every shard of the cell that has an owner. */
  status(): readonly ShardStatus[];
  /** Every process of the cell; [] where there is one only. */
  nodes(): readonly NodeStatus[];
  /** Requests that a worker of `nodes` hands its shards over and takes none any more. */
  drain(node: string): void;
  /**
   * Requests that a worker of `nodes` keeps its shards and takes no others, or that it takes them
   * again. The process keeps this until it ends.
   */
  cordon(node: string, isCordoned: boolean): void;
  /**
   * Effects with an unknown outcome: only an operator or a reconcile hook can decide about them.
   */
  unknownEffects(): readonly UnknownEffect[];
  /**
   * An operator's decision about an unknown effect: run it `again`, or record `done` or `failed` as
   * its outcome.
   */
  decide(id: string, decision: Decision): Promise<TellAnswer>;
  /**
   * Ends an open effect: its actor receives the failure CANCELLED, and the effect is aborted if it
   * runs. Its work may have been done. An effect that ended in the meantime keeps its outcome.
   */
  cancelEffect(id: string, why: string): Promise<TellAnswer>;
  /** Accepts no new messages, commits running work, closes the stores. May be repeated. */
  stop(): Promise<void>;
}
