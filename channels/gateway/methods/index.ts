/**
 * Every method of the gateway, and the one way a request takes: known, allowed, of the right shape,
 * run, answered. Nothing a client sends makes this throw.
 */
import { type TSchema, Type } from '@sinclair/typebox';
import { type CheckAnswer, checker, describeErrors } from '../../../protocols/check.ts';
import { errorData, TroupeError } from '../../../protocols/errors.ts';
import {
  checkParams,
  type GatewayErrorShape,
  GatewayMethods,
  type GatewayMethodName,
  type GatewayParams,
  gatewayError,
  type RequestFrame,
  type Scope,
} from '../../../protocols/gateway/index.ts';
import type { Connection } from '../connection.ts';
import type { Door } from '../door.ts';
import { REQUESTS_OPEN_MAX } from '../limits.ts';
import { agent, agentWait } from './agent.ts';
import { approvalGet, approvalList, approvalResolve } from './approvals.ts';
import { chatAbort, chatHistory, chatSend } from './chat.ts';
import { agentsList, health, modelsList, status, systemPresence } from './health.ts';
import { ANSWERED, type Request } from './request.ts';
import { sessionsDelete } from './session-delete.ts';
import { sessionsCompact, sessionsPatch, sessionsReset } from './session-settings.ts';
import { sessionsList } from './sessions.ts';

type Method = {
  readonly scope: Scope | null;
  readonly check: (params: unknown) => CheckAnswer<unknown>;
  /** `params` has passed `check` */
  readonly run: (request: Request, params: never) => unknown;
};

type PublicMethod = Exclude<GatewayMethodName, 'connect'>;

/** A method of the protocol table: its params and scope stand there. */
const published = <M extends PublicMethod>(
  name: M,
  run: (request: Request, params: GatewayParams<M>) => unknown,
): [string, Method] => [
  name,
  {
    scope: GatewayMethods[name].scope,
    check: (params) => checkParams(name, params),
    run,
  },
];

/** A method for clients of OpenClaw whose hints we do not need. */
const reading = (
  name: string,
  params: TSchema,
  run: (request: Request) => unknown,
): [string, Method] => {
  const check = checker(params);
  return [name, { scope: 'operator.read', check: (given) => check(given ?? {}), run }];
};

const NoParams = Type.Object({}, { additionalProperties: false });
const AnyParams = Type.Object({});

const METHODS: ReadonlyMap<string, Method> = new Map([
  published('agent', agent),
  published('agent.wait', agentWait),
  published('chat.send', chatSend),
  published('chat.history', chatHistory),
  published('chat.abort', chatAbort),
  published('sessions.list', sessionsList),
  published('sessions.reset', sessionsReset),
  published('sessions.compact', sessionsCompact),
  published('sessions.patch', sessionsPatch),
  published('sessions.delete', sessionsDelete),
  published('exec.approval.list', approvalList),
  published('exec.approval.get', approvalGet),
  published('exec.approval.resolve', approvalResolve),
  published('health', health),
  published('status', status),
  reading('agents.list', NoParams, agentsList),
  reading('models.list', AnyParams, modelsList),
  reading('system-presence', AnyParams, systemPresence),
]);

/** Told in `hello-ok`. */
export const METHOD_NAMES: readonly string[] = [...METHODS.keys()];

/** Serves one request of a client that has said hello. Never rejects. */
export const serve = async (
  door: Door,
  connection: Connection,
  frame: RequestFrame,
): Promise<void> => {
  const request: Request = {
    door,
    connection,
    id: frame.id,
    traceId: /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(frame.traceparent ?? '')?.[1],
  };
  connection.openRequests++;
  try {
    const method = allowed(connection, frame.method);
    const checked = method.check(frame.params);
    if (!checked.ok) throw invalidParams(frame.method, checked.errors);
    const result = await method.run(request, checked.value as never);
    if (result !== ANSWERED) connection.respond(frame.id, result);
  } catch (thrown) {
    if (!(thrown instanceof TroupeError)) {
      door.log.error({ err: thrown, method: frame.method }, 'gateway: a method failed');
    }
    connection.refuse(frame.id, errorShape(thrown));
  } finally {
    connection.openRequests--;
  }
};

/**
 * @throws TroupeError when there is no such method, or not for this client, or it asks too much at
 * once
 */
const allowed = ({ client, openRequests }: Connection, name: string): Method => {
  const method = METHODS.get(name);
  if (method === undefined) {
    throw new TroupeError('INVALID_ARGUMENT', `unknown method: ${name.slice(0, 200)}`);
  }
  if (openRequests > REQUESTS_OPEN_MAX) {
    throw new TroupeError(
      'RATE_LIMIT_EXCEEDED',
      `more than ${REQUESTS_OPEN_MAX} requests of this connection wait for their answer: wait for some`,
      { retryAfterMs: 1000 },
    );
  }
  if (method.scope !== null && !holds(client?.scopes ?? [], method.scope)) {
    throw new TroupeError('FORBIDDEN', `missing scope: ${method.scope}`, {
      details: {
        code: 'MISSING_SCOPE',
        missingScope: method.scope,
        requiredScopes: [method.scope],
      },
    });
  }
  return method;
};

/** admin may do everything, and who may write may read. */
const holds = (scopes: readonly Scope[], scope: Scope): boolean =>
  scopes.includes(scope) ||
  scopes.includes('operator.admin') ||
  (scope === 'operator.read' && scopes.includes('operator.write'));

const invalidParams = (method: string, errors: Parameters<typeof describeErrors>[0]): TroupeError =>
  new TroupeError('INVALID_ARGUMENT', `invalid ${method} params: ${describeErrors(errors)}`, {
    details: { errors },
  });

const errorShape = (thrown: unknown): GatewayErrorShape => gatewayError(errorData(thrown));
