/** The labels with which a dead letter is counted. */
import { parseAddress } from '../../protocols/address.ts';
import type { Envelope } from '../../protocols/envelope.ts';
import type { DeadLetterAsk } from '../../protocols/statechart.ts';
import type { WorkLabels } from './metrics.ts';

/** For a dead letter without an envelope, such as a compensation's, only the tenant is known. */
export const deadLetterLabels = ({ to, event, error }: DeadLetterAsk): WorkLabels => {
  const { action = '', principal } = (event['envelope'] ?? {}) as Partial<Envelope>;
  const { tenant } = parseAddress(to);
  return { action, tenant, principal: principal?.sub ?? '', errorCode: error.code };
};
