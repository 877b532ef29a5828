import { Writable } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { logTo } from '../../installation/process-log.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { inSpan, toolSpan } from '../../runtime/index.ts';
import { registerTracer } from '../runtime/observe/tracer.ts';

const SECRET = 'hunter2-4711';

const logged = (write: (log: ReturnType<typeof logTo>) => void): string => {
  let text = '';
  const to = new Writable({
    write(chunk, _, done) {
      text += String(chunk);
      done();
    },
  });
  write(logTo('trace', to));
  return text;
};

it('a line that is written inside a span has its ids, and no other line', async () => {
  const tracer = registerTracer();
  onTestFinished(() => tracer.stop());
  let line = '';
  const span = await inSpan(
    () => toolSpan({ name: 'read', id: '1' }),
    async (active) => {
      line = logged((log) => log.info('reading'));
      return active.spanContext();
    },
  );
  const ids = { trace_id: span.traceId, span_id: span.spanId };
  expect(JSON.parse(line)).toMatchObject({ ...ids, msg: 'reading' });
  expect(logged((log) => log.info('done'))).not.toContain('trace_id');
});

describe('the log', () => {
  it.each([
    ['a header', { authorization: `Bearer ${SECRET}` }],
    ['headers of a request', { request: { headers: { authorization: SECRET, cookie: SECRET } } }],
    ['a signature', { headers: { 'x-jws-signature': SECRET }, signature: SECRET }],
    ['a token', { token: SECRET, auth: { token: SECRET, password: SECRET } }],
    ['an envelope', { envelope: { payload: { iban: SECRET } } }],
    ['a payload', { payload: { iban: SECRET } }],
    ['the payload of a message', { message: { submit: { payload: SECRET } } }],
    ['the payload three below', { a: { b: { c: { payload: SECRET } } } }],
    ['a result', { task: { view: { result: { iban: SECRET } } } }],
    ['an input', { effect: { input: { text: SECRET } } }],
    ['a sealed payload', { body: { jwe: SECRET } }],
    ['a private key', { jwk: { kty: 'OKP', d: SECRET } }],
    [
      'details of an error',
      { err: new TroupeError('INTERNAL', 'failed', { details: { payload: SECRET } }) },
    ],
  ])('at level trace shows no secret in %s, and shows the rest', (_, facts) => {
    const text = logged((log) => log.trace({ ...facts, tenant: 'acme' }, 'it came'));
    expect(text).not.toContain(SECRET);
    expect(JSON.parse(text)).toMatchObject({ tenant: 'acme', msg: 'it came' });
    expect(text).toContain('[not logged]');
  });

  it('writes other values unchanged', () => {
    const text = logged((log) =>
      log.info({ port: 1, event: { heartbeat: { node: 'a' } } }, 'listening'),
    );
    expect(JSON.parse(text)).toMatchObject({ port: 1, event: { heartbeat: { node: 'a' } } });
    expect(text).not.toContain('not logged');
  });

  it('writes nothing below its level', () => {
    const text = logged((log) => {
      log.level = 'warn';
      log.info('not this');
    });
    expect(text).toBe('');
  });
});
