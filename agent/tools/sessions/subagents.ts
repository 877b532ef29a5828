/**
 * `subagents`: lists, messages and stops the subagents of the calling session.
 *
 * Invariants: a session reaches only its own subagents, which are read from committed rows.
 * Messages and stops use the call's key.
 */
import { type Static, Type } from '@sinclair/typebox';
import { address } from '../../../protocols/address.ts';
import { defined } from '../../../protocols/defined.ts';
import {
  type SubagentRow,
  SUBAGENTS_INDEX,
  subagentAddress,
  subagentRowKey,
} from '../../../protocols/subagent.ts';
import { answerOf, said } from './repeatable-ask.ts';
import { defineTool, type ToolContext, type ToolResult } from '../tool.ts';

/** Maximum number of listed subagents: active ones first, then the newest. */
const SHOWN_MAX = 50;
/** Number of rows read concurrently. */
const PAGE = 1_000;
const TEXT_CHARACTERS_MAX = 16_384;

const Parameters = Type.Object(
  {
    action: Type.Union(
      ['list', 'status', 'steer', 'kill'].map((action) => Type.Literal(action)),
      {
        description:
          'list: all of yours. status: one of them. steer: send a message to one while it works. kill: stop one with all below it, or `all`.',
      },
    ),
    id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 120,
        description: 'id from list, or a unique prefix, or a label; for kill also all',
      }),
    ),
    message: Type.Optional(
      Type.String({ minLength: 1, maxLength: TEXT_CHARACTERS_MAX, description: 'of steer' }),
    ),
    reason: Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'of kill' })),
  },
  { additionalProperties: false },
);
type Arguments = Static<typeof Parameters>;

export const subagentsTool = defineTool({
  name: 'subagents',
  groups: ['sessions'],
  description:
    'Lists, shows, steers and stops the subagents of this session. You receive their results as messages without asking.',
  parameters: Parameters,
  class: 'keyed',
  classOf: ({ action }) => (action === 'list' || action === 'status' ? 'repeatable' : 'keyed'),
  parallel: false,
  async run(args, context) {
    const rows = await ownRows(context);
    if (args.action === 'list') return list(rows, context.now);
    if (args.action === 'kill' && args.id === 'all') return kill(undefined, args, context);
    const found = oneOf(rows, args.id);
    if (!('row' in found)) return said(found, true);
    if (args.action === 'status') return said(shown(found.row, context.now));
    if (isEnded(found.row)) return said(ended(found.row), true);
    return args.action === 'kill'
      ? kill(found.row.id, args, context)
      : steer(found.row, args, context);
  },
});

async function ownRows({ system, tenant, sessionKey }: ToolContext): Promise<SubagentRow[]> {
  const index = await system.index();
  const prefix = subagentRowKey(sessionKey, '');
  const rows: SubagentRow[] = [];
  let after: string | undefined;
  for (;;) {
    const options = { prefix, limit: PAGE, ...defined({ after }) };
    const page = index.list<SubagentRow>(SUBAGENTS_INDEX, tenant, options);
    // a session key may contain the separator of row keys, so rows of another session may have our
    // prefix
    rows.push(...page.flatMap(({ value }) => (value.parent === sessionKey ? [value] : [])));
    if (page.length < PAGE) return rows;
    after = page.at(-1)!.key;
  }
}

const isEnded = ({ status }: SubagentRow): boolean =>
  status !== 'reserved' && status !== 'starting' && status !== 'running';

function list(rows: readonly SubagentRow[], now: number): ToolResult {
  const active = rows.filter((row) => !isEnded(row)).length;
  const inOrder = rows.toSorted(
    (a, b) => Number(isEnded(a)) - Number(isEnded(b)) || b.createdAt - a.createdAt,
  );
  const subagents = inOrder.slice(0, SHOWN_MAX).map((row) => shown(row, now));
  const more = rows.length - subagents.length;
  return said({ count: rows.length, active, subagents, ...(more > 0 ? { notShown: more } : {}) });
}

type Found =
  | { readonly row: SubagentRow }
  | { readonly status: string; readonly error: string; readonly candidates?: readonly string[] };

/** By id, otherwise by label, otherwise by a unique prefix of an id or label. */
function oneOf(rows: readonly SubagentRow[], name: string | undefined): Found {
  if (name === undefined) return { status: 'invalid', error: 'say which: `id`' };
  const ways: readonly ((row: SubagentRow) => boolean)[] = [
    ({ id, sessionKey }) => id === name || sessionKey === name,
    ({ label }) => label === name,
    ({ id, label }) => id.startsWith(name) || label?.startsWith(name) === true,
  ];
  const meant = ways.map((fits) => rows.filter(fits)).find((fitting) => fitting.length > 0) ?? [];
  // prefers the active subagent when several have the label
  const going = meant.filter((row) => !isEnded(row));
  const [row, other] = going.length === 1 ? going : meant;
  if (!row) return { status: 'not_found', error: `this session has no subagent ${name}` };
  if (!other) return { row };
  const candidates = meant.slice(0, 10).map(({ id }) => id);
  return { status: 'ambiguous', error: `${meant.length} subagents match ${name}`, candidates };
}

const ended = ({ id, status }: SubagentRow) => ({
  status: 'refused',
  id,
  error: `it has already ended (${status})`,
});

async function kill(
  id: string | undefined,
  { reason = 'killed by its parent' }: Arguments,
  context: ToolContext,
): Promise<ToolResult> {
  const { tenant, sessionKey } = context;
  const event = { type: 'session.kill', reason, ...defined({ id }) };
  const answer = await answerOf(context, address(tenant, 'session', sessionKey), event);
  if (answer.kind === 'answered') return said({ status: 'ok', ...Object(answer.result) });
  const { code, message } = answer.error;
  return said({ status: 'error', code, error: message }, true);
}

async function steer(
  { id, label }: SubagentRow,
  { message }: Arguments,
  context: ToolContext,
): Promise<ToolResult> {
  if (message === undefined)
    return said({ status: 'invalid', error: 'steer requires `message`' }, true);
  const event = { type: 'subagent.steer', text: message };
  const answer = await answerOf(context, subagentAddress(context.tenant, id), event);
  const about = { id, ...defined({ label }) };
  if (answer.kind === 'answered') return said({ status: 'ok', ...about, ...Object(answer.result) });
  const { code, message: error } = answer.error;
  return said({ status: 'refused', ...about, code, error }, true);
}

function shown(row: SubagentRow, now: number): object {
  const { id, sessionKey, runId, agentId, status, task, tokens, createdAt } = row;
  const { label, reason, usage, startedAt, endedAt, reported } = row;
  const duration = startedAt === undefined ? undefined : (endedAt ?? now) - startedAt;
  const value = { id, label, agentId, status, reason, task, sessionKey, runId };
  const used = usage && usage.inputTokens + usage.outputTokens;
  const times = { createdAt: iso(createdAt), startedAt: iso(startedAt), endedAt: iso(endedAt) };
  // JSON omits undefined fields
  return {
    ...value,
    tokensGranted: tokens,
    tokensUsed: used,
    costUsd: usage?.costUsd,
    ...times,
    duration,
    reported,
  };
}

const iso = (at: number | undefined): string | undefined =>
  at === undefined ? undefined : new Date(at).toISOString();
