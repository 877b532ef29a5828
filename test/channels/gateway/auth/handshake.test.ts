import { afterEach, describe, expect, test } from 'vitest';
import { type Gateway, type GatewayOptions, startGateway } from '../../../../channels/index.ts';
import { isLoopback, originAllowed } from '../../../../channels/gateway/auth/access.ts';
import { AuthFailures } from '../../../../channels/gateway/auth/failed-attempts.ts';
import { complaintAbout, connectParams, type Frame, MODELS, silentLog, TOKEN } from '../client.ts';
import { FakeSessionSystem } from '../fake-session-system.ts';
import { closeAll, openClient, openGateway, openChallenged } from '../opened.ts';
import { StillClock } from '../still-clock.ts';

afterEach(closeAll);

const refusal = async (gateway: Gateway, more: object, headers?: Record<string, string>) => {
  const client = await openChallenged(gateway, headers);
  const frame = await client.call('connect', connectParams(more));
  return { frame, closed: await client.gone() };
};

test('the frame check of these tests can refuse a frame', () => {
  const frame: Frame = { type: 'event', event: 'chat', payload: { runId: 'r' }, seq: 1 };
  expect(complaintAbout(frame)).toContain('ChatEvent');
});

describe('the handshake', () => {
  test('follows a challenge with a nonce, and describes the gateway', async () => {
    const gateway = await openGateway();
    const client = await openChallenged(gateway);
    const [challenge] = client.frames;
    expect(challenge?.payload).toEqual({ nonce: expect.any(String), ts: expect.any(Number) });
    const { payload } = await client.call('connect', connectParams());
    expect(payload).toMatchObject({
      type: 'hello-ok',
      protocol: 4,
      server: { version: '0.1.0' },
      snapshot: {
        presence: [{ mode: 'test', roles: ['operator'] }],
        health: { ok: true },
        sessionDefaults: { mainSessionKey: 'agent:main:main', defaultAgentId: 'main' },
        authMode: 'token',
      },
      auth: { role: 'operator' },
      policy: { maxPayload: 26_214_400, maxBufferedBytes: 52_428_800, tickIntervalMs: 30_000 },
    });
    expect(payload.features.methods).toContain('chat.history');
    expect(payload.features.events).toContain('chat');
  });

  test('accepts a client that supports newer versions too', async () => {
    const client = await openChallenged(await openGateway());
    const hello = await client.call('connect', connectParams({ maxProtocol: 9 }));
    expect(hello).toMatchObject({ ok: true, payload: { protocol: 4 } });
  });

  test('refuses a client of other protocol versions', async () => {
    const gateway = await openGateway();
    for (const versions of [
      { minProtocol: 5, maxProtocol: 6 },
      { minProtocol: 2, maxProtocol: 3 },
    ]) {
      const { frame, closed } = await refusal(gateway, versions);
      expect(frame.error).toMatchObject({
        code: 'INVALID_REQUEST',
        details: { code: 'PROTOCOL_MISMATCH', expectedProtocol: 4 },
      });
      expect(closed.code).toBe(1008);
    }
  });

  test('refuses a malformed connect with the path of the fault', async () => {
    const gateway = await openGateway();
    const { frame, closed } = await refusal(gateway, { client: { id: 'test', mode: 'test' } });
    expect(frame.error?.message).toContain('/client/version is required');
    expect(closed.code).toBe(1008);
    for (const text of ['not json', '[]', '{"type":"req","id":"7","method":"health"}']) {
      const client = await openChallenged(gateway);
      client.ws.send(text);
      expect((await client.frame(({ type }) => type === 'res')).ok).toBe(false);
      expect((await client.gone()).code).toBe(1008);
    }
  });

  test('refuses roles that are not served', async () => {
    const { frame } = await refusal(await openGateway(), { role: 'worker' });
    expect(frame.error?.details).toMatchObject({ code: 'AUTH_SCOPE_MISMATCH' });
  });

  test('times out for a client that sends nothing for 15 seconds', async () => {
    const clock = new StillClock();
    const client = await openChallenged(await openGateway(undefined, { clock }));
    clock.move(15_000);
    expect(await client.gone()).toEqual({ code: 1008, reason: 'handshake timeout' });
  });
});

describe('the secret', () => {
  test('is refused when missing or wrong, with a remedy, and never shown', async () => {
    const gateway = await openGateway();
    const missing = await refusal(gateway, { auth: undefined });
    expect(missing.frame.error?.details).toMatchObject({ code: 'AUTH_TOKEN_MISSING' });
    const wrong = await refusal(gateway, { auth: { token: `${TOKEN}x` } });
    expect(wrong.frame.error?.details).toMatchObject({
      code: 'AUTH_TOKEN_MISMATCH',
      recommendedNextStep: 'update_auth_credentials',
    });
    expect(wrong.closed.code).toBe(1008);
    expect(JSON.stringify(wrong)).not.toContain(TOKEN);
    expect((await openClient(gateway).then((client) => client.close())) ?? 'connected').toBe(
      'connected',
    );
  });

  test('is a password if the config says so', async () => {
    const gateway = await openGateway(undefined, {
      auth: { mode: 'password', password: 'open sesame' },
    });
    const wrong = await refusal(gateway, {});
    expect(wrong.frame.error?.details).toMatchObject({ code: 'AUTH_PASSWORD_MISSING' });
    await openClient(gateway, { auth: { password: 'open sesame' } });
  });

  test('is refused with a delay after ten wrong attempts, while the guesses continue', async () => {
    const clock = new StillClock();
    const gateway = await openGateway(undefined, { clock });
    for (let guess = 0; guess < 10; guess++) {
      const { frame } = await refusal(gateway, { auth: { token: `guess ${guess}` } });
      expect(frame.error?.details).toMatchObject({ code: 'AUTH_TOKEN_MISMATCH' });
    }
    const locked = await refusal(gateway, { auth: { token: 'guess 11' } });
    expect(locked.frame.error).toMatchObject({
      details: { code: 'AUTH_RATE_LIMITED', recommendedNextStep: 'wait_then_retry' },
      retryable: true,
      retryAfterMs: 60_000,
    });
    clock.move(60_000);
    const after = await refusal(gateway, { auth: { token: 'guess 12' } });
    expect(after.frame.error?.details).toMatchObject({ code: 'AUTH_TOKEN_MISMATCH' });
  });

  test('that is wrong once in ten seconds locks no account', () => {
    const clock = new StillClock();
    const failures = new AuthFailures({}, clock);
    for (let time = 0; time < 100; time++) {
      failures.count('1.2.3.4');
      clock.move(10_000);
    }
    expect(failures.lockedForMs('1.2.3.4')).toBe(0);
  });

  test('is required when the gateway starts, and for a public bind', async () => {
    const options = {
      system: new FakeSessionSystem(),
      port: 0,
      tenant: 'default',
      defaultAgentId: 'main',
      models: MODELS,
      mainKey: 'main',
      agents: [],
      version: '1',
      log: silentLog,
      clock: new StillClock(),
    };
    const start = (host: string, auth: GatewayOptions['auth']) =>
      startGateway({ ...options, host, auth });
    await expect(start('127.0.0.1', { mode: 'token' })).rejects.toThrow(
      'gateway.auth.token is empty',
    );
    await expect(start('0.0.0.0', { mode: 'none' })).rejects.toThrow('without authentication');
    await expect(start('::', { mode: 'none' })).rejects.toThrow('without authentication');
  });
});

describe('a page in a browser', () => {
  const allowed = (origin: string | undefined, more: object = {}) =>
    originAllowed({ origin, host: 'box:18789', remoteAddress: '10.0.0.9', mode: 'token', ...more });

  test('may connect from the same host or, on this machine, from a loopback origin', () => {
    expect(allowed(undefined)).toBe(true);
    expect(allowed('http://box:18789')).toBe(true);
    expect(allowed('http://evil.example')).toBe(false);
    expect(allowed('null')).toBe(false);
    expect(allowed('http://localhost:5173')).toBe(false);
    expect(allowed('http://localhost:5173', { remoteAddress: '127.0.0.1' })).toBe(true);
  });

  test('that a forwarder on this machine serves must have the same host', () => {
    const forwarded = { host: '127.0.0.1:18789', remoteAddress: '172.30.1.1' };
    expect(allowed('http://127.0.0.1:18789', forwarded)).toBe(true);
    expect(allowed('http://127.0.0.1:5173', forwarded)).toBe(false);
    expect(allowed('http://localhost:18789', forwarded)).toBe(false);
    expect(allowed('http://127.0.0.1:18789', { ...forwarded, mode: 'none' })).toBe(false);
  });

  test('of the same host is refused without a secret, because of DNS rebinding', () => {
    const rebound = { host: 'evil.example:18789', remoteAddress: '127.0.0.1' };
    expect(allowed('http://evil.example:18789', { ...rebound, mode: 'none' })).toBe(false);
    expect(allowed('http://evil.example:18789', rebound)).toBe(true);
  });

  test('of another host is refused at connect', async () => {
    const { frame } = await refusal(await openGateway(), {}, { origin: 'https://evil.example' });
    expect(frame.error?.details).toMatchObject({ code: 'CONTROL_UI_ORIGIN_NOT_ALLOWED' });
  });

  test.each(['localhost', '127.0.0.1', '127.9.9.9', '[::1]', '::1', '::ffff:127.0.0.1'])(
    '%s is loopback',
    (host) => expect(isLoopback(host)).toBe(true),
  );
  test.each(['0.0.0.0', '::', '127.evil.example', 'localhost.evil.example', '10.0.0.1', ''])(
    '%s is not loopback',
    (host) => expect(isLoopback(host)).toBe(false),
  );
});
