/**
 * What a gateway client guarantees, at a real gateway, over the WebSocket of a Node program and
 * over one that behaves like a browser's.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import { WebSocket as BrowserSocket } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runAgent } from '../../cli/chat/run-agent.ts';
import { connectParams } from '../../client/connect-params.ts';
import { type ClientState, GatewayClient } from '../../client/gateway-client.ts';
import type { ClientSocket } from '../../client/gateway-connection.ts';
import * as operator from '../../client/operator-client.ts';
import { eventually } from '../runtime/eventually.ts';
import { MAIN } from '../channels/gateway/client.ts';
import { FakeCell } from '../channels/gateway/fake-session-system.ts';
import * as programs from '../cli/gateway.ts';
import { runGateway, TOKEN } from '../cli/gateway.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { oneAddress } from '../kill/gateways.ts';

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

describe.each<[string, (url: string) => ClientSocket]>([
  ['the WebSocket of ws', operator.openSocket],
  ["a browser's WebSocket", (url) => new BrowserSocket(url)],
])('over %s', (_, openSocket) => {
  const connect = (options: operator.OperatorOptions) =>
    operator.connectOperator({ openSocket, ...options });
  const clientOf = (url: string, options: Partial<operator.OperatorOptions> = {}) =>
    programs.clientOf(url, { openSocket, ...options });

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

    it('connects again, with other parameters, when a caller asks for it', async () => {
      const { gateway } = await runGateway();
      let connects = 0;
      const client = new GatewayClient({
        url: `ws://127.0.0.1:${gateway.port}`,
        openSocket,
        introduce: async () => {
          connects += 1;
          return connectParams({ token: connects === 1 ? 'wrong' : TOKEN });
        },
      });
      onTestFinished(() => client.close());
      client.connect();
      await expect(client.ready()).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
      client.connect();
      await client.ready();
      client.reconnect();
      await eventually(() => expect(connects).toBe(3));
      await client.ready();
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
      const wrong = client.request('agent', {
        message: 'x',
        idempotencyKey: 'y',
        agentId: 'unknown',
      });
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
      const refused = connect({ url, token: 'wrong', persistent: true });
      await expect(refused).rejects.toMatchObject({
        code: 'UNAUTHORIZED',
        details: { code: 'AUTH_TOKEN_MISMATCH' },
      });
      await expect(connect({ url })).rejects.toMatchObject({
        details: { code: 'AUTH_TOKEN_MISSING' },
      });
    });

    it('reports that no gateway responds', async () => {
      const url = `ws://127.0.0.1:${await reservePort()}`;
      await expect(connect({ url, token: TOKEN })).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: expect.stringContaining(`no gateway responds at ${url}`),
        details: { connection: 'unreachable' },
      });
    });

    it('reports that the server is not a gateway', async () => {
      const url = await scripted((send) => send('hello, this is something else'));
      await expect(connect({ url })).rejects.toThrow(/the server at this address is not a gateway/);
    });

    it('does not wait forever for the handshake', async () => {
      const url = await scripted(() => {});
      await expect(connect({ url, helloTimeoutMs: 30 })).rejects.toMatchObject({
        details: { connection: 'unreachable' },
      });
    });

    it('retries until there is a gateway, if configured', async () => {
      const port = await reservePort();
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
      await expect(run).resolves.toMatchObject({
        runId: 'once',
        status: 'ok',
        text: 'Half of it.',
      });
      const user = (cell.transcripts.get(`default/session/${MAIN}`) ?? []).filter(
        ({ entry }) => entry.type === 'user',
      );
      expect(user).toHaveLength(1);
    });

    it('delivers missed events in order, before the client is open again', async () => {
      const { url, system, gateway } = await runGateway();
      const address = await oneAddress([gateway.port]);
      onTestFinished(() => address.close());
      const client = await clientOf(address.url, { backoffMs: { first: 200, most: 200 } });
      const watcher = await clientOf(url);
      const seen: (string | undefined)[] = [];
      let gaps = 0;
      let watched = 0;
      client.watch(({ kind }) => void seen.push(kind));
      client.on('chat', (chat) => {
        seen.push(chat.state === 'delta' ? chat.deltaText : chat.state);
      });
      client.onGap(() => (gaps += 1));
      watcher.onEvent(({ event }) => (watched += event === 'chat' ? 1 : 0));
      await client.request('chat.send', { sessionKey: MAIN, message: 'go', idempotencyKey: 'r' });
      system.say(MAIN, 'one ');
      await eventually(() => expect(seen).toContain('one '));
      address.cut();
      await eventually(() => expect(seen).toContain('waiting'));
      system.say(MAIN, 'two ');
      system.finish(MAIN, 'one two ');
      await eventually(() => expect(watched).toBe(3));
      await client.ready();
      expect(seen).toEqual(['one ', 'waiting', 'connecting', 'two ', 'final', 'open']);
      expect(gaps).toBe(0);
    });

    it('is replaced at once when a caller connects during the delay', async () => {
      const { gateway } = await runGateway();
      const address = await oneAddress([gateway.port]);
      onTestFinished(() => address.close());
      const client = await clientOf(address.url, { backoffMs: { first: 60_000, most: 60_000 } });
      const lost = new Promise((resolve) =>
        client.watch(({ kind }) => kind === 'waiting' && resolve(0)),
      );
      address.cut();
      await lost;
      expect(client.state).toMatchObject({ lost: true, restarting: false });
      client.connect();
      await client.ready();
      client.connect();
      expect(client.state.kind).toBe('open');
    });

    it('is announced by a restarting gateway, which is then retried soon', async () => {
      const cell = new FakeCell();
      const first = await runGateway({ cell });
      const backoffMs = { first: 60_000, most: 60_000, restart: 5 };
      const client = await clientOf(first.url, { backoffMs });
      const states: ClientState[] = [];
      client.watch((state) => states.push(state));
      await first.gateway.close();
      await runGateway({ cell, port: first.gateway.port });
      await client.ready();
      expect(states[0]).toMatchObject({ kind: 'waiting', lost: true, restarting: true });
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
        client.watch(({ kind }) => kind === 'waiting' && resolve(kind)),
      );
      await expect(lost).resolves.toBe('waiting');
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
    it('is final', async () => {
      const { url } = await runGateway();
      const client = await clientOf(url);
      client.close();
      client.connect();
      client.reconnect();
      expect(client.state).toEqual({ kind: 'closed' });
      await expect(client.ready()).rejects.toMatchObject({ details: { connection: 'closed' } });
    });

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
});
