/** `troupe subagents`: agents that work for other agents (AA6, AA7). */
import { defined } from '../protocols/defined.ts';
import type { SubagentRow, SubagentStatus } from '../protocols/subagent.ts';
import type { OpenSubagent, SubagentCensus } from '../protocols/subagent-census.ts';
import { exitCodes } from './exit.ts';
import { gatewayHttp } from './gateway-http.ts';
import type { ClientOptions } from './options.ts';
import { ago, table } from '../operations/text.ts';
import { printJson } from './output.ts';

export type OfTenant = ClientOptions & { readonly tenant?: string };
export type SubagentsListOptions = OfTenant & {
  readonly session?: string;
  readonly all?: boolean;
};

export async function list(options: SubagentsListOptions): Promise<number> {
  const { session, all = false } = options;
  const query = queryOf(options, {
    ...defined({ session }),
    ...(all ? { all: 'true' } : {}),
  });
  const http = await gatewayHttp(options);
  const listed = await http<{ subagents: readonly SubagentRow[] }>({
    method: 'GET',
    path: `/v1/subagents${query}`,
  });
  const { subagents } = listed;
  if (options.json) printJson(listed);
  else if (subagents.length === 0)
    process.stdout.write(all ? 'there are no subagents\n' : 'no subagent goes on\n');
  else {
    const now = Date.now();
    const head = ['subagent', 'state', 'since', 'agent', 'parent', 'tokens', 'told', 'task'];
    process.stdout.write(
      table(
        head,
        subagents.map((row) => cells(row, now)),
      ),
    );
  }
  return exitCodes.ok;
}

/** Fails when a subagent is past the time at which it ends by itself by more than two minutes. */
export async function census(options: OfTenant): Promise<number> {
  const http = await gatewayHttp(options);
  const counted = await http<SubagentCensus>({
    method: 'GET',
    path: `/v1/subagents/census${queryOf(options)}`,
  });
  if (options.json) printJson(counted);
  else process.stdout.write(printed(counted));
  return counted.overdue === 0 ? exitCodes.ok : exitCodes.failure;
}

export async function kill(id: string, options: OfTenant & { reason: string }): Promise<number> {
  const http = await gatewayHttp(options);
  const done = await http<{ killed: readonly string[] }>({
    method: 'POST',
    path: `/v1/subagents/${encodeURIComponent(id)}/kill${queryOf(options)}`,
    body: { reason: options.reason },
  });
  if (options.json) printJson(done);
  else
    process.stdout.write(
      done.killed.length === 0 ? `${id} had ended already\n` : `${id} is being ended\n`,
    );
  return exitCodes.ok;
}

export async function steer(id: string, text: string, options: OfTenant): Promise<number> {
  const http = await gatewayHttp(options);
  const done = await http({
    method: 'POST',
    path: `/v1/subagents/${encodeURIComponent(id)}/steer${queryOf(options)}`,
    body: { text },
  });
  if (options.json) printJson(done);
  else process.stdout.write(`${id} is told\n`);
  return exitCodes.ok;
}

const queryOf = ({ tenant }: OfTenant, more: Record<string, string> = {}): string => {
  const query = new URLSearchParams({ ...more, ...defined({ tenant }) });
  return query.size === 0 ? '' : `?${query.toString()}`;
};

const cells = (row: SubagentRow, now: number): string[] => [
  row.id,
  row.status,
  ago(now - (row.endedAt ?? row.startedAt ?? row.createdAt)),
  row.agentId,
  row.parent,
  tokensOf(row),
  row.reported ?? '',
  taskOf(row),
];

/** Last in its line, since the reason of a failure may be long. */
const taskOf = ({ label, task, reason }: SubagentRow): string =>
  `${label ?? task}${reason === undefined ? '' : ` (${reason})`}`.replaceAll(/\s+/g, ' ');

const tokensOf = ({ usage, tokens }: SubagentRow): string =>
  `${usage ? usage.inputTokens + usage.outputTokens : 0} of ${tokens}`;

function printed({ counts, open, unreported, overdue }: SubagentCensus): string {
  const states = Object.entries(counts) as readonly [SubagentStatus, number][];
  const lines = states
    .filter(([, count]) => count > 0)
    .map(([state, count]) => [state, `${count}`]);
  const all = lines.length === 0 ? 'there are no subagents\n' : table(['state', 'count'], lines);
  const head = ['open', 'state', 'age', 'late', 'parent'];
  const going = open.length === 0 ? '' : `\n${table(head, open.map(openCells))}`;
  return `${all}${going}\n${unreported} ended and not told yet, ${overdue} overdue\n`;
}

const openCells = ({ id, status, ageMs, lateMs, isOverdue, parent }: OpenSubagent): string[] => [
  id,
  status,
  ago(ageMs),
  isOverdue ? ago(lateMs) : '',
  parent,
];
