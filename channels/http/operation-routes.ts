/**
 * HTTP routes of operations. A route authenticates the caller, reads the parameters from path,
 * query and body, checks them against the schema of the operation, and sends the result as JSON.
 *
 * Invariant: nothing is read from the request or the system before the caller is known to be an
 * operator.
 */
import { Kind, type TSchema } from '@sinclair/typebox';
import { type Operation, type OperationScope, pathNames } from '../../operations/operation.ts';
import type { OperationContext, Resource } from '../../operations/operation.ts';
import { address, DEFAULT_TENANT } from '../../protocols/address.ts';
import { checker } from '../../protocols/check.ts';
import { schemaFault } from '../edge/checks.ts';
import { parseJson, type Route, type RouteRequest, sendJson } from './route.ts';

/** @throws TroupeError UNAUTHORIZED, FORBIDDEN unless the caller is an operator */
type Authenticate = (
  request: RouteRequest,
) => Promise<{ readonly sub: string; readonly tenant?: string }>;

export type OperationRouteOptions = {
  readonly system: OperationContext['system'];
  /** for each scope */
  readonly operators: Readonly<Record<OperationScope, Authenticate>>;
};

const BODY_BYTES_MAX = 16_384;

export const operationRoutes = (
  resources: readonly Resource[],
  options: OperationRouteOptions,
): readonly Route[] =>
  resources.flatMap(({ operations }) => operations.map((one) => operationRoute(one, options)));

function operationRoute(operation: Operation, { system, operators }: OperationRouteOptions): Route {
  const { http, params: schema, scope, run } = operation;
  const check = checker({ ...schema, additionalProperties: false });
  return {
    method: http.method,
    path: http.path,
    handle: async (incoming) => {
      const caller = await operators[scope](incoming);
      const tenant = tenantOf(caller, incoming);
      const params = check(await paramsOf(operation, incoming));
      if (!params.ok) throw schemaFault('the parameters are not valid', params.errors);
      const result = await run({ system, tenant, caller: { sub: caller.sub } }, params.value);
      sendJson(incoming.response, 200, result);
    },
  };
}

/** `?tenant=`, or the caller's own. @throws TroupeError INVALID_ARGUMENT */
function tenantOf(
  { tenant = DEFAULT_TENANT }: { readonly tenant?: string },
  { query }: RouteRequest,
): string {
  const named = query.get('tenant') ?? tenant;
  // Checks the name.
  address(named, 'tenant', 'any');
  return named;
}

/** Parameters that the schema does not declare are ignored in the query and refused in the body. */
async function paramsOf(
  { http, params: { properties } }: Operation,
  incoming: RouteRequest,
): Promise<unknown> {
  const inPath = pathNames(http);
  const others = Object.keys(properties).filter((name) => !inPath.includes(name));
  if (http.method !== 'POST' || others.length === 0)
    return { ...fromQuery(properties, others, incoming.query), ...incoming.params };
  const body = parseJson(await incoming.body(http.bodyBytesMax ?? BODY_BYTES_MAX));
  // A body that is no object fails the check as it is.
  return typeof body === 'object' && body !== null && !Array.isArray(body)
    ? { ...body, ...incoming.params }
    : body;
}

const fromQuery = (
  properties: Readonly<Record<string, TSchema>>,
  names: readonly string[],
  query: URLSearchParams,
): Record<string, unknown> =>
  Object.fromEntries(
    names
      .map((name) => [name, query.get(name), properties[name]] as const)
      .filter(([, text]) => text !== null)
      .map(([name, text, schema]) => [name, valueOf(text ?? '', schema)]),
  );

/** Text that is no value of the type stays text, so that the check refuses it. */
function valueOf(text: string, schema: TSchema | undefined): unknown {
  if (schema?.[Kind] === 'Integer' && /^\d{1,15}$/.test(text)) return Number(text);
  if (schema?.[Kind] === 'Boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}
