/** Usage: tokens and money of agents and sessions, from committed rows. It activates no actor. */
import { Type } from '@sinclair/typebox';
import { AGENT_DAYS_INDEX, type AgentDay, type AgentRow } from '../protocols/agent.ts';
import { BUDGET_KEY, type BudgetRow, BUDGETS_INDEX } from '../protocols/budget.ts';
import { defined } from '../protocols/defined.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { SessionRow, Usage } from '../protocols/session.ts';
import type { AgentUsage, SessionUsage, UsageDay, UsageReport } from '../protocols/usage.ts';
import type { System } from '../runtime/index.ts';
import { defineOperation, ObjectOf, type Resource } from './operation.ts';
import { rowsOf } from './rows.ts';
import { ago, table } from './text.ts';

/** Maximum number of agents, of an agent's counted sessions, and of its listed sessions. */
const AGENTS_MAX = 1_000;
const COUNTED_MAX = 10_000;
const LISTED_MAX = 100;
const DAYS_MAX = 400;
const DAY_MS = 86_400_000;

const report = defineOperation({
  name: 'usage',
  scope: 'tenant',
  summary: 'Show tokens and costs of all agents today, or of the sessions of one agent',
  params: Type.Object({
    agent: Type.Optional(
      Type.String({ description: 'One agent, with its sessions, the largest first' }),
    ),
    session: Type.Optional(Type.String({ description: 'One session, with its agent' })),
    days: Type.Optional(
      Type.Integer({ minimum: 1, maximum: DAYS_MAX, description: 'Also its last days (UTC)' }),
    ),
  }),
  result: ObjectOf<UsageReport>(),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND'],
  http: {
    method: 'GET',
    path: '/v1/usage',
    operationId: 'getUsage',
    responses: { 200: 'The report' },
  },
  cli: {
    command: 'usage',
    flags: { agent: '--agent <id>', session: '--session <key>', days: '--days <n>' },
    examples: [
      'troupe usage',
      'troupe usage --agent main',
      'troupe usage --days 30',
      'troupe usage --session agent:main:main',
    ],
    print: (result) => reportText(result, Date.now()),
  },
  async run({ system: { index }, tenant, now }, { agent, session, days }) {
    const today = new Date(now()).toISOString().slice(0, 10);
    const sessions = session === undefined ? undefined : [sessionOf(index, tenant, session)];
    const agentId = agent ?? sessions?.[0]?.agentId;
    return {
      ...defined({ budget: budgetOf(index, tenant, today), sessions }),
      agents: await agentsOf(index, tenant, today, agentId),
      ...(days === undefined ? {} : { days: daysOf(index, tenant, { agentId, days, now: now() }) }),
      ...(sessions || agentId === undefined ? {} : await sessionsOf(index, tenant, agentId)),
    };
  },
});

export const usage: Resource = {
  name: 'usage',
  operations: [report],
};

type Index = System['index'];

/** The totals in a row of an earlier day do not count today. */
function budgetOf(index: Index, tenant: string, today: string): BudgetRow | undefined {
  const row = index.get<BudgetRow>(BUDGETS_INDEX, tenant, BUDGET_KEY);
  if (!row || row.day === today) return row;
  const { spent: _, ...rest } = row;
  return { ...rest, status: 'open', day: today, tokensToday: 0, costTodayUsd: 0 };
}

/** @throws TroupeError NOT_FOUND for an unknown id */
async function agentsOf(
  index: Index,
  tenant: string,
  today: string,
  id?: string,
): Promise<AgentUsage[]> {
  const rows = id
    ? [index.get<AgentRow>('agents', tenant, id)]
    : index.list<AgentRow>('agents', tenant, { limit: AGENTS_MAX }).map(({ value }) => value);
  const unlimited = await runsOf(index, tenant, rows);
  return rows.map((row) => {
    if (!row) throw new TroupeError('NOT_FOUND', `there is no agent ${id}`);
    const { agentId, day, waiting, tokensToday, costTodayUsd = 0 } = row;
    const running = unlimited.get(agentId) ?? row.running;
    const sums = day === today ? { tokensToday, costTodayUsd } : NOTHING_TODAY;
    return { agentId, running, waiting, day: today, ...sums };
  });
}
const isRow = <Row>(row: Row | undefined): row is Row => row !== undefined;

/** The last days, the oldest first. An agent's own row has the day of its last run. */
function daysOf(
  index: Index,
  tenant: string,
  { agentId, days, now }: { agentId: string | undefined; days: number; now: number },
): UsageDay[] {
  const isAsked = (row: { readonly agentId: string }) => !agentId || row.agentId === agentId;
  const rowsIn = <V extends { readonly agentId: string }>(name: string, prefix?: string) =>
    index
      .list<V>(name, tenant, { ...defined({ prefix }), limit: AGENTS_MAX })
      .map(({ value }) => value)
      .filter(isAsked);
  const last = rowsIn<AgentRow>('agents').map(
    ({ agentId: id, day, tokensToday: tokens, costTodayUsd: costUsd = 0 }): AgentDay => ({
      agentId: id,
      day,
      tokens,
      costUsd,
    }),
  );
  return Array.from({ length: days }, (_, at) => {
    const day = new Date(now - (days - 1 - at) * DAY_MS).toISOString().slice(0, 10);
    const rows = [
      ...(agentId === undefined
        ? rowsIn<AgentDay>(AGENT_DAYS_INDEX, `${day}/`)
        : [index.get<AgentDay>(AGENT_DAYS_INDEX, tenant, `${day}/${agentId}`)].filter(isRow)),
      ...last.filter((one) => one.day === day),
    ];
    const sum = (of: (row: AgentDay) => number) => rows.reduce((total, row) => total + of(row), 0);
    return { day, tokens: sum(({ tokens }) => tokens), costUsd: sum(({ costUsd }) => costUsd) };
  });
}

/** Sessions with a run, by agent, of the agents that start runs without slots. */
async function runsOf(
  index: Index,
  tenant: string,
  rows: readonly (AgentRow | undefined)[],
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map(rows.flatMap((row) => (row?.standing ? [[row.agentId, 0]] : [])));
  if (counts.size === 0) return counts;
  const fields = ['agentId', 'status'] as const;
  await index.scan<SessionRow, (typeof fields)[number]>(
    'sessions',
    tenant,
    { fields },
    ({ agentId, status }) => {
      const count = counts.get(agentId);
      if (status === 'running' && count !== undefined) counts.set(agentId, count + 1);
    },
  );
  return counts;
}
const NOTHING_TODAY = { tokensToday: 0, costTodayUsd: 0 };

/** @throws TroupeError NOT_FOUND */
function sessionOf(index: Index, tenant: string, key: string): SessionUsage {
  const row = index.get<SessionRow>('sessions', tenant, key);
  if (!row) throw new TroupeError('NOT_FOUND', `there is no session ${key}`);
  return usageOf(row);
}

const usageOf = ({ sessionKey, agentId, updatedAt, usage: used }: SessionRow): SessionUsage => ({
  sessionKey,
  agentId,
  updatedAt,
  usage: used,
});

/** Counts the sessions of an agent, at most COUNTED_MAX. */
async function sessionsOf(
  index: Index,
  tenant: string,
  agentId: string,
): Promise<Pick<UsageReport, 'sessions' | 'total' | 'isPartial'>> {
  const counted: SessionUsage[] = [];
  for await (const row of rowsOf<SessionRow>(index, 'sessions', tenant, `agent:${agentId}:`)) {
    counted.push(usageOf(row));
    if (counted.length === COUNTED_MAX) break;
  }
  const total = counted.reduce((sum, one) => added(sum, one.usage), NOTHING);
  const largest = counted.toSorted((a, b) => tokensOf(b.usage) - tokensOf(a.usage));
  return {
    sessions: largest.slice(0, LISTED_MAX),
    total: { ...total, sessions: counted.length },
    ...(counted.length === COUNTED_MAX ? { isPartial: true } : {}),
  };
}

const NOTHING: Usage = { inputTokens: 0, outputTokens: 0 };
const tokensOf = ({ inputTokens, outputTokens }: Usage): number => inputTokens + outputTokens;

/** The sum has a cost if one of them has. */
function added(a: Usage, b: Usage): Usage {
  const isPriced = a.costUsd !== undefined || b.costUsd !== undefined;
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    ...(isPriced ? { costUsd: (a.costUsd ?? 0) + (b.costUsd ?? 0) } : {}),
  };
}

function reportText(
  { budget, agents, sessions, total, isPartial, days }: UsageReport,
  now: number,
): string {
  const parts = [agentTable(agents)];
  if (budget) parts.push(budgetText(budget));
  if (days) parts.push(dayTable(days));
  if (sessions) parts.push(sessionTable(sessions, now));
  if (total && sessions) {
    const count = isPartial ? `the first ${total.sessions}` : String(total.sessions);
    parts.push(
      `total of ${count} sessions: ${tokensOf(total)} tokens${cost(total.costUsd, ', ')}\n`,
    );
  }
  return parts.join('\n');
}

const agentTable = (agents: readonly AgentUsage[]): string =>
  agents.length === 0
    ? 'there are no agents\n'
    : table(
        ['agent', 'day (UTC)', 'tokens', 'cost', 'running', 'waiting'],
        agents.map((one) => [
          one.agentId,
          one.day,
          String(one.tokensToday),
          cost(one.costTodayUsd),
          String(one.running),
          String(one.waiting),
        ]),
      );

const dayTable = (days: readonly UsageDay[]): string =>
  table(
    ['day (UTC)', 'tokens', 'cost'],
    days.map(({ day, tokens, costUsd }) => [day, String(tokens), cost(costUsd)]),
  );

function budgetText({ ceilings, spent, ...row }: BudgetRow): string {
  const { tokensPerDay, costPerDayUsd, runsMax } = ceilings;
  const lines = [
    `tokens today ${row.tokensToday}${tokensPerDay ? ` of ${tokensPerDay}` : ''}`,
    `cost today ${money(row.costTodayUsd)}${costPerDayUsd ? ` of ${money(costPerDayUsd)}` : ''}`,
    ...(runsMax ? [`runs ${row.running} of ${runsMax}, ${row.waiting} waiting`] : []),
    ...(spent ? [`exhausted (budget.${spent}): no run starts before 00:00 UTC`] : []),
  ];
  return `all agents together: ${lines.join('; ')}\n`;
}

const sessionTable = (sessions: readonly SessionUsage[], now: number): string =>
  sessions.length === 0
    ? 'it has no sessions\n'
    : table(
        ['session', 'active', 'in', 'out', 'cost'],
        sessions.map(({ sessionKey, updatedAt, usage: used }) => [
          sessionKey,
          ago(now - updatedAt),
          String(used.inputTokens),
          String(used.outputTokens),
          cost(used.costUsd),
        ]),
      );

const money = (usd: number): string => `$${usd.toFixed(usd > 0 && usd < 0.01 ? 4 : 2)}`;
/** Empty for an unknown price. */
const cost = (usd: number | undefined, before = ''): string =>
  usd ? `${before}${money(usd)}` : '';
