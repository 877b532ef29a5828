/** Counts outcomes of envelopes, and reports them to the tracer. */
import { type Clock, type Metrics, recordServed } from '../../runtime/index.ts';
import type { EdgeFacts } from './facts.ts';

export const observed =
  (metrics: Pick<Metrics, 'request'>, clock: Pick<Clock, 'wallMs'>) =>
  (facts: EdgeFacts): void => {
    metrics.request(facts);
    const endedAt = clock.wallMs();
    const { errorCode: error, latencyMs } = facts;
    recordServed({ ...facts, error, begunAt: endedAt - latencyMs, endedAt });
  };
