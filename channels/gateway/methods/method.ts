/**
 * How one gateway method is served. Each area exports a table of methods; index.ts joins the
 * tables.
 */
import type { CheckAnswer } from '../../../protocols/check.ts';
import {
  checkParams,
  type GatewayMethod,
  GatewayMethods,
  type GatewayMethodName,
  type GatewayParams,
} from '../../../protocols/gateway/index.ts';
import type { Request } from './request.ts';

export type Method<Context> = {
  readonly scope: GatewayMethod['scope'];
  readonly check: (params: unknown) => CheckAnswer<unknown>;
  /** `params` passed `check`; returns ANSWERED when it has sent every answer itself */
  readonly run: (request: Request<Context>, params: never) => unknown;
};
export type MethodTable<Context = unknown> = readonly (readonly [string, Method<Context>])[];

/** A method of the protocol's method table, which defines its parameters and scope. */
export const published = <M extends Exclude<GatewayMethodName, 'connect'>, Context = unknown>(
  name: M,
  run: (request: Request<Context>, params: GatewayParams<M>) => unknown,
): readonly [string, Method<Context>] => [
  name,
  {
    scope: GatewayMethods[name].scope,
    check: (params) => checkParams(name, params),
    run,
  },
];
