/** Which counter counts the work of an envelope. */
import { type Address, address } from '../../protocols/address.ts';
import type { Envelope } from '../../protocols/envelope.ts';
import { subjectOf, taskIdOf } from '../../protocols/task.ts';

/** The one of its idempotency key, whatever task the envelope became. */
export const counterAddress = (envelope: Envelope): Address => {
  const { tenant_id: tenant, action, idempotency_key: key } = envelope;
  return address(
    tenant,
    'counter',
    taskIdOf({ tenant, action, subject: subjectOf(envelope), key }),
  );
};
