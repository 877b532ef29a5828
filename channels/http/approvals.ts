/**
 * `/v1/approvals`: what waits for a person's word, for operators: looked at and answered (EN13).
 *
 * Boundary: who is an operator is the caller's to say; nothing is read before that is known. The
 * approval actor has the last word: the first answer counts.
 */
import { Type } from '@sinclair/typebox';
import {
  type ApprovalRow,
  APPROVALS_INDEX,
  approvalAddress,
  APPROVER_ROLE,
} from '../../protocols/approval.ts';
import { checker } from '../../protocols/check.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { System } from '../../runtime/index.ts';
import { schemaFault } from '../edge/checks.ts';
import { parseJson, type Route, type RouteRequest, sendJson } from './route.ts';

export type ApprovalRouteOptions = {
  readonly system: Pick<System, 'index' | 'ask'>;
  /** @throws TroupeError UNAUTHORIZED, FORBIDDEN unless an operator asks */
  readonly operator: (
    request: RouteRequest,
  ) => Promise<{ readonly sub: string /** default `default` */; readonly tenant?: string }>;
};

const PAGE = 1_000;
const BODY_BYTES_MAX = 16_384;
const ANSWER_MS = 20_000;
const STATES = ['asked', 'allowed', 'denied', 'expired'] as const;

const checkAnswer = checker(
  Type.Object(
    {
      decision: Type.String({ minLength: 1, maxLength: 32 }),
      why: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096 })),
    },
    { additionalProperties: false },
  ),
);

export const approvalRoutes = (options: ApprovalRouteOptions): readonly Route[] => [
  { method: 'GET', path: '/v1/approvals', handle: (request) => list(options, request) },
  { method: 'POST', path: '/v1/approvals/{id}', handle: (request) => answer(options, request) },
];

/** Those that wait, the longest waiting first; `?state=all` or one state for others. */
async function list(options: ApprovalRouteOptions, incoming: RouteRequest): Promise<void> {
  const tenant = tenantOf(await options.operator(incoming), incoming);
  const state = incoming.query.get('state') ?? 'asked';
  if (state !== 'all' && !STATES.some((one) => one === state))
    throw new TroupeError('INVALID_ARGUMENT', `state is all or one of ${STATES.join(', ')}`);
  const approvals: ApprovalRow[] = [];
  for (const row of rows(options.system.index, tenant))
    if (state === 'all' || row.state === state) approvals.push(row);
  approvals.sort((a, b) => (a.asked_at < b.asked_at ? -1 : 1));
  sendJson(incoming.response, 200, { approvals: approvals.slice(0, PAGE) });
}

/** `?tenant=`: operators answer for every tenant. @throws TroupeError INVALID_ARGUMENT */
function tenantOf({ tenant = 'default' }: { tenant?: string }, { query }: RouteRequest): string {
  const named = query.get('tenant') ?? tenant;
  approvalAddress(named, 'any');
  return named;
}

function* rows(index: System['index'], tenant: string): Generator<ApprovalRow> {
  for (let after: string | undefined; ; ) {
    const page = index.list<ApprovalRow>(APPROVALS_INDEX, tenant, {
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    });
    for (const { value } of page) yield value;
    if (page.length < PAGE) return;
    after = page.at(-1)!.key;
  }
}

/** The approval as it is now; CONFLICT that says whose word counted when it was decided before. */
async function answer(options: ApprovalRouteOptions, incoming: RouteRequest): Promise<void> {
  const who = await options.operator(incoming);
  const { sub } = who;
  const tenant = tenantOf(who, incoming);
  const id = incoming.params['id']!;
  const body = checkAnswer(parseJson(await incoming.body(BODY_BYTES_MAX)));
  if (!body.ok) throw schemaFault('give a decision, and why if you like', body.errors);
  const told = await options.system.ask(
    approvalAddress(tenant, id),
    { type: 'approval.answer', ...body.value },
    { principal: { sub, roles: [APPROVER_ROLE] }, timeoutMs: ANSWER_MS },
  );
  if (told.kind === 'refused') throw TroupeError.from(told.error);
  if (told.kind === 'timeout')
    throw new TroupeError('DEADLINE_EXCEEDED', `approval ${id} did not answer; look at the list`);
  sendJson(incoming.response, 200, told.result);
}
