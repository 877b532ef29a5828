/** Real tasks behind real HTTP, with what operators watch them by. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { envelopeRoutes } from '../../../channels/http/envelopes.ts';
import { routeListener } from '../../../channels/http/listener.ts';
import { metricsRoutes } from '../../../channels/http/metrics.ts';
import { header, type RouteRequest } from '../../../channels/http/route.ts';
import { sloRoutes } from '../../../channels/http/slo.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { createMetrics, type Metrics } from '../../../runtime/index.ts';
import { openRealTasks, type RealTasks } from '../edge/real-tasks.ts';

export const SECRET = 'the-operators-own';

export type ObservedDoor = {
  readonly real: RealTasks;
  readonly metrics: Metrics;
  /** `http://127.0.0.1:port` */
  readonly url: string;
  stop(): Promise<void>;
};

const operator = async ({ request }: RouteRequest): Promise<void> => {
  if (header(request, 'authorization') !== `Bearer ${SECRET}`)
    throw new TroupeError('UNAUTHORIZED', 'show the token of the gateway');
};

export const openObservedDoor = async (): Promise<ObservedDoor> => {
  const real = await openRealTasks();
  const { system } = real;
  const metrics = createMetrics();
  const edge = real.edge({ onRequest: (facts) => metrics.request(facts) });
  const routes = [
    ...envelopeRoutes(edge),
    ...metricsRoutes({ metrics, operator }),
    ...sloRoutes({ system, metrics, operator, tenant: 'acme', now: Date.now }),
  ];
  const listener = routeListener({ routes, log: { error: () => {} } });
  const server = createServer((request, response) => {
    if (!listener(request, response)) response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    real,
    metrics,
    url: `http://127.0.0.1:${port}`,
    async stop() {
      server.close();
      server.closeAllConnections();
      await real.stop();
    },
  };
};
