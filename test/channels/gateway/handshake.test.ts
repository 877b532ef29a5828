import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type Gateway, type GatewayOptions, startGateway } from '../../../channels/index.ts';
import { AuthFailures, isLoopback, originAllowed } from '../../../channels/gateway/access.ts';
import { FRAME_BYTES_MAX } from '../../../protocols/gateway/index.ts';
import type { Clock } from '../../../runtime/clock/clock.ts';
import {
  Client,
  complaintAbout,
  connected,
  connectParams,
  eventually,
  type Frame,
  gatewayOn,
  silentLog,
  TOKEN,
} from './client.ts';
import { FakeSessionSystem } from './fake-session-system.ts';

let gateways: Gateway[] = [];
let clients: Client[] = [];

const open = async (options: Partial<GatewayOptions> = {}, system = new FakeSessionSystem()) => {
  const gateway = await gatewayOn(system, options);
  gateways.push(gateway);
  return gateway;
};

/** A connection that has been challenged and has said nothing yet. */
const stranger = async (gateway: Gateway, headers: Record<string, string> = {}) => {
  const client = new Client(gateway.url, { headers });
  clients.push(client);
  await client.frame(({ event }) => event === 'connect.challenge');
  return client;
};

const refusal = async (gateway: Gateway, more: object, headers?: Record<string, string>) => {
  const client = await stranger(gateway, headers);
  const frame = await client.call('connect', connectParams(more));
  return { frame, closed: await client.gone() };
};

/** Time stands still until it is moved. */
class StillClock implements Clock {
  #now = 1_000_000;
  #timers: { at: number; call: () => void }[] = [];
  wallMs = () => this.#now;
  monotonicMs = () => this.#now;
  after(delayMs: number, call: () => void): () => void {
    const timer = { at: this.#now + delayMs, call };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer);
    };
  }
  move(ms: number): void {
    this.#now += ms;
    const due = this.#timers.filter(({ at }) => at <= this.#now);
    this.#timers = this.#timers.filter(({ at }) => at > this.#now);
    for (const { call } of due) call();
  }
}

afterEach(async () => {
  await Promise.all(gateways.map((each) => each.close()));
  await Promise.all(clients.map((each) => each.close()));
  const complaints = clients.flatMap((each) => each.complaints);
  gateways = [];
  clients = [];
  expect(complaints, 'frames that the published protocol package refuses').toEqual([]);
});

test('the judge of our frames can refuse one', () => {
  const frame: Frame = { type: 'event', event: 'chat', payload: { runId: 'r' }, seq: 1 };
  expect(complaintAbout(frame)).toContain('ChatEvent');
});

describe('hello', () => {
  test('comes after a challenge with a nonce, and describes the gateway', async () => {
    const gateway = await open();
    const client = await stranger(gateway);
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

  test('is said to a client with a device identity and to one that speaks newer versions too', async () => {
    const gateway = await open();
    const device = { id: 'd', publicKey: 'p', signature: 's', signedAt: 1, nonce: 'n' };
    const client = await stranger(gateway);
    const hello = await client.call('connect', connectParams({ device, maxProtocol: 9 }));
    expect(hello).toMatchObject({ ok: true, payload: { protocol: 4 } });
  });

  test('is refused to a client of other protocol versions', async () => {
    const gateway = await open();
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

  test('is refused to what does not look like connect, with the path of the fault', async () => {
    const gateway = await open();
    const { frame, closed } = await refusal(gateway, { client: { id: 'test', mode: 'test' } });
    expect(frame.error?.message).toContain('/client/version is required');
    expect(closed.code).toBe(1008);
    for (const text of ['not json', '[]', '{"type":"req","id":"7","method":"health"}']) {
      const client = await stranger(gateway);
      client.ws.send(text);
      expect((await client.frame(({ type }) => type === 'res')).ok).toBe(false);
      expect((await client.gone()).code).toBe(1008);
    }
  });

  test('is refused to roles that nothing serves yet', async () => {
    const { frame } = await refusal(await open(), { role: 'node' });
    expect(frame.error?.details).toMatchObject({ code: 'AUTH_SCOPE_MISMATCH' });
  });

  test('never comes to a client that says nothing for 15 seconds', async () => {
    const clock = new StillClock();
    const client = await stranger(await open({ clock }));
    clock.move(15_000);
    expect(await client.gone()).toEqual({ code: 1008, reason: 'handshake timeout' });
  });
});

describe('the secret', () => {
  test('missing or wrong is refused with what to do, and never shown', async () => {
    const gateway = await open();
    const missing = await refusal(gateway, { auth: undefined });
    expect(missing.frame.error?.details).toMatchObject({ code: 'AUTH_TOKEN_MISSING' });
    const wrong = await refusal(gateway, { auth: { token: `${TOKEN}x` } });
    expect(wrong.frame.error?.details).toMatchObject({
      code: 'AUTH_TOKEN_MISMATCH',
      recommendedNextStep: 'update_auth_credentials',
    });
    expect(wrong.closed.code).toBe(1008);
    expect(JSON.stringify(wrong)).not.toContain(TOKEN);
    expect((await connected(gateway).then((client) => client.close())) ?? 'connected').toBe(
      'connected',
    );
  });

  test('is a password where the config says so', async () => {
    const gateway = await open({ auth: { mode: 'password', password: 'open sesame' } });
    const wrong = await refusal(gateway, {});
    expect(wrong.frame.error?.details).toMatchObject({ code: 'AUTH_PASSWORD_MISSING' });
    clients.push(await connected(gateway, { auth: { password: 'open sesame' } }));
  });

  test('guessed wrong ten times locks the IP out for a minute, also with the right one', async () => {
    const clock = new StillClock();
    const gateway = await open({ clock });
    for (let guess = 0; guess < 10; guess++) {
      const { frame } = await refusal(gateway, { auth: { token: `guess ${guess}` } });
      expect(frame.error?.details).toMatchObject({ code: 'AUTH_TOKEN_MISMATCH' });
    }
    const locked = await refusal(gateway, {});
    expect(locked.frame.error).toMatchObject({
      details: { code: 'AUTH_RATE_LIMITED', recommendedNextStep: 'wait_then_retry' },
      retryable: true,
      retryAfterMs: 60_000,
    });
    clock.move(60_000);
    clients.push(await connected(gateway));
  });

  test('failures that are a minute apart lock nobody out, and one success forgets them', () => {
    const failures = new AuthFailures();
    for (let at = 0; at < 100; at++) failures.count('1.2.3.4', at * 10_000);
    expect(failures.lockedForMs('1.2.3.4', 1_000_000)).toBe(0);
    for (let at = 0; at < 9; at++) failures.count('5.6.7.8', at);
    failures.forget('5.6.7.8');
    failures.count('5.6.7.8', 10);
    expect(failures.lockedForMs('5.6.7.8', 11)).toBe(0);
  });

  test('must be there when the gateway starts, and there must be one for a public bind', async () => {
    const options = {
      system: new FakeSessionSystem(),
      port: 0,
      tenant: 'default',
      defaultAgentId: 'main',
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

  test('of the same host is not trusted where no secret stops a rebound name', () => {
    const rebound = { host: 'evil.example:18789', remoteAddress: '127.0.0.1' };
    expect(allowed('http://evil.example:18789', { ...rebound, mode: 'none' })).toBe(false);
    expect(allowed('http://evil.example:18789', rebound)).toBe(true);
  });

  test('of another host is refused at connect', async () => {
    const { frame } = await refusal(await open(), {}, { origin: 'https://evil.example' });
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

describe('bounds', () => {
  test('a stranger who sends more than 64 KiB is cut off, with the limit named', async () => {
    const client = await stranger(await open());
    client.request('connect', connectParams({ pathEnv: 'x'.repeat(200_000) }));
    expect(await client.gone()).toEqual({
      code: 1009,
      reason: 'a frame before hello-ok has at most 65536 bytes',
    });
  });

  test('the 33rd stranger of one IP is turned away, and comes in when one has left', async () => {
    const gateway = await open();
    const first = await Promise.all(Array.from({ length: 32 }, () => stranger(gateway)));
    const turnedAway = new Client(gateway.url);
    expect((await turnedAway.gone()).code).toBe(1006);
    await first[0]?.close();
    await eventually(() => (first[0]?.closed ? true : undefined), 'the first stranger to be gone');
    clients.push(await connected(gateway));
  });

  test('after hello a frame may be large, but no larger than the policy says', async () => {
    const system = new FakeSessionSystem();
    const client = await connected(await open({}, system));
    clients.push(client);
    const message = 'x'.repeat(2_000_000);
    const { payload } = await client.call('chat.send', {
      sessionKey: 'main',
      message,
      idempotencyKey: 'large',
    });
    expect(payload.status).toBe('started');
    client.request('chat.send', { message: 'x'.repeat(FRAME_BYTES_MAX) });
    expect((await client.gone()).code).toBe(1009);
  });

  test('a client that stops reading is dropped, and the others go on', async () => {
    const system = new FakeSessionSystem();
    const gateway = await open({}, system);
    const slow = await connected(gateway);
    const quick = await connected(gateway);
    clients.push(slow, quick);
    slow.ws.pause();
    const answer = 'y'.repeat(400_000);
    for (let run = 0; run < 200 && quick.events('chat').length < 400; run++) {
      await quick.call('chat.send', {
        sessionKey: 'main',
        message: 'x',
        idempotencyKey: `r${run}`,
      });
      system.finish('agent:main:main', answer);
      await quick.chat('final', run + 1);
    }
    expect(quick.closed).toBeUndefined();
    slow.ws.resume();
    const { code } = await slow.gone();
    expect([1006, 1008]).toContain(code);
    const entries = await quick.call('system-presence');
    expect(entries.payload.length).toBe(1);
  }, 60_000);

  test('a client that reads too slowly for deltas gets the whole text once it keeps up', async () => {
    const system = new FakeSessionSystem();
    const gateway = await open({}, system);
    const slow = await connected(gateway);
    const quick = await connected(gateway);
    clients.push(slow, quick);
    await quick.call('chat.send', { sessionKey: 'main', message: 'x', idempotencyKey: 'r' });
    slow.ws.pause();
    // Tool results are never left out: they fill what the slow client does not read.
    const filler = 'z'.repeat(4_000_000);
    for (let call = 0; call < 4; call++) {
      system.tool('agent:main:main', { id: `c${call}`, name: 'read', args: {} }, filler);
    }
    await quick.frame(
      ({ payload }) => payload?.data?.toolCallId === 'c3' && payload.data.phase === 'result',
    );
    system.say('agent:main:main', 'one ', 0);
    await quick.frame(({ payload }) => payload?.deltaText === 'one ');
    slow.ws.resume();
    await slow.frame(
      ({ payload }) => payload?.data?.toolCallId === 'c3' && payload.data.phase === 'result',
    );
    system.say('agent:main:main', 'two');
    const caughtUp = await slow.chat('delta');
    expect(caughtUp.payload).toMatchObject({ deltaText: 'one two', replace: true });
    system.finish('agent:main:main', 'one two');
    await slow.chat('final');
    expect(quick.events('chat').map(({ payload }) => payload.deltaText)).toEqual([
      'one ',
      'two',
      undefined,
    ]);
  });

  test('a client that does not answer a ping is gone by the next tick', async () => {
    const clock = new StillClock();
    const gateway = await open({ clock });
    const client = new Client(gateway.url, { autoPong: false });
    clients.push(client);
    await client.frame(({ event }) => event === 'connect.challenge');
    await client.call('connect', connectParams());
    clock.move(30_000);
    await client.frame(({ event }) => event === 'tick');
    clock.move(30_000);
    expect((await client.gone()).code).toBe(1006);
  });
});

describe('requests after hello', () => {
  test('that are malformed, unknown, of the wrong shape or not allowed are refused one by one', async () => {
    const gateway = await open();
    const client = await connected(gateway, { scopes: ['operator.read'] });
    clients.push(client);
    client.ws.send('{');
    client.ws.send(Buffer.from('{}'));
    client.ws.send('{"type":"req","id":"mine"}');
    const bad = [1, 2].map((nth) => client.frame(({ id }) => id === 'invalid', nth));
    const messages = (await Promise.all(bad)).map(({ error }) => error?.message);
    expect(messages).toEqual(['invalid frame: this is not JSON', 'invalid frame: send JSON text']);
    const shape = await client.frame(({ id }) => id === 'mine');
    expect(shape.error?.message).toContain('/method is required');
    const unknown = await client.call('no.such.method', {});
    expect(unknown.error).toMatchObject({
      code: 'INVALID_REQUEST',
      message: 'unknown method: no.such.method',
    });
    const wrong = await client.call('chat.history', { sessionKey: 7, bogus: true });
    expect(wrong.error?.message).toContain('/sessionKey must be string');
    expect(wrong.error?.message).toContain('/bogus is not a known field');
    const write = await client.call('chat.send', {
      sessionKey: 'main',
      message: 'x',
      idempotencyKey: 'k',
    });
    expect(write.error).toMatchObject({
      code: 'FORBIDDEN',
      details: { code: 'MISSING_SCOPE', missingScope: 'operator.write' },
    });
    expect((await client.call('connect', connectParams())).error?.message).toBe(
      'unknown method: connect',
    );
    expect((await client.call('health')).ok).toBe(true);
  });

  test('a connection that is cut while it waits leaves nothing behind', async () => {
    const system = new FakeSessionSystem();
    const gateway = await open({}, system);
    const client = await connected(gateway);
    await client.call('agent', { message: 'x', idempotencyKey: 'r' });
    client.ws.terminate();
    await client.gone();
    const other = await connected(gateway);
    clients.push(other);
    system.finish('agent:main:main', 'done');
    await other.chat('final');
  });
});

describe('the port', () => {
  test('that is taken is refused with what to do', async () => {
    const gateway = await open();
    await expect(open({ port: gateway.port })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining(`port ${gateway.port} of 127.0.0.1 is in use`),
    });
  });

  test('serves no socket on another path', async () => {
    const gateway = await open();
    const client = new Client(`${gateway.url}elsewhere`);
    expect((await client.gone()).code).toBe(1006);
  });

  test('survives bytes that are no HTTP', async () => {
    const gateway = await open();
    const socket = connect(gateway.port, '127.0.0.1');
    socket.on('error', () => {}).resume();
    socket.end('\u0000\u0001 garbage\r\n\r\n');
    await eventually(() => (socket.destroyed ? true : undefined), 'the socket to be closed');
    clients.push(await connected(gateway));
  });
});
