/**
 * `sessions.list`, `health` and `status` read committed rows. `sessions.reset`, `sessions.compact`,
 * `sessions.patch` and `sessions.delete` send requests to the session.
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

/** Default and maximum number of rows. */
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
      'rows are sorted by their last change, which is the last interaction',
    ),
    agentId: Optional(NonEmpty),
    label: Optional(Type.String({ minLength: 1, maxLength: 512 })),
    spawnedBy: Optional(NonEmpty),
    search: Optional(Text),
    archived: Optional(Type.Union([Type.Boolean(), Type.Literal('all')])),
    includeLastMessage: Optional(Type.Boolean()),
    includeDerivedTitles: Optional(Type.Boolean()),
    includeGlobal: NoEffect(Type.Boolean(), 'every session belongs to an agent'),
    includeUnknown: NoEffect(Type.Boolean(), 'every session belongs to an agent'),
    includePeople: NoEffect(Type.Boolean(), 'sessions have no participant list'),
    requireLastInteraction: Optional(Type.Boolean()),
    configuredAgentsOnly: Optional(Type.Boolean()),
    boardFace: Unsupported(oneOf(['chat', 'dashboard']), 'boards are not supported', ['chat']),
    creatorId: Unsupported(NonEmpty, 'sessions have no owners: all users of the tenant see them'),
    ownerId: Unsupported(NonEmpty, 'sessions have no owners: all users of the tenant see them'),
    ownerFirst: NoEffect(
      Type.Boolean(),
      'sessions have no owners: all users of the tenant see them',
    ),
    involvingMe: Unsupported(
      Type.Boolean(),
      'sessions have no owners: all users of the tenant see them',
    ),
    involvingProfileId: Unsupported(
      NonEmpty,
      'sessions have no owners: all users of the tenant see them',
    ),
  },
  closed,
);
export type SessionsListParams = Static<typeof SessionsListParams>;

export const SessionsListResult = Type.Object({
  ts: Count,
  /** where the sessions are stored; clients only display it */
  path: Text,
  /** number of rows in this response */
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

/** `maxLines` applies to transcripts in files and is refused. `instructions` is an extension. */
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
 * Settings of a session until its reset; null clears a setting. Only supported published fields are
 * listed, and the extension `queueMode`; any other is refused.
 */
export const SessionsPatchParams = Type.Object(
  {
    key: NonEmpty,
    agentId: Optional(NonEmpty),
    /** lists omit it unless they request archived sessions */
    archived: Optional(Type.Boolean()),
    /** lists show it first */
    pinned: Optional(Type.Boolean()),
    /** the group in which a user places it */
    category: Optional(Nullable(Type.String({ minLength: 1, maxLength: 120 }))),
    /** the request is refused if the session was reset since */
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
  /** the current settings */
  entry: AnyObject,
});

/**
 * Ends the session and removes it from lists. Its transcript is kept regardless of
 * `deleteTranscript`, and no model receives it again. `orphans`, what happens with its subagents,
 * is an extension.
 */
export const SessionsDeleteParams = Type.Object(
  {
    key: NonEmpty,
    agentId: Optional(NonEmpty),
    deleteTranscript: NoEffect(
      Type.Boolean(),
      'the transcript is kept, and no model receives it again',
    ),
    /** the request is refused if the session was reset since */
    expectedSessionId: Optional(NonEmpty),
    orphans: Optional(oneOf(['cascade', 'adopt', 'detach'])),
  },
  closed,
);
export type SessionsDeleteParams = Static<typeof SessionsDeleteParams>;
export const SessionsDeleteResult = Type.Object({
  ok: Type.Literal(true),
  key: NonEmpty,
  /** false: it did not exist */
  deleted: Type.Boolean(),
  /** archived transcripts: always empty */
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
