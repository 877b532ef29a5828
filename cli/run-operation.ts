/** Calls an operation of the gateway that the options name, and prints its result. */
import type { Static, TObject, TSchema } from '@sinclair/typebox';
import { type Operation, pathNames } from '../operations/operation.ts';
import { TroupeError } from '../protocols/errors.ts';
import { defined } from '../protocols/defined.ts';
import { exitCodes } from './exit.ts';
import { type GatewayHttp, gatewayHttp } from './client/gateway-http.ts';
import { type TenantClientOptions, withGateway } from './options.ts';
import { printJson } from './output.ts';

/**
 * @param given what the command line contained, for `print`
 * @throws TroupeError of the operation or of the connection
 */
export async function runOperation<P extends TObject, R extends TSchema>(
  operation: Operation<P, R>,
  options: TenantClientOptions,
  params: Static<P>,
  given: Readonly<Record<string, unknown>> = {},
): Promise<number> {
  const result = await (operation.cli?.connection === 'websocket'
    ? callByWebSocket(operation, params, options)
    : callOperation(operation, await gatewayHttp(options), params, options));
  // With `--json`, too: the answer of another program is not a result.
  const text = printed(operation, result, params, given);
  if (options.json) printJson(result);
  else process.stdout.write(text);
  return operation.cli?.isFailure?.(result) ? exitCodes.failure : exitCodes.ok;
}

/** @throws TroupeError UNAVAILABLE for a result that has not the form of the operation */
function printed<P extends TObject, R extends TSchema>(
  { name, cli }: Operation<P, R>,
  result: Static<R>,
  params: Static<P>,
  given: Readonly<Record<string, unknown>>,
): string {
  try {
    return cli?.print(result, params, given) ?? '';
  } catch (cause) {
    throw new TroupeError(
      'UNAVAILABLE',
      `the answer to ${name} has another form: does this port belong to a gateway of this version? --port or --url names another one`,
      { details: { connection: 'unreachable' }, cause },
    );
  }
}

/** @throws TroupeError as `runOperation` */
const callByWebSocket = <P extends TObject, R extends TSchema>(
  { name, scope, cli }: Operation<P, R>,
  params: Static<P>,
  { tenant, ...options }: TenantClientOptions,
): Promise<Static<R>> =>
  withGateway(options, (client) => {
    const of = scope === 'installation' ? {} : defined({ tenant });
    const wait = defined({ timeoutMs: cli?.waitMs?.(params) });
    return client.request('operations.run', { name, params, ...of }, wait);
  });

/** Sends the HTTP request of an operation. @throws TroupeError as `runOperation` */
export function callOperation<P extends TObject, R extends TSchema>(
  { http, scope }: Operation<P, R>,
  send: GatewayHttp,
  params: Static<P>,
  { tenant }: { readonly tenant?: string } = {},
): Promise<Static<R>> {
  const inPath = pathNames(http);
  const given: readonly (readonly [string, unknown])[] = Object.entries(params);
  const values = given.filter(([name, value]) => !inPath.includes(name) && value !== undefined);
  const inBody = http.method === 'POST';
  const inQuery = inBody ? [] : values.map(([name, value]) => [name, String(value)]);
  const query = new URLSearchParams([
    ...inQuery,
    ...Object.entries(scope === 'installation' ? {} : defined({ tenant })),
  ]);
  const path = http.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(new Map(given).get(name))),
  );
  return send<Static<R>>({
    method: http.method,
    path: path + (query.size === 0 ? '' : `?${query}`),
    ...(inBody && values.length > 0 ? { body: Object.fromEntries(values) } : {}),
  });
}
