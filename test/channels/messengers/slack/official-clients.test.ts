/** Slack's own clients work with the local server, so it is a right one to test with. */
import { LogLevel, SocketModeClient } from '@slack/socket-mode';
import { WebClient } from '@slack/web-api';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { SlackApp } from '../../../servers/slack-app.ts';
import { openSlackServer, type SlackServer } from '../../../servers/slack-server.ts';
import { eventually } from '../../../runtime/eventually.ts';

let server: SlackServer;
let app: SlackApp;
let client: SocketModeClient;
const received: { readonly text: string; readonly attempt: number }[] = [];

beforeEach(async () => {
  server = await openSlackServer();
  app = server.addApp();
  received.length = 0;
  client = new SocketModeClient({
    appToken: app.appToken,
    logLevel: LogLevel.ERROR,
    clientPingTimeout: 50,
    clientOptions: { slackApiUrl: server.apiUrl },
  });
});
afterEach(async () => {
  await client.disconnect().catch(() => {});
  await server.close();
});

type Arrived = {
  readonly ack: () => Promise<void>;
  readonly event: { readonly text: string };
  readonly retry_num: number;
};
const receive = (isAcknowledged: (attempt: number) => boolean = () => true) =>
  client.on('message', ({ ack, event, retry_num }: Arrived) => {
    received.push({ text: event.text, attempt: retry_num });
    if (isAcknowledged(retry_num)) void ack();
  });

test('SocketModeClient connects, receives an event and acknowledges it', async () => {
  receive();
  await client.start();
  app.write('D1', 'hi');
  await eventually(() => expect(app.acknowledged).toHaveLength(1));
  expect(received).toEqual([{ text: 'hi', attempt: 0 }]);
});

test('SocketModeClient receives an event again until it acknowledges it', async () => {
  receive((attempt) => attempt >= 2);
  await client.start();
  app.write('D1', 'hi');
  await eventually(() => expect(app.acknowledged).toHaveLength(1));
  // A client whose ping is late connects again, and may miss an attempt between.
  const attempts = received.map(({ attempt }) => attempt);
  expect(attempts).toEqual([...new Set(attempts)].toSorted((a, b) => a - b));
  expect(attempts.length).toBeGreaterThan(1);
  expect(attempts.at(-1)).toBeGreaterThanOrEqual(2);
});

test('SocketModeClient connects again after a refresh, and receives what came meanwhile', async () => {
  receive();
  await client.start();
  app.disconnect('refresh_requested');
  app.write('D1', 'meanwhile');
  await eventually(() => expect(app.acknowledged).toHaveLength(1));
  await eventually(() => expect(app.sockets.size).toBe(1));
  app.write('D1', 'after it');
  await eventually(() => expect(app.acknowledged).toHaveLength(2));
});

test('WebClient posts, edits and finds a message by its metadata', async () => {
  const web = new WebClient(app.botToken, { slackApiUrl: server.apiUrl });
  expect(await web.auth.test()).toMatchObject({ user_id: app.user, team_id: app.team });
  const metadata = { event_type: 'test', event_payload: { id: 'one' } };
  const { ts } = await web.chat.postMessage({ channel: 'C1', text: 'first', metadata });
  await web.chat.update({ channel: 'C1', ts: ts!, text: 'second' });
  const history = { channel: 'C1', include_all_metadata: true };
  expect((await web.conversations.history(history)).messages).toMatchObject([
    { ts, text: 'second', metadata },
  ]);
  await web.chat.postMessage({ channel: 'C1', text: 'below', thread_ts: ts! });
  expect((await web.conversations.history(history)).messages).toHaveLength(1);
  const { messages } = await web.conversations.replies({ ...history, ts: ts! });
  expect(messages?.map(({ text }) => text)).toEqual(['below', 'second']);
});

test('WebClient understands a rate limit, a refusal and a revoked token', async () => {
  const options = { slackApiUrl: server.apiUrl, rejectRateLimitedCalls: true };
  const web = new WebClient(app.botToken, options);
  const post = () => web.chat.postMessage({ channel: 'C1', text: 'x' });
  server.faults.push({ kind: 'answer', status: 429, headers: { 'retry-after': '3' } });
  await expect(post()).rejects.toMatchObject({ retryAfter: 3 });
  await expect(web.chat.postMessage({ channel: 'C9', text: 'x' })).rejects.toMatchObject({
    data: { error: 'channel_not_found' },
  });
  app.revoke();
  await expect(post()).rejects.toMatchObject({ data: { error: 'token_revoked' } });
  expect(app.posted).toEqual([]);
});
