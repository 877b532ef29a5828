/**
 * `/v1/subagents`: agents that work for others, for operators: looked at, counted, told something
 * and ended (AA7).
 *
 * Boundary: who is an operator is the caller's to say; nothing is read before that is known. Lists
 * and counts are committed rows and wake nobody; the subagent actor has the last word.
 */
import { Type } from '@sinclair/typebox';
import { checker } from '../../protocols/check.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Message } from '../../protocols/statechart.ts';
import {
  subagentAddress,
  type SubagentRow,
  subagentRowKey,
  SUBAGENTS_INDEX,
  TASK_CHARACTERS_MAX,
} from '../../protocols/subagent.ts';
import { Census, CENSUS_FIELDS, type CountedRow, isOpen } from '../../protocols/subagent-census.ts';
import type { System } from '../../runtime/index.ts';
import { schemaFault } from '../edge/checks.ts';
import { parseJson, type Route, type RouteRequest, sendJson } from './route.ts';

export type SubagentRouteOptions = {
  readonly system: Pick<System, 'index' | 'ask'>;
  /** @throws TroupeError UNAUTHORIZED, FORBIDDEN unless an operator asks */
  readonly operator: (
    request: RouteRequest,
  ) => Promise<{ readonly sub: string /** default `default` */; readonly tenant?: string }>;
  /** epoch milliseconds */
  readonly now: () => number;
};

const LISTED_MAX = 1_000;
const PAGE = 1_000;
const BODY_BYTES_MAX = 4 * TASK_CHARACTERS_MAX + 1_024;
const ANSWER_MS = 20_000;

const checkKill = checker(
  Type.Object(
    { reason: Type.String({ minLength: 1, maxLength: 1_000 }) },
    { additionalProperties: false },
  ),
);
const checkSteer = checker(
  Type.Object(
    { text: Type.String({ minLength: 1, maxLength: TASK_CHARACTERS_MAX }) },
    { additionalProperties: false },
  ),
);

export const subagentRoutes = (options: SubagentRouteOptions): readonly Route[] => [
  { method: 'GET', path: '/v1/subagents', handle: (request) => list(options, request) },
  { method: 'GET', path: '/v1/subagents/census', handle: (request) => census(options, request) },
  {
    method: 'POST',
    path: '/v1/subagents/{id}/kill',
    handle: (request) => tell(options, request, killOf),
  },
  {
    method: 'POST',
    path: '/v1/subagents/{id}/steer',
    handle: (request) => tell(options, request, steerOf),
  },
];

function killOf(body: Uint8Array): Message {
  const given = checkKill(parseJson(body));
  if (!given.ok) throw schemaFault('give a reason', given.errors);
  return { type: 'subagent.kill', reason: given.value.reason };
}
function steerOf(body: Uint8Array): Message {
  const given = checkSteer(parseJson(body));
  if (!given.ok) throw schemaFault('give the text that it is told', given.errors);
  return { type: 'subagent.steer', text: given.value.text };
}

/** Those that go on, the newest first; `?session=` of one parent, `?all=true` with the ended. */
async function list({ system, operator }: SubagentRouteOptions, incoming: RouteRequest) {
  const tenant = tenantOf(await operator(incoming), incoming);
  const { query, response } = incoming;
  const session = query.get('session');
  const all = query.get('all') === 'true';
  const subagents: SubagentRow[] = [];
  for (const row of rows(system.index, tenant, session === null ? '' : subagentRowKey(session, '')))
    if (all || isOpen(row)) subagents.push(row);
  subagents.sort((a, b) => b.createdAt - a.createdAt);
  sendJson(response, 200, { subagents: subagents.slice(0, LISTED_MAX) });
}

function* rows(index: System['index'], tenant: string, prefix: string): Generator<SubagentRow> {
  for (let after: string | undefined; ; ) {
    const page = index.list<SubagentRow>(SUBAGENTS_INDEX, tenant, {
      prefix,
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    });
    for (const { value } of page) yield value;
    if (page.length < PAGE) return;
    after = page.at(-1)!.key;
  }
}

async function census({ system, operator, now }: SubagentRouteOptions, incoming: RouteRequest) {
  const tenant = tenantOf(await operator(incoming), incoming);
  const counted = new Census(now());
  const fields = { fields: CENSUS_FIELDS };
  await system.index.scan<SubagentRow, keyof CountedRow>(SUBAGENTS_INDEX, tenant, fields, (row) => {
    counted.add(row);
  });
  sendJson(incoming.response, 200, counted.result());
}

async function tell(
  { system, operator }: SubagentRouteOptions,
  incoming: RouteRequest,
  eventOf: (body: Uint8Array) => Message,
): Promise<void> {
  const who = await operator(incoming);
  const tenant = tenantOf(who, incoming);
  const id = incoming.params['id']!;
  const event = eventOf(await incoming.body(BODY_BYTES_MAX));
  const options = { principal: { sub: who.sub, roles: ['operator'] }, timeoutMs: ANSWER_MS };
  const answer = await system.ask(subagentAddress(tenant, id), event, options);
  if (answer.kind === 'refused') throw TroupeError.from(answer.error);
  if (answer.kind === 'timeout')
    throw new TroupeError('DEADLINE_EXCEEDED', `subagent ${id} did not answer; look at the list`);
  sendJson(incoming.response, 200, answer.result);
}

/** `?tenant=`: operators look after every tenant. @throws TroupeError INVALID_ARGUMENT */
function tenantOf({ tenant = 'default' }: { tenant?: string }, { query }: RouteRequest): string {
  const named = query.get('tenant') ?? tenant;
  subagentAddress(named, 'any');
  return named;
}
