/**
 * `sessions.list`, `health` and `status`: what an operator reads, answered from committed rows; and
 * `sessions.reset`, `sessions.compact`, `sessions.patch`, `sessions.delete`, which ask the session.
 */
import { type Static, Type } from '@sinclair/typebox';
import { QueueModeSchema } from './agent.ts';
import type { MethodArea } from './method.ts';
import { absentMethods } from './absent.ts';
import { sessionReadMethods } from './session-reads.ts';
import { SessionsListRow } from './session-row.ts';
import { sessionWorkMethods } from './session-work.ts';
import {
  AnyObject,
  closed,
  Count,
  NoEffect,
  NonEmpty,
  Nullable,
  oneOf,
  Optional,
  Text,
  Unsupported,
} from './shapes.ts';

/** Rows when `limit` is not given, and the most that are given. */
export const SESSIONS_LIST_LIMIT = 100;
export const SESSIONS_LIST_LIMIT_MAX = 200;
const SESSION_LABEL_CHARACTERS_MAX = 120;

export const SessionsListParams = Type.Object(
  {
    limit: Optional(Type.Integer({ minimum: 1 })),
    offset: Optional(Count),
    activeMinutes: Optional(Type.Integer({ minimum: 1 })),
    sortBy: NoEffect(
      oneOf(['updatedAt', 'lastInteractionAt']),
      'rows come by their last change, which is their last interaction',
    ),
    agentId: Optional(NonEmpty),
    label: Optional(Type.String({ minLength: 1, maxLength: 512 })),
    spawnedBy: Optional(NonEmpty),
    search: Optional(Text),
    archived: Optional(Type.Union([Type.Boolean(), Type.Literal('all')])),
    includeLastMessage: Optional(Type.Boolean()),
    includeDerivedTitles: Optional(Type.Boolean()),
    includeGlobal: NoEffect(Type.Boolean(), 'every session is of an agent'),
    includeUnknown: NoEffect(Type.Boolean(), 'every session is of an agent'),
    includePeople: NoEffect(Type.Boolean(), 'sessions have no people beside the tenant'),
    requireLastInteraction: Optional(Type.Boolean()),
    configuredAgentsOnly: Optional(Type.Boolean()),
    boardFace: Unsupported(oneOf(['chat', 'dashboard']), 'there are no boards', ['chat']),
    creatorId: Unsupported(NonEmpty, 'sessions have no owners: everybody of the tenant sees them'),
    ownerId: Unsupported(NonEmpty, 'sessions have no owners: everybody of the tenant sees them'),
    ownerFirst: NoEffect(
      Type.Boolean(),
      'sessions have no owners: everybody of the tenant sees them',
    ),
    involvingMe: Unsupported(
      Type.Boolean(),
      'sessions have no owners: everybody of the tenant sees them',
    ),
    involvingProfileId: Unsupported(
      NonEmpty,
      'sessions have no owners: everybody of the tenant sees them',
    ),
  },
  closed,
);
export type SessionsListParams = Static<typeof SessionsListParams>;

export const SessionsListResult = Type.Object({
  ts: Count,
  /** where the sessions are kept; clients only show it */
  path: Text,
  /** rows in this answer */
  count: Count,
  totalCount: Optional(Count),
  hasMore: Optional(Type.Boolean()),
  nextOffset: Optional(Nullable(Count)),
  defaults: Type.Object({
    modelProvider: Nullable(Text),
    model: Nullable(Text),
    contextTokens: Nullable(Type.Number()),
  }),
  sessions: Type.Array(SessionsListRow),
});
export type SessionsListResult = Static<typeof SessionsListResult>;

export const SessionsResetParams = Type.Object(
  { key: NonEmpty, agentId: Optional(NonEmpty), reason: Optional(oneOf(['new', 'reset'])) },
  closed,
);
export type SessionsResetParams = Static<typeof SessionsResetParams>;
export const SessionsResetResult = Type.Object({
  ok: Type.Literal(true),
  key: NonEmpty,
  entry: Type.Object({ sessionId: NonEmpty }),
});

/** `maxLines` is of transcripts in files: refused. `instructions` is ours. */
export const SessionsCompactParams = Type.Object(
  {
    key: NonEmpty,
    agentId: Optional(NonEmpty),
    maxLines: Optional(Type.Integer({ minimum: 1 })),
    instructions: Optional(NonEmpty),
  },
  closed,
);
export type SessionsCompactParams = Static<typeof SessionsCompactParams>;
export const SessionsCompactResult = Type.Object({
  ok: Type.Literal(true),
  key: NonEmpty,
  compacted: Type.Boolean(),
  tokensBefore: Count,
  tokensAfter: Count,
});

/**
 * Settings of a session, until its reset; null clears. Of the published fields those that a session
 * here has, and `queueMode`, which is ours; any other is refused.
 */
export const SessionsPatchParams = Type.Object(
  {
    key: NonEmpty,
    agentId: Optional(NonEmpty),
    /** what people and agents call it */
    /** it is left out of lists, unless they ask for it */
    archived: Optional(Type.Boolean()),
    /** lists show it first */
    pinned: Optional(Type.Boolean()),
    /** the group that people put it into */
    category: Optional(Nullable(Type.String({ minLength: 1, maxLength: 120 }))),
    /** refused when the session has begun anew since */
    expectedSessionId: Optional(NonEmpty),
    label: Optional(
      Nullable(Type.String({ minLength: 1, maxLength: SESSION_LABEL_CHARACTERS_MAX })),
    ),
    model: Optional(Nullable(NonEmpty)),
    thinkingLevel: Optional(Nullable(NonEmpty)),
    verboseLevel: Optional(Nullable(oneOf(['off', 'on', 'full']))),
    reasoningLevel: Optional(Nullable(oneOf(['off', 'on', 'stream']))),
    queueMode: Optional(Nullable(QueueModeSchema)),
  },
  closed,
);
export type SessionsPatchParams = Static<typeof SessionsPatchParams>;
export const SessionsPatchResult = Type.Object({
  ok: Type.Literal(true),
  path: Text,
  key: NonEmpty,
  /** the settings as they are now */
  entry: AnyObject,
});

/**
 * The session is ended and leaves the lists. Its transcript stays, whatever `deleteTranscript`
 * says: no model sees it again. `orphans`, what becomes of its subagents, is ours.
 */
export const SessionsDeleteParams = Type.Object(
  {
    key: NonEmpty,
    agentId: Optional(NonEmpty),
    deleteTranscript: NoEffect(Type.Boolean(), 'the transcript stays, and no model sees it again'),
    /** refused when the session has begun anew since */
    expectedSessionId: Optional(NonEmpty),
    orphans: Optional(oneOf(['cascade', 'adopt', 'detach'])),
  },
  closed,
);
export type SessionsDeleteParams = Static<typeof SessionsDeleteParams>;
export const SessionsDeleteResult = Type.Object({
  ok: Type.Literal(true),
  key: NonEmpty,
  /** false: there was none */
  deleted: Type.Boolean(),
  /** transcripts that were put away: none */
  archived: Type.Array(Text),
});

export const sessionMethods = {
  ...sessionReadMethods,
  ...absentMethods,
  ...sessionWorkMethods,
  'sessions.list': {
    params: SessionsListParams,
    result: SessionsListResult,
    scope: 'operator.read',
  },
  'sessions.reset': {
    params: SessionsResetParams,
    result: SessionsResetResult,
    scope: 'operator.admin',
  },
  'sessions.compact': {
    params: SessionsCompactParams,
    result: SessionsCompactResult,
    scope: 'operator.admin',
  },
  'sessions.patch': {
    params: SessionsPatchParams,
    result: SessionsPatchResult,
    scope: 'operator.write',
  },
  'sessions.delete': {
    params: SessionsDeleteParams,
    result: SessionsDeleteResult,
    scope: 'operator.write',
  },
} as const satisfies MethodArea;

export { sessionEvents } from './session-work.ts';
