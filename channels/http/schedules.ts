/**
 * `/v1/schedules`: messages to sessions at later times, for operators: looked at, set, fired and
 * removed (AL11).
 *
 * Boundary: who is an operator is the caller's to say; nothing is read before that is known. The
 * schedule actor has the last word about what it is set to.
 */
import { randomUUID } from 'node:crypto';
import { Type } from '@sinclair/typebox';
import type { AgentRow } from '../../protocols/agent.ts';
import { checker } from '../../protocols/check.ts';
import { TroupeError } from '../../protocols/errors.ts';
import {
  JOB_ID,
  jobMessageKey,
  JOBS_MAX,
  keyedJobId,
  scheduleAddress,
  type ScheduleJob,
  ScheduleJobSchema,
  type ScheduleRow,
  SCHEDULES_INDEX,
} from '../../protocols/schedule.ts';
import type { SessionRow } from '../../protocols/session.ts';
import type { Message } from '../../protocols/statechart.ts';
import type { System } from '../../runtime/index.ts';
import { schemaFault } from '../edge/checks.ts';
import { agentOf } from '../gateway/sessions/session-key.ts';
import { checkModelChoice, type ModelRules } from '../model-choice.ts';
import { header, parseJson, type Route, type RouteRequest, sendJson } from './route.ts';

export type ScheduleRouteOptions = {
  readonly system: Pick<System, 'index' | 'ask'>;
  /** those of a tenant */
  readonly models: (tenant: string) => ModelRules;
  /** @throws TroupeError UNAUTHORIZED, FORBIDDEN unless an operator asks */
  readonly operator: (
    request: RouteRequest,
  ) => Promise<{ readonly sub: string /** default `default` */; readonly tenant?: string }>;
};

const BODY_BYTES_MAX = 65_536;
const ANSWER_MS = 20_000;
const KEY_CHARACTERS_MAX = 200;

const checkSet = checker(
  Type.Object(
    { jobId: Type.Optional(Type.String({ pattern: JOB_ID.source })), job: ScheduleJobSchema },
    { additionalProperties: false },
  ),
);

export const scheduleRoutes = (options: ScheduleRouteOptions): readonly Route[] => [
  { method: 'GET', path: '/v1/schedules', handle: (request) => list(options, request) },
  { method: 'POST', path: '/v1/schedules', handle: (request) => set(options, request) },
  {
    method: 'DELETE',
    path: '/v1/schedules/{id}',
    handle: (request) => tell(options, request, { type: 'schedule.remove' }),
  },
  {
    method: 'POST',
    path: '/v1/schedules/{id}/run',
    handle: (request) => tell(options, request, { type: 'schedule.run' }),
  },
  {
    method: 'GET',
    path: '/v1/schedules/{id}/runs',
    handle: (request) => tell(options, request, { type: 'schedule.runs' }),
  },
];

/** Those that fire next first; `?agent=` for those of one. */
async function list({ system, operator }: ScheduleRouteOptions, incoming: RouteRequest) {
  const tenant = tenantOf(await operator(incoming), incoming);
  const agent = incoming.query.get('agent');
  const schedules = rows(system, tenant)
    .filter(({ agentId }) => agent === null || agentId === agent)
    .toSorted((a, b) => (a.nextAt ?? Infinity) - (b.nextAt ?? Infinity));
  sendJson(incoming.response, 200, { schedules });
}

const rows = ({ index }: ScheduleRouteOptions['system'], tenant: string): ScheduleRow[] =>
  index.list<ScheduleRow>(SCHEDULES_INDEX, tenant, { limit: JOBS_MAX }).map(({ value }) => value);

/**
 * New, or instead of the job of that id. With an `Idempotency-Key` a repeat adds no second job and
 * gets the first answer.
 */
async function set(options: ScheduleRouteOptions, incoming: RouteRequest) {
  const { system, operator } = options;
  const who = await operator(incoming);
  const tenant = tenantOf(who, incoming);
  const body = checkSet(parseJson(await incoming.body(BODY_BYTES_MAX)));
  if (!body.ok) throw schemaFault('give a job: agentId, when and text', body.errors);
  const key = idempotencyKeyOf(incoming);
  const newId = key === undefined ? `job-${randomUUID().slice(0, 13)}` : keyedJobId(who.sub, key);
  const { jobId = newId, job } = body.value;
  checkRun(options, tenant, job);
  const isNew = system.index.get(SCHEDULES_INDEX, tenant, jobId) === undefined;
  if (isNew && rows(system, tenant).length >= JOBS_MAX)
    throw new TroupeError(
      'RATE_LIMIT_EXCEEDED',
      `there are ${JOBS_MAX} jobs already: remove one first`,
    );
  const result = await asked(
    system,
    { tenant, jobId, sub: who.sub, key },
    { type: 'schedule.put', job },
  );
  sendJson(incoming.response, 200, result);
}

/** @throws TroupeError NOT_FOUND for an unknown agent; INVALID_ARGUMENT for a run it cannot have */
function checkRun(
  { system: { index }, models }: ScheduleRouteOptions,
  tenant: string,
  { agentId, sessionKey, model, thinking }: ScheduleJob,
): void {
  const agent = index.get<AgentRow>('agents', tenant, agentId);
  if (agent === undefined) throw new TroupeError('NOT_FOUND', `there is no agent ${agentId}`);
  if (sessionKey !== undefined && agentOf(sessionKey) !== agentId)
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `/job/sessionKey is no session of this agent: write agent:${agentId}:NAME`,
    );
  const session = sessionKey && index.get<SessionRow>('sessions', tenant, sessionKey);
  const now = (session ? session.ownModel : undefined) ?? agent.model ?? '';
  const paths = { model: '/job/model', thinking: '/job/thinking' };
  checkModelChoice(models(tenant), { model, thinking }, now, paths);
}

async function tell(
  { system, operator }: ScheduleRouteOptions,
  incoming: RouteRequest,
  event: Message,
): Promise<void> {
  const who = await operator(incoming);
  const tenant = tenantOf(who, incoming);
  const jobId = incoming.params['id']!;
  const key = idempotencyKeyOf(incoming);
  const result = await asked(system, { tenant, jobId, sub: who.sub, key }, event);
  sendJson(incoming.response, 200, result);
}

type Asked = {
  readonly tenant: string;
  readonly jobId: string;
  readonly sub: string;
  /** idempotency key of the caller */
  readonly key: string | undefined;
};

async function asked(
  system: ScheduleRouteOptions['system'],
  { tenant, jobId, sub, key }: Asked,
  event: Message,
): Promise<unknown> {
  const options = {
    principal: { sub, roles: ['operator'] },
    timeoutMs: ANSWER_MS,
    ...(key === undefined ? {} : { key: jobMessageKey(sub, event.type, key) }),
  };
  const answer = await system.ask(scheduleAddress(tenant, jobId), event, options);
  if (answer.kind === 'answered') return answer.result;
  if (answer.kind === 'refused') throw TroupeError.from(answer.error);
  throw new TroupeError('DEADLINE_EXCEEDED', `job ${jobId} did not answer; look at the list`);
}

/** The header `Idempotency-Key`. @throws TroupeError INVALID_ARGUMENT */
function idempotencyKeyOf({ request }: RouteRequest): string | undefined {
  const key = header(request, 'idempotency-key');
  if (key === undefined || (key.length > 0 && key.length <= KEY_CHARACTERS_MAX)) return key;
  const text = `Idempotency-Key must have 1 to ${KEY_CHARACTERS_MAX} characters`;
  throw new TroupeError('INVALID_ARGUMENT', text);
}

/** `?tenant=`: operators look after every tenant. @throws TroupeError INVALID_ARGUMENT */
function tenantOf({ tenant = 'default' }: { tenant?: string }, { query }: RouteRequest): string {
  const named = query.get('tenant') ?? tenant;
  scheduleAddress(named, 'any');
  return named;
}
