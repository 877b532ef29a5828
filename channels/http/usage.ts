/**
 * `/v1/usage`: what agents and sessions used, for operators, from committed rows (AL10).
 *
 * Boundary: who is an operator is the caller's to say; nothing is read before that is known. No
 * actor is asked.
 */
import { address } from '../../protocols/address.ts';
import type { AgentRow } from '../../protocols/agent.ts';
import { BUDGET_KEY, type BudgetRow, BUDGETS_INDEX } from '../../protocols/budget.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { SessionRow, Usage } from '../../protocols/session.ts';
import type { AgentUsage, SessionUsage, UsageReport } from '../../protocols/usage.ts';
import type { System } from '../../runtime/index.ts';
import { type Route, type RouteRequest, sendJson } from './route.ts';

export type UsageRouteOptions = {
  readonly system: Pick<System, 'index'>;
  /** @throws TroupeError UNAUTHORIZED, FORBIDDEN unless an operator asks */
  readonly operator: (
    request: RouteRequest,
  ) => Promise<{ readonly sub: string /** default `default` */; readonly tenant?: string }>;
  /** epoch milliseconds */
  readonly now: () => number;
};

/** Sessions of one agent that are counted, and of those how many are listed. */
const COUNTED_MAX = 10_000;
const LISTED_MAX = 100;
const PAGE = 1_000;

export const usageRoutes = (options: UsageRouteOptions): readonly Route[] => [
  { method: 'GET', path: '/v1/usage', handle: (request) => report(options, request) },
];

/** `?agent=` or `?session=`: of one; without: the day of all agents. */
async function report(options: UsageRouteOptions, incoming: RouteRequest): Promise<void> {
  const { tenant: own = 'default' } = await options.operator(incoming);
  const { query } = incoming;
  const tenant = query.get('tenant') ?? own;
  address(tenant, 'agent', 'any');
  const { index } = options.system;
  const today = new Date(options.now()).toISOString().slice(0, 10);
  const key = query.get('session');
  const sessions = key === null ? undefined : [sessionOf(index, tenant, key)];
  const agentId = query.get('agent') ?? sessions?.[0]?.agentId;
  const budget = budgetOf(index, tenant, today);
  const body: UsageReport = {
    ...(budget ? { budget } : {}),
    agents: agentsOf(index, tenant, today, agentId),
    ...(sessions ? { sessions } : agentId === undefined ? {} : allOf(index, tenant, agentId)),
  };
  sendJson(incoming.response, 200, body);
}

type Rows = System['index'];

/** A row of an earlier day says nothing of this one. */
function budgetOf(index: Rows, tenant: string, today: string): BudgetRow | undefined {
  const row = index.get<BudgetRow>(BUDGETS_INDEX, tenant, BUDGET_KEY);
  if (!row || row.day === today) return row;
  const { spent: _, ...rest } = row;
  return { ...rest, status: 'open', day: today, tokensToday: 0, costTodayUsd: 0 };
}

/** @throws TroupeError NOT_FOUND for one that is named and is not there */
function agentsOf(index: Rows, tenant: string, today: string, id?: string): AgentUsage[] {
  const rows = id
    ? [index.get<AgentRow>('agents', tenant, id)]
    : index.list<AgentRow>('agents', tenant, { limit: PAGE }).map(({ value }) => value);
  return rows.map((row) => {
    if (!row) throw new TroupeError('NOT_FOUND', `there is no agent ${id}`);
    const { agentId, day, running, waiting, tokensToday, costTodayUsd = 0 } = row;
    const sums = day === today ? { tokensToday, costTodayUsd } : NOTHING_TODAY;
    return { agentId, running, waiting, day: today, ...sums };
  });
}
const NOTHING_TODAY = { tokensToday: 0, costTodayUsd: 0 };

/** @throws TroupeError NOT_FOUND */
function sessionOf(index: Rows, tenant: string, key: string): SessionUsage {
  const row = index.get<SessionRow>('sessions', tenant, key);
  if (!row) throw new TroupeError('NOT_FOUND', `there is no session ${key}`);
  return usageOf(row);
}

const usageOf = ({ sessionKey, agentId, updatedAt, usage }: SessionRow): SessionUsage => ({
  sessionKey,
  agentId,
  updatedAt,
  usage,
});

/** All sessions of an agent, or as many as are counted. */
function allOf(
  index: Rows,
  tenant: string,
  agentId: string,
): Pick<UsageReport, 'sessions' | 'total' | 'isPartial'> {
  const counted: SessionUsage[] = [];
  for (let after: string | undefined; counted.length < COUNTED_MAX; ) {
    const page = index.list<SessionRow>('sessions', tenant, {
      prefix: `agent:${agentId}:`,
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    });
    counted.push(...page.map(({ value }) => usageOf(value)));
    if (page.length < PAGE) break;
    after = page.at(-1)!.key;
  }
  const total = counted.reduce((sum, { usage }) => added(sum, usage), NOTHING);
  const most = counted.toSorted((a, b) => tokensOf(b.usage) - tokensOf(a.usage));
  return {
    sessions: most.slice(0, LISTED_MAX),
    total: { ...total, sessions: counted.length },
    ...(counted.length >= COUNTED_MAX ? { isPartial: true } : {}),
  };
}

const NOTHING: Usage = { inputTokens: 0, outputTokens: 0 };
const tokensOf = ({ inputTokens, outputTokens }: Usage): number => inputTokens + outputTokens;

/** The sum has a cost when one of both has: what is known is said. */
function added(a: Usage, b: Usage): Usage {
  const { costUsd } = b;
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    ...(costUsd === undefined && a.costUsd === undefined
      ? {}
      : { costUsd: (a.costUsd ?? 0) + (costUsd ?? 0) }),
  };
}
