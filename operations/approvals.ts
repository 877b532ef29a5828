/**
 * Approvals: questions that an operator decides. The approval actor accepts the first decision and
 * refuses later ones; lists use committed rows and activate no actor.
 */
import { Type } from '@sinclair/typebox';
import {
  type ApprovalRow,
  APPROVALS_INDEX,
  approvalAddress,
  APPROVER_ROLE,
} from '../protocols/approval.ts';
import { defined } from '../protocols/defined.ts';
import { askActor } from './ask-actor.ts';
import { defineOperation, ObjectOf, type Resource } from './operation.ts';
import { rowsOf } from './rows.ts';
import { ago, oneLine, table } from './text.ts';

const LISTED_MAX = 1_000;

const Approval = ObjectOf<ApprovalRow>();

const list = defineOperation({
  name: 'approvals.list',
  scope: 'tenant',
  gatewayScope: 'operator.approvals',
  summary: 'List pending approvals, longest waiting first',
  params: Type.Object({
    state: Type.Optional(
      Type.Union(
        [
          Type.Literal('asked'),
          Type.Literal('allowed'),
          Type.Literal('denied'),
          Type.Literal('expired'),
          Type.Literal('all'),
        ],
        { default: 'asked', description: 'Approvals in this state' },
      ),
    ),
  }),
  result: Type.Object({ approvals: Type.Array(Approval) }),
  errors: ['INVALID_ARGUMENT'],
  http: {
    method: 'GET',
    path: '/v1/approvals',
    operationId: 'listApprovals',
    responses: { 200: 'At most 1,000, longest waiting first' },
  },
  cli: {
    command: 'approvals list',
    flags: { state: '--state <state>' },
    examples: ['troupe approvals', 'troupe approvals list --state all'],
    print: ({ approvals: rows }) => listText(rows, Date.now()),
  },
  async run({ system, tenant }, { state = 'asked' }) {
    const found: ApprovalRow[] = [];
    for await (const row of rowsOf<ApprovalRow>(system.index, APPROVALS_INDEX, tenant))
      if (state === 'all' || row.state === state) found.push(row);
    found.sort((a, b) => (a.asked_at < b.asked_at ? -1 : 1));
    return { approvals: found.slice(0, LISTED_MAX) };
  },
});

const answer = defineOperation({
  name: 'approvals.answer',
  scope: 'tenant',
  gatewayScope: 'operator.approvals',
  summary: 'Decide an approval; the first decision counts',
  params: Type.Object({
    id: Type.String({ description: 'Id of the approval' }),
    decision: Type.String({
      minLength: 1,
      maxLength: 32,
      description: 'One of its options, such as allow-once or deny',
    }),
    why: Type.Optional(
      Type.String({ minLength: 1, maxLength: 4_096, description: 'The reason, which is recorded' }),
    ),
  }),
  result: Approval,
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/approvals/{id}',
    operationId: 'answerApproval',
    responses: { 200: 'The decided approval; CONFLICT names an earlier decision' },
  },
  cli: {
    command: 'approvals answer',
    args: ['id', 'decision'],
    flags: { why: '--why <text>' },
    examples: [
      "troupe approvals answer 7f3c.1 skip --why 'the mail cannot be recalled'",
      'troupe approvals answer r8.call_1 allow-once',
      "troupe approvals answer r8.call_1 allow-always --why 'it only reads'",
    ],
    print: ({ id, state, decision, decided_by }) =>
      `${id} is ${state}: ${decision} by ${decided_by}\n`,
  },
  run: (context, { id, decision, why }) =>
    askActor<ApprovalRow>(
      context,
      approvalAddress(context.tenant, id),
      { type: 'approval.answer', decision, ...defined({ why }) },
      { name: `approval ${id}`, roles: [APPROVER_ROLE] },
    ),
});

export const approvals: Resource = {
  name: 'approvals',
  operations: [list, answer],
};

function listText(rows: readonly ApprovalRow[], now: number): string {
  if (rows.length === 0) return 'no approval is pending\n';
  const head = ['approval', 'state', 'asked', 'until', 'by', 'answers', 'title'];
  const details = rows
    .filter(({ detail }) => detail !== '')
    .map(({ id, detail }) => `\n${id}\n${detail.replaceAll(/^/gm, '  ')}\n`);
  return (
    table(
      head,
      rows.map((row) => cells(row, now)),
    ) + details.join('')
  );
}

const cells = (row: ApprovalRow, now: number): string[] => [
  row.id,
  row.state,
  `${ago(now - Date.parse(row.asked_at))} ago`,
  row.state === 'asked' ? `in ${ago(Date.parse(row.expires_at) - now)}` : '',
  requesterOf(row),
  row.state === 'asked' ? row.options.map(({ name }) => name).join(', ') : decisionOf(row),
  oneLine(row.title),
];

/** An actor by its type and key, as `session agent:main:main`; a user by name. */
function requesterOf({ by }: ApprovalRow): string {
  const [, type, ...key] = by.split('/');
  return type === undefined ? by : `${type} ${key.join('/')}`;
}

const decisionOf = ({ decision, decided_by }: ApprovalRow): string =>
  decision === undefined ? '' : `${decision} by ${decided_by}`;
