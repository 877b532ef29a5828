/**
 * `session_status`: the status of one session, the caller's own or one that it may list: its
 * activity, usage, and remaining budget.
 *
 * Boundary: reads committed rows of the whole cluster and the end of a transcript; activates no
 * actor.
 */
import { Type } from '@sinclair/typebox';
import { address } from '../../../protocols/address.ts';
import type { AgentRow, AgentSettings } from '../../../protocols/agent.ts';
import type { RunRow, SessionRow } from '../../../protocols/session.ts';
import { SUBAGENTS_INDEX, subagentRowKey, type SubagentRow } from '../../../protocols/subagent.ts';
import type { Index, TranscriptReader } from '../../../runtime/index.ts';
import { said, talkerOf } from './repeatable-ask.ts';
import { findSession } from './session-lookup.ts';
import { backwards } from './session-messages.ts';
import { channelOf, displayNameOf, isoOf } from './session-view.ts';
import { defineTool, type Tool, type ToolContext } from '../tool.ts';

/** Information that the rows do not contain. */
export type SessionFacts = {
  /** Tokens of a model's context window; undefined for an unknown model. */
  readonly windowOf: (model: string) => number | undefined;
  /** default model */
  readonly fallbackModel?: string;
  /** A configured agent; undefined when it is not configured. */
  readonly settingsOf: (agentId: string) => AgentSettings | undefined;
};

/** Maximum number of active subagents that are listed. */
const SUBAGENTS_SHOWN_MAX = 10;
/** Maximum number of entries that are searched for the current call. */
const ENTRIES_MAX = 64;
const CALLS_SHOWN_MAX = 5;

const Parameters = Type.Object(
  {
    sessionKey: Type.Optional(
      Type.String({ minLength: 1, maxLength: 512, description: 'default this session' }),
    ),
    label: Type.Optional(
      Type.String({ minLength: 1, maxLength: 120, description: 'instead of sessionKey' }),
    ),
    agentId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'agent whose labels are searched; default all',
      }),
    ),
  },
  { additionalProperties: false },
);

export const createSessionStatusTool = (facts: SessionFacts): Tool =>
  defineTool({
    name: 'session_status',
    groups: ['sessions'],
    description:
      'The status of a session: model, tokens, cost, context, the active run, waiting messages, subagents, the budget of its agent. Default: this session.',
    parameters: Parameters,
    class: 'repeatable',
    parallel: true,
    async run(args, context) {
      const { tenant, sessionKey, system, talk } = context;
      const isNamed = args.sessionKey !== undefined || args.label !== undefined;
      const name = isNamed ? args : { sessionKey };
      const index = await system.index();
      const found = await findSession(index, tenant, name, talkerOf(context), talk);
      if (found.status !== 'found') return said(found, true);
      return { text: await cardOf(found.row, index, facts, context) };
    },
  });

async function cardOf(
  row: SessionRow,
  index: Index,
  facts: SessionFacts,
  { tenant, system, now }: ToolContext,
): Promise<string> {
  const { agentId, sessionKey } = row;
  const agent = index.get<AgentRow>('agents', tenant, agentId);
  const settings = facts.settingsOf(agentId);
  const run = row.runId === undefined ? undefined : index.get<RunRow>('runs', tenant, row.runId);
  const children = index.list<SubagentRow>(SUBAGENTS_INDEX, tenant, {
    prefix: subagentRowKey(sessionKey, ''),
  });
  const lines = [
    headLine(row),
    row.status === 'running'
      ? `Run: ${await activityOf(system.transcript(address(tenant, 'session', sessionKey)), row, run, now)}`
      : `Run: none is active; last active ${isoOf(row.updatedAt)}`,
    contextLine(row, facts, agent?.model ?? settings?.model),
    `Used: ${count(row.usage.inputTokens)} tokens in, ${count(row.usage.outputTokens)} out${costOf(row.usage.costUsd)}${ceilingOf(settings)}`,
    `Messages: ${count(row.messages)} entries, ${count(row.pending)} waiting; queue ${queueOf(row, settings)}`,
    `Subagents: ${subagentsOf(children.map(({ value }) => value))}`,
    ...(agent ? [agentLine(agent, settings)] : []),
  ];
  return lines.join('\n');
}

function headLine(row: SessionRow): string {
  const channel = channelOf(row);
  const parts = [
    `Session ${row.sessionKey} (${displayNameOf(row)})`,
    `agent ${row.agentId}`,
    ...(channel === undefined ? [] : [`channel ${channel}`]),
    ...(row.spawnedBy === undefined ? [] : [`subagent of ${row.spawnedBy}`]),
  ];
  return parts.join(', ');
}

/** The current activity of the active run. */
async function activityOf(
  transcript: TranscriptReader,
  { runId }: SessionRow,
  run: RunRow | undefined,
  now: number,
): Promise<string> {
  const started = run?.startedAt;
  const since =
    started === undefined
      ? 'waits for a slot'
      : `since ${isoOf(started)} (${count(Math.max(0, now - started) / 1_000)} s)`;
  return `${runId ?? 'one'} ${since}, ${await stepOf(transcript, runId)}`;
}

/**
 * Reads the last entries: calls without results are running; without such calls, a model request is
 * running.
 */
async function stepOf(transcript: TranscriptReader, runId: string | undefined): Promise<string> {
  const ended = new Set<string>();
  let looked = 0;
  for await (const entry of backwards(transcript)) {
    if (++looked > ENTRIES_MAX || entry.runId !== runId) break;
    if (entry.type === 'tool') ended.add(entry.callId);
    if (entry.type !== 'assistant' || entry.of !== undefined) continue;
    const open = (entry.calls ?? []).filter(({ id }) => !ended.has(id)).map(({ name }) => name);
    if (open.length === 0) break;
    const more = open.length > CALLS_SHOWN_MAX ? ' and more' : '';
    return `runs ${open.slice(0, CALLS_SHOWN_MAX).join(', ')}${more}`;
  }
  return 'waiting for the model';
}

function contextLine(
  { model, contextTokens }: SessionRow,
  { windowOf, fallbackModel }: SessionFacts,
  agentModel: string | undefined,
): string {
  const name = model ?? agentModel ?? fallbackModel;
  if (name === undefined) return 'Model: the default';
  const window = windowOf(name);
  const used = contextTokens ?? 0;
  if (window === undefined) return `Model: ${name}; context ${count(used)} tokens used`;
  const left = Math.max(0, window - used);
  const share = Math.round((100 * used) / window);
  return `Model: ${name}; context ${count(used)} of ${count(window)} tokens used (${share} %), ${count(left)} left`;
}

function ceilingOf(settings: AgentSettings | undefined): string {
  const { tokensPerSession, costPerSessionUsd } = settings?.limits ?? {};
  const ceilings = [
    ...(tokensPerSession === undefined ? [] : [`${count(tokensPerSession)} tokens`]),
    ...(costPerSessionUsd === undefined ? [] : [`${costPerSessionUsd} USD`]),
  ];
  return ceilings.length === 0 ? '' : `; limits of a session: ${ceilings.join(' and ')}`;
}

/**
 * The session's own setting, otherwise its agent's setting for the channel, otherwise its agent's.
 */
function queueOf(row: SessionRow, settings: AgentSettings | undefined): string {
  const { mode, byChannel } = settings?.queue ?? {};
  const own = row.queue ?? byChannel?.[row.channel ?? 'webchat'] ?? mode ?? 'steer';
  return own;
}

function subagentsOf(rows: readonly SubagentRow[]): string {
  if (rows.length === 0) return 'none';
  const byStatus = new Map<string, number>();
  for (const { status } of rows) byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
  const counts = [...byStatus].map(([status, number]) => `${number} ${status}`).join(', ');
  const going = rows
    .filter(({ endedAt }) => endedAt === undefined)
    .slice(0, SUBAGENTS_SHOWN_MAX)
    .map(({ id, label, sessionKey, status }) => `\n  ${label ?? id} (${sessionKey}): ${status}`);
  return counts + going.join('');
}

function agentLine(agent: AgentRow, settings: AgentSettings | undefined): string {
  const { agentId, status, day, tokensToday, costTodayUsd, running, waiting } = agent;
  const tokens = settings?.tokensPerDay ? ` of ${count(settings.tokensPerDay)}` : '';
  const spent =
    costTodayUsd === undefined
      ? ''
      : `, ${money(costTodayUsd)}${settings?.costPerDayUsd ? ` of ${settings.costPerDayUsd}` : ''} USD`;
  const slots = settings?.runsMax ? ` of ${settings.runsMax}` : '';
  return `Agent ${agentId}, ${status}: ${count(tokensToday)}${tokens} tokens${spent} on ${day} (UTC); ${running}${slots} runs active, ${waiting} waiting`;
}

const count = (number: number): string => Math.round(number).toLocaleString('en-US');
const money = (usd: number): string => String(Number(usd.toFixed(6)));
const costOf = (usd: number | undefined): string =>
  usd === undefined ? '' : `, ${money(usd)} USD`;
