/** Real tasks behind real HTTP, with the routes for observing them. */
import { envelopeRoutes } from '../../../channels/http/envelopes.ts';
import { metricsRoutes } from '../../../channels/http/metrics.ts';
import { createMetrics, type Metrics } from '../../../runtime/index.ts';
import { openRealTasks, type RealTasks } from '../edge/real-tasks.ts';
import { openRoutes, operatorWithSecret, testOperations } from './operation-server.ts';

export { SECRET } from './operation-server.ts';

export type ObservedServer = {
  readonly real: RealTasks;
  readonly metrics: Metrics;
  /** `http://127.0.0.1:port` */
  readonly url: string;
  stop(): Promise<void>;
};

export const openObservedServer = async (): Promise<ObservedServer> => {
  const real = await openRealTasks();
  const { system } = real;
  const metrics = createMetrics();
  const edge = real.edge({ onRequest: (facts) => metrics.request(facts) });
  const operator = operatorWithSecret('acme');
  const { url, close } = await openRoutes([
    ...envelopeRoutes(edge),
    ...metricsRoutes({ metrics, operator }),
    ...testOperations({ system, metrics, operator, installation: operator }),
  ]);
  return {
    real,
    metrics,
    url,
    async stop() {
      close();
      await real.stop();
    },
  };
};
