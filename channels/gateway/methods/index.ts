/**
 * The method table, and how a request is served: find the method, check the client's scope,
 * validate the parameters, run the method, send the result. No input of a client makes it throw.
 */
import { describeErrors } from '../../../protocols/check.ts';
import { errorData, TroupeError } from '../../../protocols/errors.ts';
import {
  type GatewayErrorShape,
  gatewayError,
  type RequestFrame,
} from '../../../protocols/gateway/index.ts';
import type { Client, Connection } from '../transport/connection.ts';
import type { Logger } from '../log.ts';
import type { AuditTrail } from '../tenant/audit-trail.ts';
import { REQUESTS_OPEN_MAX } from '../limits.ts';
import { includesScope } from '../../../operations/devices/scopes.ts';
import { runTable } from './chat/agent.ts';
import { approvalRecordTable } from './approvals/approval-records.ts';
import { approvalTable } from './approvals/approvals.ts';
import { auditTable } from './audit.ts';
import { chatMoreTable } from './chat/chat-more.ts';
import { chatTable } from './chat/chat.ts';
import { cronTable } from './cron/cron.ts';
import { deviceTable } from './devices/devices.ts';
import { systemTable } from './health.ts';
import type { Method } from './method.ts';
import type { MethodContext } from './method-context.ts';
import { operationTable } from './operations.ts';
import { nodeTable } from './devices/nodes.ts';
import { ANSWERED, type Request } from './request.ts';
import { resumeTable } from './resume.ts';
import { sessionReadTable } from './sessions/session-reads.ts';
import { sessionSettingTable } from './sessions/session-settings.ts';
import { sessionWorkTable } from './sessions/session-work.ts';
import { setupTable } from './setup.ts';
import { workTable } from './work.ts';

const METHODS: ReadonlyMap<string, Method<MethodContext>> = new Map<string, Method<MethodContext>>([
  ...runTable,
  ...chatTable,
  ...chatMoreTable,
  ...sessionReadTable,
  ...sessionWorkTable,
  ...sessionSettingTable,
  ...approvalTable,
  ...approvalRecordTable,
  ...deviceTable,
  ...nodeTable,
  ...cronTable,
  ...workTable,
  ...setupTable,
  ...systemTable,
  ...resumeTable,
  ...auditTable,
  ...operationTable,
]);

/** Sent to clients in `hello-ok`. */
export const METHOD_NAMES: readonly string[] = [...METHODS.keys()];

export type ServeParts = {
  readonly context: MethodContext;
  readonly audit: Pick<AuditTrail, 'begin' | 'ended'>;
  readonly log: Logger;
};

/** Serves one request of a connection that completed the handshake. Never rejects. */
export const serve = async (
  { context, audit, log }: ServeParts,
  connection: Connection,
  frame: RequestFrame,
): Promise<void> => {
  const request: Request<MethodContext> = {
    context,
    connection,
    id: frame.id,
    traceId: /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(frame.traceparent ?? '')?.[1],
  };
  connection.openRequests++;
  try {
    const result = await runAudited(audit, request, frame);
    if (result !== ANSWERED) connection.respond(frame.id, result);
  } catch (thrown) {
    if (!(thrown instanceof TroupeError)) {
      log.error({ err: thrown, method: frame.method }, 'gateway: a method failed');
    }
    connection.refuse(frame.id, errorShape(thrown));
  } finally {
    connection.openRequests--;
  }
};

/** Runs the method, and records the action and its outcome in the audit trail. */
const runAudited = async (
  audit: ServeParts['audit'],
  request: Request<MethodContext>,
  frame: RequestFrame,
) => {
  const { connection } = request;
  const method = known(frame.method);
  const { client } = connection;
  const named = method.actionOf && (await method.actionOf(frame));
  const { scope, frame: action } = named ?? { scope: method.scope, frame };
  try {
    assertAllowed(connection, scope);
    const checked = method.check(frame.params);
    if (!checked.ok) throw invalidParams(frame.method, checked.errors);
    if (client) await audit.begin(scope, client, action);
    const result = await method.run(request, checked.value as never);
    if (client) audit.ended(scope, client, action);
    return result;
  } catch (thrown) {
    if (client) audit.ended(scope, client, action, thrown);
    throw thrown;
  }
};

/** @throws TroupeError when there is no such method */
const known = (name: string): Method<MethodContext> => {
  const method = METHODS.get(name);
  if (method !== undefined) return method;
  if (name === 'connect')
    throw new TroupeError('INVALID_ARGUMENT', 'connect must be the first request of a connection');
  throw new TroupeError('INVALID_ARGUMENT', `unknown method: ${name.slice(0, 200)}`);
};

/** @throws TroupeError FORBIDDEN when the client lacks the scope; RATE_LIMIT_EXCEEDED */
const assertAllowed = (connection: Connection, scope: Method<never>['scope']): void => {
  if (connection.openRequests > REQUESTS_OPEN_MAX) {
    throw new TroupeError(
      'RATE_LIMIT_EXCEEDED',
      `more than ${REQUESTS_OPEN_MAX} requests of this connection are unanswered: wait for some answers`,
      { retryAfterMs: 1000 },
    );
  }
  if (!mayCall(connection.client, scope)) throw missing(scope ?? 'a hello');
};

const mayCall = (client: Client | undefined, scope: Method<never>['scope']): boolean => {
  if (scope === null) return true;
  if (client === undefined) return false;
  return scope === 'node'
    ? client.role === 'node'
    : client.role === 'operator' && includesScope(client.scopes, scope);
};

const missing = (scope: string): TroupeError =>
  new TroupeError('FORBIDDEN', `missing scope: ${scope}`, {
    details: { code: 'MISSING_SCOPE', missingScope: scope, requiredScopes: [scope] },
  });

const invalidParams = (method: string, errors: Parameters<typeof describeErrors>[0]): TroupeError =>
  new TroupeError('INVALID_ARGUMENT', `invalid ${method} params: ${describeErrors(errors)}`, {
    details: { errors },
  });

const errorShape = (thrown: unknown): GatewayErrorShape => gatewayError(errorData(thrown));
