import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { FRAME_BYTES_MAX } from '../../../protocols/gateway/index.ts';
import { Client, connectParams, eventually } from './client.ts';
import { FakeSessionSystem } from './fake-session-system.ts';
import { closeAll, openClient, openGateway, openChallenged } from './opened.ts';
import { StillClock } from './still-clock.ts';

afterEach(closeAll);

describe('bounds', () => {
  test('an unauthenticated client that sends more than 64 KiB is closed, with the limit named', async () => {
    const client = await openChallenged(await openGateway());
    client.request('connect', connectParams({ pathEnv: 'x'.repeat(200_000) }));
    expect(await client.gone()).toEqual({
      code: 1009,
      reason: 'a frame before hello-ok has at most 65536 bytes',
    });
  });

  test('32 silent connections do not block other clients of their IP', async () => {
    const gateway = await openGateway();
    const silent = await Promise.all(Array.from({ length: 32 }, () => openChallenged(gateway)));
    for (let ended = 1; ended <= 3; ended++) {
      // The oldest connection is closed.
      expect((await openClient(gateway)).closed).toBeUndefined();
      await eventually(
        () => silent.filter(({ closed }) => closed).length === ended || undefined,
        'one of the connections to close',
      );
      await openChallenged(gateway);
    }
  });

  test('after the handshake a frame may be large, up to the limit of the policy', async () => {
    const system = new FakeSessionSystem();
    const client = await openClient(await openGateway(system));
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

  test('a client that stops reading is closed, and the others continue', async () => {
    const system = new FakeSessionSystem();
    const gateway = await openGateway(system);
    const slow = await openClient(gateway);
    const quick = await openClient(gateway);
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

  test('a client that reads too slowly for deltas gets the whole text when it catches up', async () => {
    const system = new FakeSessionSystem();
    const gateway = await openGateway(system);
    const slow = await openClient(gateway);
    const quick = await openClient(gateway);
    await quick.call('chat.send', { sessionKey: 'main', message: 'x', idempotencyKey: 'r' });
    slow.ws.pause();
    // Tool results are never omitted, so they fill the buffer of the slow client.
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

  test('a client that does not answer a ping is terminated at the next tick', async () => {
    const clock = new StillClock();
    const gateway = await openGateway(undefined, { clock });
    const client = new Client(gateway.url, { autoPong: false });
    await client.frame(({ event }) => event === 'connect.challenge');
    await client.call('connect', connectParams());
    clock.move(30_000);
    await client.frame(({ event }) => event === 'tick');
    clock.move(30_000);
    expect((await client.gone()).code).toBe(1006);
  });
});

describe('requests after the handshake', () => {
  test('that are malformed, unknown, of the wrong shape or not allowed are refused individually', async () => {
    const gateway = await openGateway();
    const client = await openClient(gateway, { scopes: ['operator.read'] });
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
      'connect must be the first request of a connection',
    );
    expect((await client.call('health')).ok).toBe(true);
  });

  test('that wait when their connection is cut leave no state', async () => {
    const system = new FakeSessionSystem();
    const gateway = await openGateway(system);
    const client = await openClient(gateway);
    await client.call('agent', { message: 'x', idempotencyKey: 'r' });
    client.ws.terminate();
    await client.gone();
    const other = await openClient(gateway);
    system.finish('agent:main:main', 'done');
    expect((await other.chat('final')).payload.runId).toBe('r');
  });
});

describe('the port', () => {
  test('that is in use is refused with a remedy', async () => {
    const gateway = await openGateway();
    await expect(openGateway(undefined, { port: gateway.port })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining(`port ${gateway.port} of 127.0.0.1 is in use`),
    });
  });

  test('serves no socket on another path', async () => {
    const gateway = await openGateway();
    const client = new Client(`${gateway.url}elsewhere`);
    expect((await client.gone()).code).toBe(1006);
  });

  test('survives bytes that are not HTTP', async () => {
    const gateway = await openGateway();
    const socket = connect(gateway.port, '127.0.0.1');
    socket.on('error', () => {}).resume();
    socket.end('\u0000\u0001 garbage\r\n\r\n');
    await eventually(() => (socket.destroyed ? true : undefined), 'the socket to be closed');
    expect((await openClient(gateway)).closed).toBeUndefined();
  });
});
