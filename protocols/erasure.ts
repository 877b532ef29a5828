/**
 * Erasure: removes everything that is stored of a session, a user or a tenant. One actor per
 * target, `{tenant}/erasure/{kind}:{id}`, which keeps what it did: ids, times and counts, and no
 * content.
 */
import { type Address, address } from './address.ts';
import type { ErrorData } from './errors.ts';

export const ERASURE_KINDS = ['session', 'user', 'tenant'] as const;
export type ErasureKind = (typeof ERASURE_KINDS)[number];

/** A session key, the id of a sender, or a tenant. */
export type ErasureTarget = {
  readonly tenant: string;
  readonly kind: ErasureKind;
  readonly id: string;
};

/** How much of each kind of data there is, or was removed. */
export type ErasureCounts = {
  /** with those of their subagents */
  readonly sessions: number;
  /** other actors: subagents, conversations, schedules, approvals, calls, chats, tasks */
  readonly actors: number;
  readonly rows: number;
  readonly transcriptEntries: number;
  readonly deadLetters: number;
  readonly artifacts: number;
  /** of workspaces: removed, or with text of the session in them */
  readonly files: number;
  /** stored vectors of notes and messages; absent in rows that an older version wrote */
  readonly vectors?: number;
};

/** How far the removal from the disk came. */
export type ErasureReach = {
  /** the first so many shards are covered by the state, or by a new snapshot, and trimmed */
  readonly shards: number;
  readonly shardsAll: number;
  /** streams of NATS whose files have nothing that was removed; [] for a single process */
  readonly streams: readonly string[];
  /** processes of a cluster whose local data were written again, by name */
  readonly processes: readonly string[];
  /** unique names of these processes */
  readonly nodes: readonly string[];
  /** in each stream, the last position of the files that are to be removed */
  readonly ends?: Readonly<Record<string, number>>;
  readonly isDone: boolean;
};

/** `details.reason` of a request that comes after the removal, and before the end. */
export const SCRUBBING = 'SCRUBBING';

export const NO_COUNTS: ErasureCounts = {
  sessions: 0,
  actors: 0,
  rows: 0,
  transcriptEntries: 0,
  deadLetters: 0,
  artifacts: 0,
  files: 0,
  vectors: 0,
};

/** Index `erasures`, key as that of the actor. */
export const ERASURES_INDEX = 'erasures';
export type ErasureRow = {
  readonly erasure: string;
  readonly kind: ErasureKind;
  readonly id: string;
  readonly state: 'surveying' | 'removing' | 'scrubbing' | 'done' | 'refused';
  /** the principal that asked for it */
  readonly who: string;
  readonly requestedAt: number;
  readonly updatedAt: number;
  /** when the last byte was removed */
  readonly endedAt?: number;
  readonly counts: ErasureCounts;
  /** absent before the removal from the disk begins */
  readonly reach?: ErasureReach;
  /** sessions that others share with the user: they stay */
  readonly shared?: number;
  /** why it was refused, or why its last step is repeated */
  readonly error?: ErrorData;
};

export const erasureKey = ({ kind, id }: Pick<ErasureTarget, 'kind' | 'id'>): string =>
  `${kind}:${id}`;
export const erasureAddress = (target: ErasureTarget): Address =>
  address(target.tenant, 'erasure', erasureKey(target));

/**
 * To the actor. Reply: ErasureRow, when the data is found and its removal has begun; CONFLICT when
 * a legal hold covers part of it. A request while one is under way is answered with its row.
 */
export type ErasureRequest = {
  type: 'erasure.request';
  kind: ErasureKind;
  id: string;
  who: string;
};

// ---- legal hold

/** Index `legal-holds`, key `{kind}:{id}`. */
export const LEGAL_HOLDS_INDEX = 'legal-holds';
export type LegalHoldRow = {
  readonly kind: ErasureKind;
  readonly id: string;
  readonly why: string;
  readonly who: string;
  readonly since: number;
};
export const legalHoldAddress = (target: ErasureTarget): Address =>
  address(target.tenant, 'legal-hold', erasureKey(target));
/** Reply: LegalHoldRow. */
export type LegalHoldSet = {
  type: 'hold.set';
  kind: ErasureKind;
  id: string;
  why: string;
  who: string;
};
/** Reply: `{ released: true }`. */
export type LegalHoldRelease = { type: 'hold.release' };

// ---- effects

/** `reach`: null at first. */
export type ErasureScrub = ErasureTarget & {
  readonly who: string;
  readonly requestedAt: number;
  readonly reach: ErasureReach | null;
};

export type ErasureSurvey = {
  /** keys of all sessions that are erased, with those of their subagents */
  readonly sessions: readonly string[];
  readonly shared: number;
  readonly counts: ErasureCounts;
};
export type ErasureWork = ErasureTarget & {
  readonly sessions: readonly string[];
  readonly who: string;
  readonly requestedAt: number;
};

/** What the effects of an erasure do. All may be repeated. */
export type ErasureEffects = {
  /**
   * @throws TroupeError CONFLICT (details.reason HELD) when a legal hold covers part of it;
   * NOT_FOUND without any data
   */
  survey(this: void, target: ErasureTarget): Promise<ErasureSurvey>;
  /** Notes the erasure in the ledger, and then removes files, actors, rows and transcripts. */
  remove(this: void, work: ErasureWork, signal: AbortSignal): Promise<ErasureCounts>;
  /** As `Erasing.scrub`. */
  scrub(this: void, work: ErasureScrub, signal: AbortSignal): Promise<ErasureReach>;
};
