/** The methods of the gateway: one table of params, results and the scope a client needs. */
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { type CheckAnswer, checker } from '../check.ts';
import * as agent from './agent.ts';
import * as approvals from './approvals.ts';
import * as chat from './chat.ts';
import { ConnectParams, Health, HelloOk, type Scope } from './connect.ts';
import * as sessions from './sessions.ts';

export type GatewayMethod = {
  readonly params: TSchema;
  readonly result: TSchema;
  /** null: needs no scope, because it is what grants them */
  readonly scope: Scope | null;
};

/** `agent` answers twice: AgentAccepted, then AgentFinal. */
export const GatewayMethods = {
  connect: { params: ConnectParams, result: HelloOk, scope: null },
  agent: {
    params: agent.AgentParams,
    result: Type.Union([agent.AgentAccepted, agent.AgentFinal]),
    scope: 'operator.write',
  },
  'agent.wait': {
    params: agent.AgentWaitParams,
    result: agent.AgentWaitResult,
    scope: 'operator.write',
  },
  'chat.send': {
    params: chat.ChatSendParams,
    result: chat.ChatSendResult,
    scope: 'operator.write',
  },
  'chat.history': {
    params: chat.ChatHistoryParams,
    result: chat.ChatHistoryResult,
    scope: 'operator.read',
  },
  'chat.abort': {
    params: chat.ChatAbortParams,
    result: chat.ChatAbortResult,
    scope: 'operator.write',
  },
  'sessions.list': {
    params: sessions.SessionsListParams,
    result: sessions.SessionsListResult,
    scope: 'operator.read',
  },
  'sessions.reset': {
    params: sessions.SessionsResetParams,
    result: sessions.SessionsResetResult,
    scope: 'operator.admin',
  },
  'sessions.compact': {
    params: sessions.SessionsCompactParams,
    result: sessions.SessionsCompactResult,
    scope: 'operator.admin',
  },
  'sessions.patch': {
    params: sessions.SessionsPatchParams,
    result: sessions.SessionsPatchResult,
    scope: 'operator.write',
  },
  'sessions.delete': {
    params: sessions.SessionsDeleteParams,
    result: sessions.SessionsDeleteResult,
    scope: 'operator.write',
  },
  'exec.approval.list': {
    params: approvals.ExecApprovalListParams,
    result: approvals.ExecApprovalListResult,
    scope: 'operator.approvals',
  },
  'exec.approval.get': {
    params: approvals.ExecApprovalGetParams,
    result: approvals.ExecApprovalGetResult,
    scope: 'operator.approvals',
  },
  'exec.approval.resolve': {
    params: approvals.ExecApprovalResolveParams,
    result: approvals.ExecApprovalResolveResult,
    scope: 'operator.approvals',
  },
  health: { params: sessions.HealthParams, result: Health, scope: 'operator.read' },
  status: { params: sessions.StatusParams, result: sessions.StatusResult, scope: 'operator.read' },
} as const satisfies Record<string, GatewayMethod>;

export type GatewayMethodName = keyof typeof GatewayMethods;
export type GatewayParams<M extends GatewayMethodName> = Static<
  (typeof GatewayMethods)[M]['params']
>;
export type GatewayResult<M extends GatewayMethodName> = Static<
  (typeof GatewayMethods)[M]['result']
>;

export const isGatewayMethod = (method: string): method is GatewayMethodName =>
  Object.hasOwn(GatewayMethods, method);

type Checks = {
  readonly [M in GatewayMethodName]: (value: unknown) => CheckAnswer<GatewayParams<M>>;
};
/** What stands under `auth` and `device` never shows in an error. */
const checks = Object.fromEntries(
  Object.entries(GatewayMethods).map(([method, { params }]) => [
    method,
    checker<TSchema>(params, { secret: /^\/(auth|device)/ }),
  ]),
) as Checks;

/**
 * Checks the params of a request. Absent params count as `{}`. Compiled when a method is first
 * called.
 */
export const checkParams = <M extends GatewayMethodName>(
  method: M,
  value: unknown,
): CheckAnswer<GatewayParams<M>> => checks[method](value ?? {});
