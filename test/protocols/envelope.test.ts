import { describe, expect, it } from 'vitest';
import {
  checkEnvelope,
  ENVELOPE_BYTES_MAX,
  type Envelope,
  envelopeToMessage,
  parseAction,
  readEnvelope,
} from '../../protocols/envelope.ts';
import { TroupeError } from '../../protocols/errors.ts';

const good: Envelope = {
  version: '1.0',
  request_id: '018f3c1e-7a52-7c3d-9f00-1b2c3d4e5f60',
  correlation_id: '018f3c1e-7a52-7c3d-9f00-1b2c3d4e5f61',
  causation_id: null,
  trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
  tenant_id: 'acme',
  principal: { sub: 'service-7', roles: ['agent-role'] },
  timestamp: '2026-01-31T09:30:00Z',
  ttl_sec: 300,
  idempotency_key: 'order-7',
  seq: 1,
  action: 'agent_data.update_document',
  action_version: '1.0.0',
  payload: { schema_version: '1.0', document: 'd-1' },
};

const faultsOf = (value: unknown) => {
  const answer = checkEnvelope(value);
  return answer.ok ? [] : answer.errors;
};

describe('an envelope', () => {
  it('is accepted as the specification shows it, with and without its optional fields', () => {
    expect(checkEnvelope(good)).toEqual({ ok: true, envelope: good });
    const full = {
      ...good,
      causation_id: good.request_id,
      context_id: 'conversation-7',
      data_locality: 'asia-southeast1',
      resource_links: [{ uri: 'file:///a', mimeType: 'text/plain' }],
    };
    expect(checkEnvelope(full)).toEqual({ ok: true, envelope: full });
  });

  const required = Object.keys(good).filter((field) => field !== 'payload');
  it.each(required)('is refused without %s', (field) => {
    const { [field as keyof Envelope]: _, ...rest } = good;
    expect(faultsOf(rest)).toEqual([{ path: `/${field}`, message: 'is required' }]);
  });

  it.each([
    ['/version', { version: '2.2' }, 'must be "1.0"'],
    ['/request_id', { request_id: '7' }, /must be a UUID/],
    ['/causation_id', { causation_id: 'x' }, /UUID/],
    ['/trace_id', { trace_id: '0'.repeat(32) }, /not all zero/],
    ['/trace_id', { trace_id: '4BF92F3577B34DA6A3CE929D0E0E4736' }, /lower-case hex/],
    ['/tenant_id', { tenant_id: 'Acme.7' }, /must be 1 to 63 characters of lower-case/],
    ['/principal/roles', { principal: { sub: 's' } }, 'is required'],
    [
      '/principal/admin',
      { principal: { sub: 's', roles: [], admin: true } },
      'is not a known field',
    ],
    ['/timestamp', { timestamp: '2026-02-30T09:30:00Z' }, /RFC 3339/],
    ['/timestamp', { timestamp: '2026-01-31 09:30' }, /RFC 3339/],
    ['/ttl_sec', { ttl_sec: 0 }, 'must be at least 1'],
    ['/ttl_sec', { ttl_sec: 86_401 }, 'must be at most 86400'],
    ['/seq', { seq: 1.5 }, /integer/],
    // Bug: it was accepted, and no number was above it.
    ['/seq', { seq: Number.MAX_SAFE_INTEGER }, 'must be at most 9000000000000000'],
    ['/action', { action: 'update' }, /\{domain\}\.\{verb\}_\{object\}/],
    ['/action', { action: 'agent_data.update_document.done' }, /\{domain\}/],
    ['/action_version', { action_version: '1.0' }, /semantic version/],
    ['/payload/schema_version', { payload: {} }, 'is required'],
    ['/payload/type', { payload: { schema_version: '1.0', type: 'invoice' } }, /reserved/],
    ['/payload/meta', { payload: { schema_version: '1.0', meta: {} } }, /reserved/],
    ['/resource_links/0/uri', { resource_links: [{}] }, 'is required'],
  ])('is refused at %s for %j', (path, change, message) => {
    expect(faultsOf({ ...good, ...change })).toEqual([
      expect.objectContaining({
        path,
        message: typeof message === 'string' ? message : expect.stringMatching(message),
      }),
    ]);
  });

  it.each(['to', 'from', 'fromSeq', 'lane', 'hops', 'visited', 'replyTo', 'comment'])(
    'is refused with %s in its payload, because routing data is outside of it',
    (field) => {
      expect(faultsOf({ ...good, [field]: 'x' })).toEqual([
        { path: `/${field}`, message: 'is not a known field', value: 'x' },
      ]);
    },
  );

  it('is refused as a text, a list or null', () => {
    for (const value of ['x', [], null, undefined, 7])
      expect(checkEnvelope(value)).toMatchObject({ ok: false });
  });

  it('never shows values of its payload in an error', () => {
    const faults = faultsOf({ ...good, payload: { schema_version: 'secret-7' } });
    expect(faults).toHaveLength(1);
    expect(JSON.stringify(faults)).not.toContain('secret-7');
  });
});

describe('reading an envelope', () => {
  it('parses it from text and from UTF-8', () => {
    expect(readEnvelope(JSON.stringify(good))).toEqual(good);
    expect(readEnvelope(Buffer.from(JSON.stringify(good)))).toEqual(good);
  });

  it('tests the size before the schema', () => {
    const large = JSON.stringify({ junk: 'x'.repeat(ENVELOPE_BYTES_MAX) });
    expect(() => readEnvelope(large)).toThrow(
      expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }) as Error,
    );
  });

  it('throws INVALID_ARGUMENT with every fault and its path', () => {
    const thrown = (() => {
      try {
        return readEnvelope(JSON.stringify({ ...good, seq: 0, hops: 1 }));
      } catch (error) {
        return error;
      }
    })();
    expect(thrown).toBeInstanceOf(TroupeError);
    const { code, message, details } = (thrown as TroupeError).toData();
    expect(code).toBe('INVALID_ARGUMENT');
    expect(message).toMatch(/\/hops is not a known field/);
    expect(message).toMatch(/\/seq must be/);
    expect(details?.errors).toHaveLength(2);
  });
});

describe('names of actions', () => {
  it('are split into domain, verb and object', () => {
    expect(parseAction('agent_data.update_document')).toEqual({
      domain: 'agent_data',
      verb: 'update',
      object: 'document',
      cancel: false,
    });
    expect(parseAction('billing.send_monthly_invoice.cancel')).toMatchObject({
      object: 'monthly_invoice',
      cancel: true,
    });
  });

  it.each(['update', 'a.b', 'A.b_c', 'a.b_c.d', 'a..b_c', 'a.b_', `a.b_${'c'.repeat(128)}`])(
    'are not %s',
    (text) => {
      expect(() => parseAction(text)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error,
      );
    },
  );
});

describe('an envelope as a message', () => {
  it('has the action as type and the fields of the payload beside it', () => {
    expect(envelopeToMessage(good)).toEqual({
      type: 'agent_data.update_document',
      schema_version: '1.0',
      document: 'd-1',
    });
  });
});
