/**
 * `usage.status`, `usage.cost`, `sessions.usage`: token use and cost, from committed rows. Only
 * totals of a session and of an agent's current day exist (protocols/gateway/usage.ts).
 */
import type { Clock } from '../../../../runtime/index.ts';
import type { TenantScope } from '../../tenant/tenant-scope.ts';
import type { AgentRow } from '../../../../protocols/agent.ts';
import { defined } from '../../../../protocols/defined.ts';
import { TroupeError } from '../../../../protocols/errors.ts';
import type {
  SessionsUsageParams,
  SessionsUsageResult,
  UsageCostParams,
  UsageTotals,
} from '../../../../protocols/gateway/index.ts';
import type { SessionRow, Usage } from '../../../../protocols/session.ts';
import { type MethodTable, published } from '../method.ts';
import type { Request } from '../request.ts';
import { modelParts } from '../../../../operations/sessions/session-list-row.ts';
import { newestFirst, readSessions } from '../../../../operations/sessions/list-sessions.ts';

/** What reading usage needs. */
export type UsageContext = TenantScope & { readonly clock: Clock };

const DAY_MS = 86_400_000;
const DAYS = 30;
/** Number of listed sessions when the request has no `limit`. */
const LIMIT = 1_000;
const AGENTS_READ_MAX = 10_000;

const NOTHING: UsageTotals = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 0,
  totalCost: 0,
  inputCost: 0,
  outputCost: 0,
  cacheReadCost: 0,
  cacheWriteCost: 0,
  missingCostEntries: 0,
};

const totalsOf = ({ inputTokens, outputTokens, costUsd = 0 }: Usage): UsageTotals => ({
  ...NOTHING,
  input: inputTokens,
  output: outputTokens,
  totalTokens: inputTokens + outputTokens,
  totalCost: costUsd,
});

const sum = (all: Iterable<UsageTotals>): UsageTotals => {
  const total = { ...NOTHING };
  for (const one of all) {
    for (const key of Object.keys(total) as (keyof UsageTotals)[]) total[key] += one[key];
  }
  return total;
};

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/**
 * The first and the last requested day, in UTC.
 * @throws TroupeError INVALID_ARGUMENT for an invalid date
 */
const daysOf = (request: Request<UsageContext>, params: UsageCostParams) => {
  const { days = DAYS } = params;
  const now = request.context.clock.wallMs();
  const first = dayOf(now - (Math.min(Math.max(days, 1), 3_650) - 1) * DAY_MS);
  return {
    first: givenDay('/startDate', params.startDate) ?? first,
    last: givenDay('/endDate', params.endDate) ?? dayOf(now),
  };
};

const givenDay = (path: string, text: string | undefined): string | undefined => {
  if (!text) return undefined;
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms) && dayOf(ms) === text) return text;
  throw new TroupeError('INVALID_ARGUMENT', `${path} is not a date: write YYYY-MM-DD`);
};

const sessionsUsage = (
  request: Request<UsageContext>,
  params: SessionsUsageParams,
): SessionsUsageResult => {
  const { first, last } = daysOf(request, params);
  const fits = ({ sessionKey, agentId, updatedAt }: SessionRow) =>
    (params.key === undefined || params.key === sessionKey) &&
    (params.agentId === undefined || params.agentId === agentId) &&
    dayOf(updatedAt) >= first &&
    dayOf(updatedAt) <= last;
  const rows = newestFirst(readSessions(request.context)).filter(fits);
  return {
    updatedAt: request.context.clock.wallMs(),
    startDate: first,
    endDate: last,
    sessions: rows.slice(0, params.limit ?? LIMIT).map((row) => ({
      key: row.sessionKey,
      sessionId: row.sessionId,
      agentId: row.agentId,
      ...defined({ label: row.label }),
      updatedAt: row.updatedAt,
      ...modelParts(row.model),
      usage: totalsOf(row.usage),
    })),
    totals: sum(rows.map(({ usage }) => totalsOf(usage))),
    aggregates: aggregatesOf(rows),
  };
};

const aggregatesOf = (rows: readonly SessionRow[]) => {
  const by = (keyOf: (row: SessionRow) => string) => {
    const groups = new Map<string, SessionRow[]>();
    for (const row of rows) {
      const group = groups.get(keyOf(row));
      if (group === undefined) groups.set(keyOf(row), [row]);
      else group.push(row);
    }
    return [...groups].map(([key, of]) => ({
      key,
      count: of.length,
      totals: sum(of.map(({ usage }) => totalsOf(usage))),
    }));
  };
  return {
    sessionCount: rows.length,
    messages: { total: 0, user: 0, assistant: 0, toolCalls: 0, toolResults: 0, errors: 0 },
    tools: { totalCalls: 0, uniqueTools: 0, tools: [] },
    byModel: by(({ model = 'unknown' }) => model).map(({ key, count, totals }) => {
      const { modelProvider: provider, model } = modelParts(key);
      return { provider, model, count, totals };
    }),
    byProvider: by(({ model }) => modelParts(model).modelProvider ?? 'unknown').map(
      ({ key: provider, count, totals }) => ({ provider, count, totals }),
    ),
    byAgent: by(({ agentId }) => agentId).map(({ key: agentId, totals }) => ({ agentId, totals })),
    byChannel: by(({ channel = 'webchat' }) => channel).map(({ key: channel, totals }) => ({
      channel,
      totals,
    })),
    byCreator: [],
    costDaily: [],
    dailyLatency: [],
    modelDaily: [],
    daily: [],
  };
};

const usageCost = (request: Request<UsageContext>, params: UsageCostParams) => {
  const { context } = request;
  const now = context.clock.wallMs();
  const { first, last } = daysOf(request, params);
  const today = dayOf(now);
  const rows = context.system.index
    .list<AgentRow>('agents', context.tenant, { limit: AGENTS_READ_MAX })
    .map(({ value }) => value)
    .filter(({ day, agentId }) => day === today && (params.agentId ?? agentId) === agentId);
  const totals = sum(
    rows.map(({ tokensToday, costTodayUsd = 0 }) => ({
      ...NOTHING,
      totalTokens: tokensToday,
      totalCost: costTodayUsd,
    })),
  );
  const isAsked = first <= today && today <= last;
  return {
    updatedAt: now,
    days: isAsked ? 1 : 0,
    daily: isAsked ? [{ date: today, ...totals }] : [],
    totals: isAsked ? totals : NOTHING,
  };
};

/** Troupe does not query providers for their remaining quota. */
const usageStatus = ({ context }: Request<UsageContext>) => ({
  updatedAt: context.clock.wallMs(),
  providers: [],
});

export const usageTable: MethodTable<UsageContext> = [
  published('usage.status', usageStatus),
  published('usage.cost', usageCost),
  published('sessions.usage', sessionsUsage),
];
