/**
 * HTTP routes of operations. A route authenticates the caller, reads the parameters from path,
 * query and body, checks them against the schema of the operation, and sends the result as JSON.
 *
 * Invariant: nothing is read from the request or the system before the caller is known to be an
 * operator.
 */
import { Kind, type TSchema } from '@sinclair/typebox';
import { checkedRun } from '../../operations/checked-run.ts';
import {
  type Operation,
  type OperationScope,
  type OperationServices,
  pathNames,
  type Resource,
} from '../../operations/operation.ts';
import { address, DEFAULT_TENANT } from '../../protocols/address.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { header, parseJson, type Route, type RouteRequest, sendJson } from './route.ts';
import { isObject } from '../../protocols/is-object.ts';

/** @throws TroupeError UNAUTHORIZED, FORBIDDEN unless the caller is an operator */
type Authenticate = (
  request: RouteRequest,
) => Promise<{ readonly sub: string; readonly tenant?: string }>;

export type OperationRouteOptions = OperationServices & {
  /** operators of a tenant, and of the whole installation */
  readonly operator: Authenticate;
  /** operators of the whole installation only */
  readonly installation: Authenticate;
};

const BODY_BYTES_MAX = 16_384;
const KEY_CHARACTERS_MAX = 200;

export const operationRoutes = (
  resources: readonly Resource[],
  options: OperationRouteOptions,
): readonly Route[] =>
  resources.flatMap(({ operations }) => operations.map((one) => operationRoute(one, options)));

function operationRoute(
  operation: Operation,
  { operator, installation, ...services }: OperationRouteOptions,
): Route {
  const { http, scope } = operation;
  const run = checkedRun(operation);
  const authenticate = scope === 'tenant' ? operator : installation;
  return {
    method: http.method,
    path: http.path,
    handle: async (incoming) => {
      const caller = await authenticate(incoming);
      const given = await paramsOf(operation, incoming);
      const { tenant, params } = withTenant(scope, caller, incoming, given);
      const idempotencyKey = http.isKeyed ? idempotencyKeyOf(incoming) : undefined;
      const context = { ...services, tenant, caller, ...defined({ idempotencyKey }) };
      const result = await run(context, params);
      const { status, headers } = http.reply?.(result) ?? { status: 200 };
      sendJson(incoming.response, status, result, headers);
    },
  };
}

/**
 * The tenant of the request, and the other parameters. The tenant is `?tenant=`, or the caller's
 * own. In the scope `any-tenant` the body may name it, too. In the scope `tenant` it may not,
 * because the caller was authorized for the tenant of the URL.
 * @throws TroupeError INVALID_ARGUMENT
 */
function withTenant(
  scope: OperationScope,
  { tenant: own = DEFAULT_TENANT }: { readonly tenant?: string },
  { query }: RouteRequest,
  given: unknown,
): { readonly tenant: string; readonly params: unknown } {
  const fallback = query.get('tenant') ?? own;
  const hasTenant =
    scope === 'any-tenant' && isObject(given) && typeof given['tenant'] === 'string';
  const { tenant, ...params } = hasTenant ? given : { tenant: fallback };
  const named = String(tenant);
  // Validates the tenant's name.
  address(named, 'tenant', 'any');
  return { tenant: named, params: hasTenant ? params : given };
}

/** Parameters that the schema does not declare are ignored in the query and refused in the body. */
async function paramsOf(
  { http, params: { properties } }: Operation,
  incoming: RouteRequest,
): Promise<unknown> {
  const inPath = pathNames(http);
  const others = Object.keys(properties).filter((name) => !inPath.includes(name));
  const fromPath = Object.fromEntries(
    inPath.map((name) => [name, valueOf(incoming.params[name] ?? '', properties[name])]),
  );
  if (http.method !== 'POST' || others.length === 0)
    return { ...fromQuery(properties, others, incoming.query), ...fromPath };
  const body = parseJson(await incoming.body(http.bodyBytesMax ?? BODY_BYTES_MAX));
  // A body that is not an object fails the check.
  return isObject(body) ? { ...body, ...fromPath } : body;
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

/** Text that is not a value of the type stays text, so that the check refuses it. */
function valueOf(text: string, schema: TSchema | undefined): unknown {
  if (schema?.[Kind] === 'Integer' && /^\d{1,15}$/.test(text)) return Number(text);
  if (schema?.[Kind] === 'Boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

/** @throws TroupeError INVALID_ARGUMENT */
function idempotencyKeyOf({ request }: RouteRequest): string | undefined {
  const key = header(request, 'idempotency-key');
  if (key === undefined || (key.length > 0 && key.length <= KEY_CHARACTERS_MAX)) return key;
  const text = `Idempotency-Key must have 1 to ${KEY_CHARACTERS_MAX} characters`;
  throw new TroupeError('INVALID_ARGUMENT', text);
}
