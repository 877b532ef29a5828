/**
 * `usage.*` and `sessions.usage`: tokens and costs. Troupe stores totals per session and per agent
 * and UTC day, not other periods. A range of days selects the sessions that were last active in it
 * and shows their complete totals.
 */
import { type Static, Type } from '@sinclair/typebox';
import type { MethodArea } from './method.ts';
import {
  AnyObject,
  Count,
  NoEffect,
  NonEmpty,
  Nullable,
  Optional,
  Text,
  Unsupported,
} from './shapes.ts';

/** Tokens and US dollars. A value that is not counted separately is 0. */
const Totals = Type.Object({
  input: Count,
  output: Count,
  cacheRead: Count,
  cacheWrite: Count,
  totalTokens: Count,
  totalCost: Type.Number(),
  inputCost: Type.Number(),
  outputCost: Type.Number(),
  cacheReadCost: Type.Number(),
  cacheWriteCost: Type.Number(),
  missingCostEntries: Count,
});
export type UsageTotals = Static<typeof Totals>;

/** Days as `YYYY-MM-DD`, inclusive; default the last 30. */
const UsageDays = {
  agentId: Optional(NonEmpty),
  startDate: Optional(Text),
  endDate: Optional(Text),
  days: Optional(Count),
};
const Limit = Type.Integer({ minimum: 1 });
export const SessionsUsageParams = Type.Object({
  ...UsageDays,
  key: Optional(NonEmpty),
  limit: Optional(Limit),
});
export type SessionsUsageParams = Static<typeof SessionsUsageParams>;
export const UsageCostParams = Type.Object({
  ...UsageDays,
  key: Unsupported(NonEmpty, 'sums are per agent and day: use sessions.usage'),
  limit: NoEffect(Limit, 'today is the only entry'),
});
export type UsageCostParams = Static<typeof UsageCostParams>;

const SessionUsageRow = Type.Object({
  key: NonEmpty,
  sessionId: NonEmpty,
  agentId: NonEmpty,
  label: Optional(Text),
  updatedAt: Count,
  usage: Nullable(AnyObject),
});

export const SessionsUsageResult = Type.Object({
  updatedAt: Count,
  startDate: NonEmpty,
  endDate: NonEmpty,
  sessions: Type.Array(SessionUsageRow),
  totals: Totals,
  aggregates: AnyObject,
});
export type SessionsUsageResult = Static<typeof SessionsUsageResult>;

export const usageMethods = {
  /** Quotas reported by providers; troupe requests none. */
  'usage.status': {
    params: AnyObject,
    result: Type.Object({ updatedAt: Count, providers: Type.Array(AnyObject) }),
    scope: 'operator.read',
  },
  /** By day; only today is available. */
  'usage.cost': {
    params: UsageCostParams,
    result: Type.Object({
      updatedAt: Count,
      days: Count,
      daily: Type.Array(Type.Intersect([Type.Object({ date: NonEmpty }), Totals])),
      totals: Totals,
    }),
    scope: 'operator.read',
  },
  'sessions.usage': {
    params: SessionsUsageParams,
    result: SessionsUsageResult,
    scope: 'operator.read',
  },
} as const satisfies MethodArea;
