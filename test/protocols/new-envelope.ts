/** Envelopes of tests that send them to a real entry point: each is a new request. */
import { randomUUID } from 'node:crypto';
import type { Envelope } from '../../protocols/envelope.ts';

type Payload = Omit<Envelope['payload'], 'schema_version'>;

/** The fields before `action`. */
export const newHead = (): Omit<Envelope, 'action' | 'action_version' | 'payload'> => ({
  version: '1.0',
  request_id: randomUUID(),
  correlation_id: randomUUID(),
  causation_id: null,
  trace_id: randomUUID().replaceAll('-', ''),
  tenant_id: 'default',
  principal: { sub: 'operator', roles: [] },
  timestamp: new Date().toISOString(),
  ttl_sec: 60,
  idempotency_key: randomUUID(),
  seq: 1,
});

/** @param changes of other fields than the action and its payload */
export const newEnvelope = (
  action: string,
  payload: Payload,
  changes: Partial<Envelope> = {},
): Envelope => ({
  ...newHead(),
  action,
  action_version: '1.0.0',
  payload: { schema_version: '1.0', ...payload },
  ...changes,
});
