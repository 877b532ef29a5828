/**
 * Subagents: sessions that work for another session. Operators list and count them, send them
 * messages and stop them. Lists and counts use committed rows and activate no actor; the subagent
 * actor decides about messages.
 */
import { Type } from '@sinclair/typebox';
import {
  subagentAddress,
  type SubagentRow,
  subagentRowKey,
  type SubagentStatus,
  SUBAGENTS_INDEX,
  TASK_CHARACTERS_MAX,
} from '../protocols/subagent.ts';
import {
  Census,
  CENSUS_FIELDS,
  type CountedRow,
  isOpen,
  type OpenSubagent,
  type SubagentCensus,
} from '../protocols/subagent-census.ts';
import { askActor } from './ask-actor.ts';
import { defineOperation, ObjectOf, type Resource } from './operation.ts';
import { rowsOf } from './rows.ts';
import { ago, oneLine, table } from './text.ts';

const LISTED_MAX = 1_000;
const BODY_BYTES_MAX = 4 * TASK_CHARACTERS_MAX + 1_024;

const id = Type.String({ description: 'Id of the subagent' });

const list = defineOperation({
  name: 'subagents.list',
  scope: 'tenant',
  summary: 'List running subagents, newest first',
  params: Type.Object({
    session: Type.Optional(Type.String({ description: 'Only subagents of this session key' })),
    all: Type.Optional(
      Type.Boolean({ description: 'Also subagents that ended in the last 28 hours' }),
    ),
  }),
  result: Type.Object({ subagents: Type.Array(ObjectOf<SubagentRow>()) }),
  errors: ['INVALID_ARGUMENT'],
  http: {
    method: 'GET',
    path: '/v1/subagents',
    operationId: 'listSubagents',
    responses: { 200: 'At most 1,000, newest first' },
  },
  cli: {
    command: 'subagents list',
    flags: { session: '--session <key>' },
    print: ({ subagents }, { all = false }) => listText(subagents, all, Date.now()),
  },
  async run({ system, tenant }, { session, all = false }) {
    const prefix = session === undefined ? '' : subagentRowKey(session, '');
    const found: SubagentRow[] = [];
    for await (const row of rowsOf<SubagentRow>(system.index, SUBAGENTS_INDEX, tenant, prefix))
      if (all || isOpen(row)) found.push(row);
    found.sort((a, b) => b.createdAt - a.createdAt);
    return { subagents: found.slice(0, LISTED_MAX) };
  },
});

const census = defineOperation({
  name: 'subagents.census',
  scope: 'tenant',
  summary: 'Count subagents by state, and list those that run past their time limit',
  params: Type.Object({}),
  result: Type.Unsafe<SubagentCensus>(
    Type.Object({
      counts: ObjectOf(),
      open: Type.Array(ObjectOf()),
      unreported: Type.Integer(),
      overdue: Type.Integer(),
    }),
  ),
  errors: ['INVALID_ARGUMENT'],
  http: {
    method: 'GET',
    path: '/v1/subagents/census',
    operationId: 'countSubagents',
    responses: { 200: 'The census' },
  },
  cli: {
    command: 'subagents census',
    print: censusText,
    // More than two minutes past its time limit.
    isFailure: ({ overdue }) => overdue > 0,
  },
  async run({ system, tenant, now }) {
    const counted = new Census(now());
    await system.index.scan<SubagentRow, keyof CountedRow>(
      SUBAGENTS_INDEX,
      tenant,
      { fields: CENSUS_FIELDS },
      (row) => {
        counted.add(row);
      },
    );
    return counted.result();
  },
});

const kill = defineOperation({
  name: 'subagents.kill',
  scope: 'tenant',
  gatewayScope: 'operator.write',
  summary: 'End a subagent and every subagent that it started',
  params: Type.Object({
    id,
    reason: Type.String({
      minLength: 1,
      maxLength: 1_000,
      description: 'The reason, which its parent receives',
    }),
  }),
  result: Type.Object({ killed: Type.Array(Type.String()) }),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/subagents/{id}/kill',
    operationId: 'killSubagent',
    responses: { 200: 'Empty when it had already ended' },
    bodyBytesMax: BODY_BYTES_MAX,
  },
  cli: {
    command: 'subagents kill',
    args: ['id'],
    flags: { reason: '--reason <text>' },
    examples: ["troupe subagents kill 6f1c5f0e-… --reason 'the question is answered'"],
    print: ({ killed }, params) =>
      killed.length === 0 ? `${params.id} had already ended\n` : `${params.id} is ending\n`,
  },
  run: (context, params) =>
    askActor<{ killed: string[] }>(
      context,
      subagentAddress(context.tenant, params.id),
      { type: 'subagent.kill', reason: params.reason },
      { name: `subagent ${params.id}` },
    ),
});

const steer = defineOperation({
  name: 'subagents.steer',
  scope: 'tenant',
  gatewayScope: 'operator.write',
  summary: 'Send a message to a running subagent',
  params: Type.Object({
    id,
    text: Type.String({
      minLength: 1,
      maxLength: TASK_CHARACTERS_MAX,
      description: 'The message, which joins its run',
    }),
  }),
  result: Type.Object({ delivered: Type.Boolean() }),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/subagents/{id}/steer',
    operationId: 'steerSubagent',
    responses: { 200: 'Delivered' },
    bodyBytesMax: BODY_BYTES_MAX,
  },
  cli: {
    command: 'subagents steer',
    args: ['id', 'text'],
    print: (_, params) => `the message was delivered to ${params.id}\n`,
  },
  run: (context, params) =>
    askActor<{ delivered: boolean }>(
      context,
      subagentAddress(context.tenant, params.id),
      { type: 'subagent.steer', text: params.text },
      { name: `subagent ${params.id}` },
    ),
});

export const subagents: Resource = {
  name: 'subagents',
  operations: [list, census, kill, steer],
};

function listText(rows: readonly SubagentRow[], all: boolean, now: number): string {
  if (rows.length === 0) return all ? 'there are no subagents\n' : 'no subagent is running\n';
  const head = ['subagent', 'state', 'since', 'agent', 'parent', 'tokens', 'reported', 'task'];
  return table(
    head,
    rows.map((row) => [
      row.id,
      row.status,
      ago(now - (row.endedAt ?? row.startedAt ?? row.createdAt)),
      row.agentId,
      row.parent,
      tokensOf(row),
      row.reported ?? '',
      taskOf(row),
    ]),
  );
}

/** The last column, since the reason of a failure may be long. */
const taskOf = ({ label, task, reason }: SubagentRow): string =>
  oneLine(`${label ?? task}${reason === undefined ? '' : ` (${reason})`}`);

const tokensOf = ({ usage, tokens }: SubagentRow): string =>
  `${usage ? usage.inputTokens + usage.outputTokens : 0} of ${tokens}`;

function censusText({ counts, open, unreported, overdue }: SubagentCensus): string {
  const states = Object.entries(counts) as readonly [SubagentStatus, number][];
  const lines = states
    .filter(([, count]) => count > 0)
    .map(([state, count]) => [state, `${count}`]);
  const all = lines.length === 0 ? 'there are no subagents\n' : table(['state', 'count'], lines);
  const head = ['open', 'state', 'age', 'late', 'parent'];
  const running = open.length === 0 ? '' : `\n${table(head, open.map(openCells))}`;
  return `${all}${running}\n${unreported} ended and not reported yet, ${overdue} overdue\n`;
}

const openCells = ({ id: name, status, ageMs, ...more }: OpenSubagent): string[] => [
  name,
  status,
  ago(ageMs),
  more.isOverdue ? ago(more.lateMs) : '',
  more.parent,
];
