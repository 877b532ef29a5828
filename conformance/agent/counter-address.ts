/** The counter that records the work of an envelope. */
import { type Address, address } from '../../protocols/address.ts';
import type { Envelope } from '../../protocols/envelope.ts';
import { subjectOf, taskIdOf } from '../../protocols/task.ts';

/** The counter of its idempotency key, whichever task the envelope became. */
export const counterAddress = (envelope: Envelope): Address => {
  const { tenant_id: tenant, action, idempotency_key: key } = envelope;
  return address(
    tenant,
    'counter',
    taskIdOf({ tenant, action, subject: subjectOf(envelope), key }),
  );
};
