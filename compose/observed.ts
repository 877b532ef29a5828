/** What becomes of every envelope is counted and told to the tracer (EN17). */
import type { EdgeFacts } from '../channels/edge/create-edge.ts';
import { type Clock, type Metrics, recordServed } from '../runtime/index.ts';

export const observed =
  (metrics: Pick<Metrics, 'request'>, clock: Pick<Clock, 'wallMs'>) =>
  (facts: EdgeFacts): void => {
    metrics.request(facts);
    const endedAt = clock.wallMs();
    const { errorCode: error, latencyMs } = facts;
    recordServed({ ...facts, error, begunAt: endedAt - latencyMs, endedAt });
  };
