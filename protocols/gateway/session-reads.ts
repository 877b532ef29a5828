/**
 * Read methods for single sessions: lookup by key or label, messages, search, usage. They read
 * committed rows and transcripts, and activate no session.
 */
import { type Static, Type } from '@sinclair/typebox';
import { ChatMessage } from './chat.ts';
import type { MethodArea } from './method.ts';
import { SessionsListRow } from './session-row.ts';
import { closed, Count, NoEffect, NonEmpty, Nullable, oneOf, Optional, Text } from './shapes.ts';

const Label = Type.String({ minLength: 1, maxLength: 512 });

export const SessionsDescribeParams = Type.Object(
  {
    key: NonEmpty,
    includeDerivedTitles: Optional(Type.Boolean()),
    includeLastMessage: Optional(Type.Boolean()),
  },
  closed,
);
export type SessionsDescribeParams = Static<typeof SessionsDescribeParams>;
/** null: the session has no messages yet. */
export const SessionsDescribeResult = Type.Object({ session: Nullable(SessionsListRow) });

/** The last messages, oldest first. `sessionKey` is an alias of `key`. */
export const SessionsGetParams = Type.Object(
  {
    key: Optional(NonEmpty),
    sessionKey: Optional(NonEmpty),
    agentId: Optional(NonEmpty),
    limit: Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  },
  closed,
);
export type SessionsGetParams = Static<typeof SessionsGetParams>;
export const SessionsGetResult = Type.Object({ messages: Type.Array(ChatMessage) });

/** Identifies the session by exactly one of key, sessionId, label, shortId. */
export const SessionsResolveParams = Type.Object(
  {
    key: Optional(NonEmpty),
    sessionId: Optional(NonEmpty),
    label: Optional(Label),
    /** the beginning of a session id */
    shortId: Optional(NonEmpty),
    /** part of the label, if the short id is ambiguous */
    slugHint: Optional(NonEmpty),
    agentId: Optional(NonEmpty),
    spawnedBy: Optional(NonEmpty),
    includeGlobal: NoEffect(Type.Boolean(), 'every session belongs to an agent'),
    includeUnknown: NoEffect(Type.Boolean(), 'every session belongs to an agent'),
    /** no match is not an error */
    allowMissing: Optional(Type.Boolean()),
  },
  closed,
);
export type SessionsResolveParams = Static<typeof SessionsResolveParams>;

const Resolved = { key: NonEmpty, agentId: NonEmpty, displayName: Optional(Text) };
/** `candidates`: the request matches several sessions. */
export const SessionsResolveResult = Type.Union([
  Type.Object({ ok: Type.Literal(true), ...Resolved }, closed),
  Type.Object(
    {
      ok: Type.Literal(false),
      candidates: Optional(Type.Array(Type.Object(Resolved, closed), { maxItems: 10 })),
    },
    closed,
  ),
]);
export type SessionsResolveResult = Static<typeof SessionsResolveResult>;

export const SessionsPreviewParams = Type.Object(
  {
    keys: Type.Array(NonEmpty, { minItems: 1 }),
    limit: Optional(Type.Integer({ minimum: 1 })),
    maxChars: Optional(Type.Integer({ minimum: 20 })),
  },
  closed,
);
export type SessionsPreviewParams = Static<typeof SessionsPreviewParams>;
export const SessionsPreviewResult = Type.Object({
  ts: Count,
  previews: Type.Array(
    Type.Object({
      key: NonEmpty,
      status: oneOf(['ok', 'empty', 'missing']),
      items: Type.Array(
        Type.Object({ role: oneOf(['user', 'assistant', 'tool', 'system', 'other']), text: Text }),
      ),
    }),
  ),
});
export type SessionsPreviewResult = Static<typeof SessionsPreviewResult>;

export const SessionsSearchParams = Type.Object(
  {
    agentId: Optional(NonEmpty),
    sessionKeys: Optional(Type.Array(NonEmpty, { maxItems: 200 })),
    query: Type.String({ minLength: 1, maxLength: 4096 }),
    limit: Optional(Type.Integer({ minimum: 1, maximum: 25 })),
  },
  closed,
);
export type SessionsSearchParams = Static<typeof SessionsSearchParams>;
/** `truncated`: there is more than was searched, or more than the limit. */
export const SessionsSearchResult = Type.Object(
  {
    results: Type.Array(
      Type.Object(
        {
          sessionKey: NonEmpty,
          sessionId: NonEmpty,
          messageId: NonEmpty,
          role: oneOf(['user', 'assistant']),
          timestamp: Count,
          snippet: Text,
          /** number of occurrences of the words */
          score: Type.Number(),
        },
        closed,
      ),
    ),
    truncated: Optional(Type.Boolean()),
  },
  closed,
);
export type SessionsSearchResult = Static<typeof SessionsSearchResult>;

export const SessionsUsageTimeseriesParams = Type.Object(
  { key: NonEmpty, agentId: Optional(NonEmpty) },
  closed,
);
export type SessionsUsageTimeseriesParams = Static<typeof SessionsUsageTimeseriesParams>;
/** One point per model call of the last messages, oldest first. */
export const SessionsUsageTimeseriesResult = Type.Object({
  sessionId: Optional(NonEmpty),
  points: Type.Array(
    Type.Object({
      timestamp: Count,
      input: Count,
      output: Count,
      cacheRead: Count,
      cacheWrite: Count,
      totalTokens: Count,
      cost: Type.Number(),
      cumulativeTokens: Count,
      cumulativeCost: Type.Number(),
    }),
  ),
});

export const SessionsBranchesListParams = Type.Object(
  { sessionKey: NonEmpty, agentId: Optional(NonEmpty) },
  closed,
);
export type SessionsBranchesListParams = Static<typeof SessionsBranchesListParams>;
/** A transcript has one branch; none before its first message. */
export const SessionsBranchesListResult = Type.Object(
  {
    branches: Type.Array(
      Type.Object(
        {
          leafEntryId: NonEmpty,
          headline: Text,
          messageCount: Count,
          updatedAt: Optional(NonEmpty),
          active: Type.Boolean(),
        },
        closed,
      ),
    ),
  },
  closed,
);

export const SessionsGroupsListParams = Type.Object({}, closed);
/** The values of `category` of all sessions. */
export const SessionsGroupsListResult = Type.Object(
  {
    groups: Type.Array(Type.Object({ name: Label, position: Count }, closed)),
    sectionOrder: Optional(Type.Array(Label)),
  },
  closed,
);

export const sessionReadMethods = {
  'sessions.describe': {
    params: SessionsDescribeParams,
    result: SessionsDescribeResult,
    scope: 'operator.read',
  },
  'sessions.get': {
    params: SessionsGetParams,
    result: SessionsGetResult,
    scope: 'operator.read',
  },
  'sessions.resolve': {
    params: SessionsResolveParams,
    result: SessionsResolveResult,
    scope: 'operator.read',
  },
  'sessions.preview': {
    params: SessionsPreviewParams,
    result: SessionsPreviewResult,
    scope: 'operator.read',
  },
  'sessions.search': {
    params: SessionsSearchParams,
    result: SessionsSearchResult,
    scope: 'operator.read',
  },
  'sessions.usage.timeseries': {
    params: SessionsUsageTimeseriesParams,
    result: SessionsUsageTimeseriesResult,
    scope: 'operator.read',
  },
  'sessions.branches.list': {
    params: SessionsBranchesListParams,
    result: SessionsBranchesListResult,
    scope: 'operator.read',
  },
  'sessions.groups.list': {
    params: SessionsGroupsListParams,
    result: SessionsGroupsListResult,
    scope: 'operator.read',
  },
} as const satisfies MethodArea;
