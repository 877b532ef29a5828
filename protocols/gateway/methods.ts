/** The methods of the gateway: one table with params, result and required scope. */
import { type Static, type TSchema } from '@sinclair/typebox';
import { type CheckAnswer, type CheckError, checker } from '../check.ts';
import { runMethods } from './agent.ts';
import { approvalRecordMethods } from './approval-records.ts';
import { approvalMethods } from './approvals.ts';
import { auditMethods } from './audit.ts';
import { chatMethods } from './chat.ts';
import { ConnectParams, HelloOk } from './connect.ts';
import { cronMethods } from './cron.ts';
import { deviceMethods } from './devices.ts';
import type { MethodArea } from './method.ts';
import { nodeMethods } from './nodes.ts';
import { operationMethods } from './operations.ts';
import { resumeMethods } from './resume.ts';
import { sessionMethods } from './sessions.ts';
import { setupMethods } from './setup.ts';
import { systemMethods } from './system.ts';
import { workMethods } from './work.ts';

export const GatewayMethods = {
  connect: { params: ConnectParams, result: HelloOk, scope: null },
  ...runMethods,
  ...chatMethods,
  ...sessionMethods,
  ...approvalMethods,
  ...approvalRecordMethods,
  ...deviceMethods,
  ...nodeMethods,
  ...cronMethods,
  ...workMethods,
  ...setupMethods,
  ...systemMethods,
  ...resumeMethods,
  ...auditMethods,
  ...operationMethods,
} as const satisfies MethodArea;

export type GatewayMethodName = keyof typeof GatewayMethods;
export type GatewayParams<M extends GatewayMethodName> = Static<
  (typeof GatewayMethods)[M]['params']
>;
export type GatewayResult<M extends GatewayMethodName> = Static<
  (typeof GatewayMethods)[M]['result']
>;

type Checks = {
  readonly [M in GatewayMethodName]: (value: unknown) => CheckAnswer<GatewayParams<M>>;
};
/** Errors never contain values of `auth` and `device`. */
const checks = Object.fromEntries(
  Object.entries(GatewayMethods).map(([method, { params }]) => [
    method,
    checker<TSchema>(params, { secret: /^\/(auth|device)/ }),
  ]),
) as Checks;

/**
 * Validates the params of a request. Absent params count as `{}`. The validator is compiled at the
 * first call of a method.
 */
export const checkParams = <M extends GatewayMethodName>(
  method: M,
  value: unknown,
): CheckAnswer<GatewayParams<M>> => {
  const answer = checks[method](value ?? {});
  if (!answer.ok) return answer;
  const errors = unsupportedIn(GatewayMethods[method].params, value ?? {});
  return errors.length === 0 ? answer : { ok: false, errors };
};

/** Errors for unsupported parameters that are set. */
const unsupportedIn = (schema: TSchema, value: object): readonly CheckError[] => {
  const fields = (schema.properties ?? {}) as Readonly<Record<string, TSchema>>;
  return Object.entries(value).flatMap(([name, given]: [string, unknown]) => {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    const why: unknown = field?.['x-unsupported'];
    if (typeof why !== 'string' || isNeutral(given, field?.['x-neutral'])) return [];
    return [{ path: `/${name}`, message: `is not supported: ${why}` }];
  });
};

const EMPTY: ReadonlySet<unknown> = new Set([undefined, null, '', false]);
const isNeutral = (value: unknown, neutral: unknown): boolean =>
  EMPTY.has(value) || (Array.isArray(neutral) && neutral.some((one) => isDeepEqual(one, value)));

const isDeepEqual = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
