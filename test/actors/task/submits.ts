/** Envelopes, limits and submits for tests of tasks. */
import { address } from '../../../protocols/address.ts';
import type { Envelope } from '../../../protocols/envelope.ts';
import type { TaskSubmit, TaskTerms } from '../../../protocols/task.ts';

export const envelopeOf = (change: Partial<Envelope> = {}): Envelope => ({
  version: '1.0',
  request_id: '018f3c1e-7a52-7c3d-9f00-1b2c3d4e5f60',
  correlation_id: '018f3c1e-7a52-7c3d-9f00-1b2c3d4e5f61',
  causation_id: null,
  trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
  tenant_id: 't',
  principal: { sub: 'ada', roles: ['agent'] },
  timestamp: new Date(0).toISOString(),
  ttl_sec: 86_400,
  idempotency_key: 'k1',
  seq: 1,
  action: 'demo.do_thing',
  action_version: '1.0.0',
  payload: { schema_version: '1.0', subject: 'order-7', text: 'hello' },
  ...change,
});

export const performer = address('t', 'clerk', 'c');

export const termsOf = (change: Partial<TaskTerms> = {}): TaskTerms => ({
  performer: { kind: 'function', class: 'keyed' },
  agent: 'demo',
  etaSec: 300,
  attemptsMax: 3,
  backoffMs: { first: 1_000, max: 60_000 },
  compensable: false,
  sensitive: false,
  evidence: false,
  ...change,
});

export const submitOf = (change: Partial<TaskSubmit> = {}): TaskSubmit => ({
  type: 'task.submit',
  envelope: envelopeOf(),
  payloadHash: 'h1',
  terms: termsOf(),
  transport: 'http',
  answer: 'ack',
  ...change,
});
