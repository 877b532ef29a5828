/** Calls an operation over HTTP on the gateway that the options name, and prints its result. */
import { type Operation, pathNames } from '../operations/operation.ts';
import { exitCodes } from './exit.ts';
import { gatewayHttp } from './gateway-http.ts';
import type { ClientOptions } from './options.ts';
import { printJson } from './output.ts';

/** Arguments and options of a command, by name. */
export type Given = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * @param given values by the names of the parameters, and `tenant`; others are ignored
 * @throws TroupeError of the operation or of the connection
 */
export async function runOperation(
  operation: Operation,
  options: ClientOptions,
  given: Given,
): Promise<number> {
  const send = await gatewayHttp(options);
  const { http, cli, params, scope } = operation;
  const inPath = pathNames(http);
  const values = Object.keys(params.properties)
    .filter((name) => !inPath.includes(name) && given[name] !== undefined)
    .map((name) => [name, given[name]] as const);
  const inBody = http.method === 'POST';
  const query = new URLSearchParams();
  if (!inBody) for (const [name, value] of values) query.set(name, String(value));
  if (scope === 'tenant' && given['tenant'] !== undefined)
    query.set('tenant', String(given['tenant']));
  const result = await send({
    method: http.method,
    path: pathOf(http.path, given) + (query.size === 0 ? '' : `?${query}`),
    ...(inBody && values.length > 0 ? { body: Object.fromEntries(values) } : {}),
  });
  if (options.json) printJson(result);
  else process.stdout.write(cli?.print(result, given) ?? '');
  return exitCodes.ok;
}

const pathOf = (path: string, given: Given): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(given[name])));
