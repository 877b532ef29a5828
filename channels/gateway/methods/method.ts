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
  type RequestFrame,
} from '../../../protocols/gateway/index.ts';
import type { Request } from './request.ts';

/** What a request is authorized and audited as. */
export type Action = {
  readonly scope: GatewayMethod['scope'];
  readonly frame: RequestFrame;
};

export type Method<Context> = {
  readonly scope: GatewayMethod['scope'];
  readonly check: (params: unknown) => CheckAnswer<unknown>;
  /** for a method with several actions: that of a request, whose params are not checked yet */
  readonly actionOf?: (frame: RequestFrame) => Promise<Action | undefined>;
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
