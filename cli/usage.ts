/** `troupe usage`: what agents and sessions used, and how near the ceilings are (AL10). */
import type { BudgetRow } from '../protocols/budget.ts';
import type { Usage } from '../protocols/session.ts';
import type { AgentUsage, SessionUsage, UsageReport } from '../protocols/usage.ts';
import { exitCodes } from './exit.ts';
import { gatewayHttp } from './gateway-http.ts';
import type { ClientOptions } from './options.ts';
import { ago, table } from '../operations/text.ts';
import { printJson } from './output.ts';

export type UsageOptions = ClientOptions & {
  readonly agent?: string;
  readonly session?: string;
  readonly tenant?: string;
};

export async function usage(options: UsageOptions): Promise<number> {
  const { agent, session, tenant } = options;
  const given = Object.entries({ agent, session, tenant }).filter(([, value]) => value);
  const query = new URLSearchParams(given as [string, string][]).toString();
  const http = await gatewayHttp(options);
  const report = await http<UsageReport>({ method: 'GET', path: `/v1/usage?${query}` });
  if (options.json) printJson(report);
  else process.stdout.write(textOf(report, Date.now()));
  return exitCodes.ok;
}

function textOf({ budget, agents, sessions, total, isPartial }: UsageReport, now: number): string {
  const parts = [agentTable(agents)];
  if (budget) parts.push(budgetText(budget));
  if (sessions) parts.push(sessionTable(sessions, now));
  if (total && sessions) {
    const count = isPartial ? `the first ${total.sessions}` : String(total.sessions);
    parts.push(`sum of ${count} in all: ${tokens(total)} tokens${cost(total.costUsd, ', ')}\n`);
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

function budgetText({ ceilings, spent, ...row }: BudgetRow): string {
  const { tokensPerDay, costPerDayUsd, runsMax } = ceilings;
  const lines = [
    `tokens today ${row.tokensToday}${tokensPerDay ? ` of ${tokensPerDay}` : ''}`,
    `cost today ${money(row.costTodayUsd)}${costPerDayUsd ? ` of ${money(costPerDayUsd)}` : ''}`,
    ...(runsMax ? [`runs ${row.running} of ${runsMax}, ${row.waiting} wait`] : []),
    ...(spent ? [`spent (budget.${spent}): no run begins before 00:00 UTC`] : []),
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

const tokens = ({ inputTokens, outputTokens }: Usage): number => inputTokens + outputTokens;
const money = (usd: number): string => `$${usd.toFixed(usd > 0 && usd < 0.01 ? 4 : 2)}`;
/** Empty where no price is known. */
const cost = (usd: number | undefined, before = ''): string =>
  usd ? `${before}${money(usd)}` : '';
