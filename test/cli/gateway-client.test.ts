import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runAgent } from '../../cli/chat/run-agent.ts';
import { type ClientState, GatewayClient } from '../../cli/client/gateway-client.ts';
import { eventually } from '../runtime/eventually.ts';
import { MAIN } from '../channels/gateway/client.ts';
import { FakeCell } from '../channels/gateway/fake-session-system.ts';
import { clientOf, freePort, runGateway, TOKEN } from './gateway.ts';

/** A server that sends whatever the test wants. */
async function scripted(script: (send: (text: string) => void, heard: string) => void) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  onTestFinished(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  server.on('connection', (socket) => {
    const send = (text: string) => socket.send(text);
    script(send, '');
    socket.on('message', (data: Buffer) => script(send, data.toString()));
  });
  await once(server, 'listening');
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('a client', () => {
  it('completes the handshake, sends requests, and receives events', async () => {
    const { url, system } = await runGateway();
    const client = await clientOf(url);
    expect(client.state).toMatchObject({ kind: 'open', hello: { protocol: 4 } });
    const chat = new Promise((resolve) => client.on('chat', resolve));
    const sent = await client.request('chat.send', {
      sessionKey: 'main',
      message: 'hi',
      idempotencyKey: 'one',
    });
    expect(sent).toMatchObject({ runId: 'one', status: 'started' });
    system.say(MAIN, 'Hello');
    expect(await chat).toMatchObject({ runId: 'one', state: 'delta', deltaText: 'Hello' });
    await expect(client.request('sessions.list', {})).resolves.toMatchObject({ count: 1 });
  });

  it('waits for the second response with expectFinal, and reports the first', async () => {
    const { url } = await runGateway({ echo: true });
    const client = await clientOf(url);
    const accepted: unknown[] = [];
    const final = await client.request(
      'agent',
      { message: 'hi', idempotencyKey: 'two' },
      { expectFinal: true, onAccepted: (payload) => accepted.push(payload) },
    );
    expect(accepted).toMatchObject([{ runId: 'two', status: 'accepted' }]);
    expect(final).toMatchObject({ status: 'ok', result: { payloads: [{ text: 'echo: hi' }] } });
  });

  it('receives no events after it unsubscribed', async () => {
    const { url, system } = await runGateway();
    const client = await clientOf(url);
    const first: string[] = [];
    const second: string[] = [];
    const stop = client.on('chat', ({ state }) => first.push(state));
    client.on('chat', ({ state }) => second.push(state));
    stop();
    await client.request('chat.send', { sessionKey: 'main', message: 'hi', idempotencyKey: 'x' });
    system.finish(MAIN, 'done');
    await eventually(() => expect(second).toContain('final'));
    expect(first).toEqual([]);
  });

  it('rejects a refused request with our own error code', async () => {
    const { url } = await runGateway();
    const client = await clientOf(url);
    const wrong = client.request('agent', { message: 'x', idempotencyKey: 'y', agentId: 'nobody' });
    await expect(wrong).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      details: { code: 'UNKNOWN_AGENT_ID' },
    });
  });

  it('stops waiting after its time-out or by its signal, and the run continues', async () => {
    const { url, system } = await runGateway();
    const client = await clientOf(url);
    const params = { message: 'hi', idempotencyKey: 'slow' };
    const late = client.request('agent', params, { expectFinal: true, timeoutMs: 50 });
    await expect(late).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    const given = new AbortController();
    const waiting = client.request('agent', params, { expectFinal: true, signal: given.signal });
    given.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELLED' });
    await expect(
      client.request('agent', params, { expectFinal: true, signal: given.signal }),
    ).rejects.toMatchObject({ code: 'CANCELLED' });
    system.finish(MAIN, 'here I am');
    const again = await client.request('agent', params, { expectFinal: true });
    expect(again).toMatchObject({ status: 'ok', result: { payloads: [{ text: 'here I am' }] } });
  });
});

describe('a client that cannot connect', () => {
  it('does not retry with a wrong token', async () => {
    const { url } = await runGateway();
    const refused = GatewayClient.connect({ url, token: 'wrong', persistent: true });
    await expect(refused).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      details: { code: 'AUTH_TOKEN_MISMATCH' },
    });
    await expect(GatewayClient.connect({ url })).rejects.toMatchObject({
      details: { code: 'AUTH_TOKEN_MISSING' },
    });
  });

  it('reports that no gateway responds', async () => {
    const url = `ws://127.0.0.1:${await freePort()}`;
    await expect(GatewayClient.connect({ url, token: TOKEN })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: `no gateway responds at ${url} (ECONNREFUSED)`,
      details: { connection: 'unreachable' },
    });
  });

  it('reports that the server is not a gateway', async () => {
    const url = await scripted((send) => send('hello, this is something else'));
    await expect(GatewayClient.connect({ url })).rejects.toThrow(
      /the server at this address is not a gateway/,
    );
  });

  it('does not wait forever for the handshake', async () => {
    const url = await scripted(() => {});
    await expect(GatewayClient.connect({ url, helloTimeoutMs: 30 })).rejects.toMatchObject({
      details: { connection: 'unreachable' },
    });
  });

  it('retries until there is a gateway, if configured', async () => {
    const port = await freePort();
    const connecting = clientOf(`ws://127.0.0.1:${port}`, { persistent: true });
    const { url } = await runGateway({ port });
    const client = await connecting;
    expect(client.state.kind).toBe('open');
    expect(url).toBe(`ws://127.0.0.1:${port}`);
  });
});

describe('a lost connection', () => {
  it('rejects pending requests, reconnects, and repeats no request', async () => {
    const cell = new FakeCell();
    const first = await runGateway({ cell });
    const client = await clientOf(first.url);
    const states: ClientState['kind'][] = [];
    client.watch(({ kind }) => states.push(kind));
    const waiting = client.request(
      'agent',
      { message: 'hi', idempotencyKey: 'k' },
      { expectFinal: true },
    );
    await eventually(() => expect(first.system.running(MAIN)).toBe('k'));
    const [lost] = await Promise.allSettled([waiting, first.gateway.close()]);
    expect(lost).toMatchObject({ reason: { details: { connection: 'lost' } } });
    await expect(client.request('health', {})).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const second = await runGateway({ cell, port: first.gateway.port });
    await client.ready();
    expect(states.filter((kind) => kind === 'open')).toHaveLength(1);
    expect(second.system.asked).toEqual([]);
  });

  it('does not end a run: the client follows it to its one answer after a restart', async () => {
    const cell = new FakeCell();
    const first = await runGateway({ cell });
    const client = await clientOf(first.url);
    const texts: string[] = [];
    const run = runAgent(
      client,
      { message: 'hi', runId: 'once' },
      { onText: (text) => texts.push(text) },
    );
    await eventually(() => expect(first.system.running(MAIN)).toBe('once'));
    first.system.say(MAIN, 'Half of ');
    await eventually(() => expect(texts.at(-1)).toBe('Half of '));
    await first.gateway.close();
    const second = await runGateway({ cell, port: first.gateway.port });
    second.system.resume();
    await eventually(() => expect(second.system.asked).toHaveLength(1));
    second.system.say(MAIN, 'Half of it.');
    second.system.finish(MAIN, 'Half of it.');
    await expect(run).resolves.toMatchObject({ runId: 'once', status: 'ok', text: 'Half of it.' });
    const user = (cell.transcripts.get(`default/session/${MAIN}`) ?? []).filter(
      ({ entry }) => entry.type === 'user',
    );
    expect(user).toHaveLength(1);
  });

  it('is detected when the gateway is silent without closing', async () => {
    const hello = (id: string) => ({
      type: 'res',
      id,
      ok: true,
      payload: {
        type: 'hello-ok',
        protocol: 4,
        server: { connId: 'one' },
        features: { methods: [], events: [] },
        policy: { tickIntervalMs: 20 },
      },
    });
    const url = await scripted((send, heard) => {
      if (heard === '') {
        send('{"type":"event","event":"connect.challenge","payload":{"nonce":"n","ts":1}}');
      } else send(JSON.stringify(hello((JSON.parse(heard) as { id: string }).id)));
    });
    const client = await clientOf(url);
    const lost = new Promise((resolve) =>
      client.watch(({ kind }) => kind === 'lost' && resolve(kind)),
    );
    await expect(lost).resolves.toBe('lost');
  });

  it('is final without reconnect, and rejects every pending request', async () => {
    const { url, gateway } = await runGateway();
    const client = await clientOf(url, { reconnect: false });
    const run = runAgent(client, { message: 'hi' });
    const [failed] = await Promise.allSettled([run, gateway.close()]);
    expect(failed).toMatchObject({ reason: { code: 'UNAVAILABLE' } });
    expect(client.state).toMatchObject({ kind: 'closed', why: { code: 'UNAVAILABLE' } });
    await expect(client.ready()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('closes permanently when the restarted gateway refuses', async () => {
    const { url, gateway } = await runGateway();
    let answers = 0;
    const client = await clientOf(url);
    client.watch(() => (answers += 1));
    await gateway.close();
    const other = new WebSocketServer({ port: gateway.port, host: '127.0.0.1' });
    onTestFinished(() => {
      for (const socket of other.clients) socket.terminate();
      other.close();
    });
    other.on('connection', (socket) => {
      socket.send('{"type":"event","event":"connect.challenge","payload":{"nonce":"n","ts":1}}');
      socket.on('message', (data: Buffer) => {
        const { id } = JSON.parse(data.toString()) as { id: string };
        const details = { code: 'AUTH_TOKEN_MISMATCH' };
        const error = { code: 'INVALID_REQUEST', message: 'no', details };
        socket.send(JSON.stringify({ type: 'res', id, ok: false, error }));
      });
    });
    await expect(client.ready()).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    expect(client.state.kind).toBe('closed');
    expect(answers).toBeGreaterThan(0);
  });
});

describe('closing', () => {
  it('rejects every pending request, and may be called again', async () => {
    const { url } = await runGateway();
    const client = await clientOf(url);
    const waiting = client.request(
      'agent',
      { message: 'hi', idempotencyKey: 'c' },
      { expectFinal: true },
    );
    client.close();
    client.close();
    await expect(waiting).rejects.toMatchObject({ details: { connection: 'closed' } });
    await expect(client.request('health', {})).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});

describe('runAgent', () => {
  it('returns a failed run as a value, with its text and the reason', async () => {
    const { url, system } = await runGateway();
    const client = await clientOf(url);
    const run = runAgent(client, { message: 'hi', runId: 'bad' });
    await eventually(() => expect(system.running(MAIN)).toBe('bad'));
    system.fail(MAIN, { code: 'UNAUTHORIZED', message: 'the provider refuses the key' });
    await expect(run).resolves.toMatchObject({
      status: 'error',
      error: { code: 'UNAUTHORIZED', message: 'the provider refuses the key' },
    });
  });

  it('distinguishes a timed-out from an aborted run', async () => {
    const { url, system } = await runGateway();
    const client = await clientOf(url);
    const slow = runAgent(client, { message: 'hi', runId: 'slow' });
    await eventually(() => expect(system.running(MAIN)).toBe('slow'));
    system.fail(MAIN, { code: 'DEADLINE_EXCEEDED', message: 'too slow' }, 'timeout');
    await expect(slow).resolves.toMatchObject({ status: 'timeout' });
    const stopped = runAgent(client, { message: 'hi', runId: 'stopped' });
    await eventually(() => expect(system.running(MAIN)).toBe('stopped'));
    await client.request('chat.abort', { sessionKey: 'main', runId: 'stopped' });
    await expect(stopped).resolves.toMatchObject({ status: 'aborted' });
  });

  it('reports tools when they are called', async () => {
    const { url, system } = await runGateway();
    const client = await clientOf(url);
    const tools: string[] = [];
    const run = runAgent(
      client,
      { message: 'hi', runId: 't' },
      { onTool: (name) => tools.push(name) },
    );
    await eventually(() => expect(system.running(MAIN)).toBe('t'));
    system.tool(MAIN, { id: '1', name: 'clock', args: {} }, 'noon');
    system.finish(MAIN, 'It is noon.');
    await expect(run).resolves.toMatchObject({ text: 'It is noon.' });
    expect(tools).toEqual(['clock']);
  });
});
