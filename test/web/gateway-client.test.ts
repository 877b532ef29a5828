/** The page's connection to a real gateway: events that it missed while it was disconnected. */
import { afterEach, expect, test } from 'vitest';
import { WebSocket as Socket } from 'ws';
import { eventually, MAIN, TOKEN } from '../channels/gateway/client.ts';
import { closeAll, openGateway } from '../channels/gateway/opened.ts';
import { FakeSessionSystem } from '../channels/gateway/fake-session-system.ts';
import { type ConnectionState, GatewayClient } from '../../web/gateway-client.ts';
import { PageIdentity } from '../../web/page-identity.ts';

type Heard = { readonly event: string; readonly payload: { deltaText?: string; state?: string } };

const open = async (system: FakeSessionSystem) => {
  const gateway = await openGateway(system);
  const told: (string | undefined)[] = [];
  const sockets: Socket[] = [];
  let gaps = 0;
  // The browser has stored nothing.
  const keep = { getItem: () => null, setItem() {}, removeItem() {}, key: () => null, length: 0 };
  const identity = new PageIdentity(TOKEN, keep);
  const client = new GatewayClient({
    url: gateway.url.replace('http', 'ws'),
    token: TOKEN,
    locale: 'en',
    introduce: (challenge) => identity.introduce(challenge),
    openSocket: (url) => {
      const socket = new Socket(url);
      sockets.push(socket);
      return socket as unknown as WebSocket;
    },
    onState: ({ kind }: ConnectionState) => told.push(kind),
    onEvent: (event, payload) => {
      const heard = { event, payload } as Heard;
      if (event === 'chat') told.push(heard.payload.deltaText ?? heard.payload.state);
    },
    onGap: () => gaps++,
  });
  client.start();
  await eventually(() => client.online || undefined, 'the connection');
  return { gateway, client, told, sockets, gaps: () => gaps };
};

afterEach(closeAll);

test('missed events are passed on in order, before the page is online', async () => {
  const system = new FakeSessionSystem();
  const { client, told, sockets, gaps } = await open(system);
  await client.request('chat.send', { sessionKey: MAIN, message: 'go', idempotencyKey: 'r' });
  await eventually(() => system.running(MAIN), 'the run');
  system.say(MAIN, 'one ');
  await eventually(() => told.includes('one ') || undefined, 'the first words');
  sockets[0]!.terminate();
  await eventually(() => told.includes('waiting') || undefined, 'the break');
  system.say(MAIN, 'two ');
  system.finish(MAIN, 'one two ');
  await eventually(() => told.includes('final') || undefined, 'the end');
  await eventually(() => client.online || undefined, 'the connection');
  expect(told).toEqual([
    'connecting',
    'online',
    'one ',
    'waiting',
    'connecting',
    'two ',
    'final',
    'online',
  ]);
  expect(gaps()).toBe(0);
  client.stop();
});

test('interrupted requests are rejected, and may be sent again', async () => {
  const { client, sockets } = await open(new FakeSessionSystem());
  const cut = client.request('agent.wait', { runId: 'none', timeoutMs: 30_000 });
  sockets[0]!.terminate();
  await expect(cut).rejects.toMatchObject({ code: 'DISCONNECTED', retryable: true });
  await eventually(() => client.online || undefined, 'the connection');
  expect(await client.request('exec.approval.list', {})).toEqual([]);
  client.stop();
});
