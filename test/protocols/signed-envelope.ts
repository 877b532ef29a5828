/** A whole envelope for tests of signatures and seals. */
import type { Envelope } from '../../protocols/envelope.ts';

export const envelope = (over: Partial<Envelope> = {}): Envelope => ({
  version: '1.0',
  request_id: '018f3c1e-7a52-7c3d-9f00-1b2c3d4e5f60',
  correlation_id: '018f3c1e-7a52-7c3d-9f00-1b2c3d4e5f61',
  causation_id: null,
  trace_id: '0af7651916cd43dd8448eb211c80319c',
  tenant_id: 'default',
  principal: { sub: 'ann', roles: ['writer'] },
  timestamp: '2026-01-01T00:00:00Z',
  ttl_sec: 300,
  idempotency_key: 'order-1',
  seq: 1,
  action: 'shop.place_order',
  action_version: '1.0.0',
  payload: { schema_version: '1.0', lines: [{ n: 1 }, { n: 2 }], note: 'Grüße €' },
  ...over,
});
