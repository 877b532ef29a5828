/** Operations of a real system behind real HTTP, for tests of requests and commands. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { routeListener } from '../../../channels/http/listener.ts';
import {
  operationRoutes,
  type OperationRouteOptions,
} from '../../../channels/http/operation-routes.ts';
import { header, type Route, type RouteRequest } from '../../../channels/http/route.ts';
import { RESOURCES } from '../../../operations/index.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { testServices } from '../gateway/client.ts';

export const SECRET = 'the-operators-own';

export type OperationServer = {
  /** `http://127.0.0.1:port` */
  readonly url: string;
  /** failures that no route expects */
  readonly faults: string[];
  /** Ends all connections. */
  readonly close: () => void;
};

/** A caller with SECRET is the operator `op` of a tenant. @param tenant default `default` */
export const operatorWithSecret =
  (tenant = 'default') =>
  ({ request }: RouteRequest): Promise<{ sub: string; tenant: string }> => {
    const given = header(request, 'authorization');
    if (given === `Bearer ${SECRET}`) return Promise.resolve({ sub: 'op', tenant });
    return Promise.reject(
      given === undefined
        ? new TroupeError('UNAUTHORIZED', 'send the token of the gateway')
        : new TroupeError('FORBIDDEN', 'this is for operators'),
    );
  };

/** Every operation of a system. @param options replace the defaults of the test */
export const testOperations = (
  options: Pick<OperationRouteOptions, 'system'> & Partial<OperationRouteOptions>,
): readonly Route[] =>
  operationRoutes(RESOURCES, {
    ...testServices({ system: options.system }),
    maskSecrets: (text) => text.replaceAll(SECRET, '***'),
    operator: operatorWithSecret(),
    installation: operatorWithSecret(),
    ...options,
  });

/** Serves routes until the end of the test. */
export async function serveRoutes(routes: readonly Route[]): Promise<OperationServer> {
  const server = await openRoutes(routes);
  onTestFinished(server.close);
  return server;
}

/** Serves routes until `close`. */
export async function openRoutes(routes: readonly Route[]): Promise<OperationServer> {
  const faults: string[] = [];
  const log = { error: (_: object, message: string) => void faults.push(message) };
  const listen = routeListener({ routes, log });
  const server = createServer((request, response) => {
    if (!listen(request, response)) response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, faults, close };
}
