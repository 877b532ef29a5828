/** Counts outcomes of envelopes and their work, and reports them to the tracer. */
import type { EdgeFacts } from '../channels/edge/facts.ts';
import type { Envelope } from '../protocols/envelope.ts';
import { parseAddress } from '../protocols/address.ts';
import type { DeadLetterAsk } from '../protocols/statechart.ts';
import { type Clock, type Metrics, recordServed } from '../runtime/index.ts';
import type { WorkLabels } from '../runtime/observe/metrics.ts';

export const observed =
  (metrics: Pick<Metrics, 'request'>, clock: Pick<Clock, 'wallMs'>) =>
  (facts: EdgeFacts): void => {
    metrics.request(facts);
    const endedAt = clock.wallMs();
    const { errorCode: error, latencyMs } = facts;
    recordServed({ ...facts, error, begunAt: endedAt - latencyMs, endedAt });
  };

/** For a dead letter without an envelope, such as a compensation's, only the tenant is known. */
export const labelsOf = ({ to, event, error }: DeadLetterAsk): WorkLabels => {
  const { action = '', principal } = (event['envelope'] ?? {}) as Partial<Envelope>;
  const { tenant } = parseAddress(to);
  return { action, tenant, principal: principal?.sub ?? '', errorCode: error.code };
};
