/**
 * `/v1/decisions`: tasks that go on only by a person's word, for operators: work whose outcome was
 * lost (UNKNOWN), and compensations that failed for good (EN7, EN8). The task itself has the last
 * word on what may be decided.
 *
 * Boundary: who is an operator is the caller's to say; nothing is read before that is known.
 */
import { Type } from '@sinclair/typebox';
import { checker } from '../../protocols/check.ts';
import { TroupeError } from '../../protocols/errors.ts';
import {
  taskAddress,
  type TaskDecide,
  type TaskRow,
  TASKS_INDEX,
  type TaskView,
} from '../../protocols/task.ts';
import type { System } from '../../runtime/index.ts';
import { schemaFault } from '../edge/checks.ts';
import { sendTask } from './envelopes.ts';
import { jsonBytes, parseJson, type Route, type RouteRequest, sendJson } from './route.ts';

export type DecisionRouteOptions = {
  readonly system: Pick<System, 'index' | 'ask'>;
  /** @throws TroupeError UNAUTHORIZED, FORBIDDEN unless an operator asks */
  readonly operator: (request: RouteRequest) => Promise<{ readonly sub: string }>;
  /** whose tasks are meant when a request names nobody */
  readonly tenant: string;
};

const LISTED_MAX = 1_000;
/** Rows that are looked at before others have their turn: a tenant may have millions. */
const SLICE = 500;
const BODY_BYTES_MAX = 262_144;
const ANSWER_MS = 20_000;

const checkDecision = checker(
  Type.Object(
    {
      decision: Type.Union([
        Type.Literal('again'),
        Type.Literal('done'),
        Type.Literal('failed'),
        Type.Literal('accept'),
      ]),
      why: Type.String({ minLength: 1, maxLength: 1_024 }),
      /** of the work, with `done` */
      result: Type.Optional(Type.Unknown()),
    },
    { additionalProperties: false },
  ),
  { secret: /^\/result/ },
);

export const decisionRoutes = (options: DecisionRouteOptions): readonly Route[] => [
  { method: 'GET', path: '/v1/decisions', handle: (request) => list(options, request) },
  {
    method: 'POST',
    path: '/v1/decisions/{task_id}',
    handle: (request) => decide(options, request),
  },
];

/** The longest waiting first; the first that are found, where they are too many. */
async function list(options: DecisionRouteOptions, incoming: RouteRequest): Promise<void> {
  await options.operator(incoming);
  const tasks: TaskView[] = [];
  for await (const view of viewsOf(options.system.index, tenantOf(options, incoming))) {
    if (view.waiting?.for === 'decision') tasks.push(view);
    if (tasks.length === LISTED_MAX) break;
  }
  tasks.sort((a, b) => (a.waiting!.since < b.waiting!.since ? -1 : 1));
  sendJson(incoming.response, 200, { tasks });
}

async function* viewsOf(index: System['index'], tenant: string): AsyncGenerator<TaskView> {
  for (let after: string | undefined; ; ) {
    const page = index.list<TaskRow>(TASKS_INDEX, tenant, {
      limit: SLICE,
      ...(after === undefined ? {} : { after }),
    });
    for (const { value } of page) yield value.view;
    if (page.length < SLICE) return;
    after = page.at(-1)!.key;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The task as it is then; what was decided may take longer to come about. */
async function decide(options: DecisionRouteOptions, incoming: RouteRequest): Promise<void> {
  const { sub } = await options.operator(incoming);
  const tenant = tenantOf(options, incoming);
  const taskId = incoming.params['task_id']!;
  const body = checkDecision(parseJson(await jsonBytes(incoming, BODY_BYTES_MAX)));
  if (!body.ok) throw schemaFault('give a decision and why', body.errors);
  const { why, ...rest } = body.value;
  const event: TaskDecide = { type: 'task.decide', ...rest, why: `${why} (${sub})` };
  const told = await options.system.ask(taskAddress(tenant, taskId), event, {
    principal: { sub, roles: ['operator'] },
    timeoutMs: ANSWER_MS,
  });
  if (told.kind === 'refused') throw TroupeError.from(told.error);
  if (told.kind === 'answered') return sendTask(incoming.response, told.result as TaskView);
  const row = options.system.index.get<TaskRow>(TASKS_INDEX, tenant, taskId);
  if (row) return sendTask(incoming.response, row.view);
  throw new TroupeError('DEADLINE_EXCEEDED', `the task ${taskId} did not answer; look at the list`);
}

const tenantOf = ({ tenant }: DecisionRouteOptions, { query }: RouteRequest): string => {
  const named = query.get('tenant') ?? tenant;
  // Throws where the name is none of a tenant.
  taskAddress(named, 'any');
  return named;
};
