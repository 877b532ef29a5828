/**
 * One method of the gateway as it is served. Every area exports its table of them; index.ts joins
 * the tables.
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

export type Method = {
  readonly scope: GatewayMethod['scope'];
  readonly check: (params: unknown) => CheckAnswer<unknown>;
  /** `params` has passed `check`; ANSWERED when it has sent all its answers itself */
  readonly run: (request: Request, params: never) => unknown;
};
export type MethodTable = readonly (readonly [string, Method])[];

/** A method of the protocol table: its params and scope stand there. */
export const published = <M extends Exclude<GatewayMethodName, 'connect'>>(
  name: M,
  run: (request: Request, params: GatewayParams<M>) => unknown,
): readonly [string, Method] => [
  name,
  {
    scope: GatewayMethods[name].scope,
    check: (params) => checkParams(name, params),
    run,
  },
];
