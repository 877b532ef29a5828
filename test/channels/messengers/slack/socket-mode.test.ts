import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { slack } from '../../../../channels/messengers/slack/adapter.ts';
import { Secret } from '../../../../runtime/config/index.ts';
import { type Clock, systemClock } from '../../../../runtime/index.ts';
import { eventually } from '../../../runtime/eventually.ts';
import type { SlackApp } from '../../../servers/slack-app.ts';
import { openSlackServer, type SlackServer } from '../../../servers/slack-server.ts';
import { AccountRun } from '../account-run.ts';
import { settingsOf } from './slack-messenger.ts';

let server: SlackServer;
let app: SlackApp;
const runs: AccountRun[] = [];

beforeEach(async () => {
  server = await openSlackServer();
  app = server.addApp();
});
afterEach(async () => {
  await Promise.all(runs.splice(0).map((run) => run.stop()));
  await server.close();
});

const open = (clock?: Clock, more: object = {}): AccountRun => {
  const run = new AccountRun(slack, { ...settingsOf(server, app, true), ...more }, clock);
  runs.push(run);
  return run;
};
/** A tenth of a second is ten. */
const fast: Clock = {
  ...systemClock,
  after: (delayMs, call) => systemClock.after(delayMs / 100, call),
};
/** Of all connections that there were, only the last one is open. */
const refreshed = (connections: number) =>
  eventually(() => {
    expect(app.connections).toBe(connections);
    expect(app.sockets.size).toBe(1);
  });
const texts = (run: AccountRun) => [...run.stored.values()].map(({ text }) => text);

test('an event is acknowledged only after it is stored', async () => {
  const run = await open().connected();
  let store = () => {};
  const stored = new Promise<void>((resolve) => (store = resolve));
  let isAsked = false;
  run.beforeStore = () => {
    isAsked = true;
    return stored;
  };
  app.ackMs = 60_000;
  app.write('D1', 'hi');
  await eventually(() => expect(isAsked).toBe(true));
  expect(app.acknowledged).toEqual([]);
  store();
  await eventually(() => expect(app.acknowledged).toHaveLength(1));
});

test('lost events: a refresh opens the new socket before it closes the old one', async () => {
  const run = await open().connected();
  let count = 0;
  for (let refresh = 0; refresh < 5; refresh += 1) {
    app.disconnect(refresh % 2 === 0 ? 'warning' : 'refresh_requested');
    for (let n = 0; n < 20; n += 1) app.write('D1', `message ${count++}`);
    await refreshed(refresh + 2);
    for (let n = 0; n < 20; n += 1) app.write('D1', `message ${count++}`);
  }
  await run.received(count);
  expect(new Set(texts(run)).size).toBe(count);
  expect(app.socketsSeen).toBe(2);
  expect(run.connections).toBe(1);
  expect(run.end).toBeUndefined();
});

test('leaked sockets: repeated requests for a refresh never open a third socket', async () => {
  await open().connected();
  for (let n = 0; n < 10; n += 1) app.disconnect('refresh_requested');
  await refreshed(2);
  app.disconnect('warning');
  await refreshed(3);
  expect(app.socketsSeen).toBe(2);
});

test('a refresh that fails keeps the old connection until Slack closes it', async () => {
  const run = await open().connected();
  server.faults.push({ path: 'apps.connections.open', kind: 'answer', status: 500 });
  app.disconnect('refresh_requested');
  await eventually(() => expect(run.warnings).toHaveLength(1));
  app.write('D1', 'still here');
  await run.received(1);
  app.cut();
  expect(await run.ended()).toMatchObject({ isFinal: false, error: { code: 'UNAVAILABLE' } });
});

test('too many sockets end the connection with the reason and a time to wait', async () => {
  app.socketsMax = 0;
  const run = open();
  run.start();
  const end = await run.ended();
  expect(end).toMatchObject({ isFinal: false, error: { code: 'RATE_LIMIT_EXCEEDED' } });
  expect(end.error.message).toContain('stop other programs that use its appToken');
  expect(end.error.retryAfterMs).toBeGreaterThan(0);
});

test('Socket Mode that is switched off ends the connection finally', async () => {
  app.isSocketModeOff = true;
  const run = open();
  run.start();
  expect(await run.ended()).toMatchObject({ isFinal: true, error: { code: 'FORBIDDEN' } });
  expect(app.sockets.size).toBe(0);
});

test('link_disabled while connected ends the connection finally', async () => {
  const run = await open().connected();
  app.disconnect('link_disabled');
  expect(await run.ended()).toMatchObject({ isFinal: true });
  await eventually(() => expect(app.sockets.size).toBe(0));
});

test('endless start: no hello ends the attempt', async () => {
  app.isMute = true;
  const run = open(fast);
  run.start();
  const end = await run.ended();
  expect(end).toMatchObject({ isFinal: false });
  expect(end.error.message).toContain('did not accept the connection');
  await eventually(() => expect(app.sockets.size).toBe(0));
});

test('deaf while healthy: a half-open socket is noticed by its unanswered pings', async () => {
  const run = await open(fast).connected();
  server.freeze();
  const end = await run.ended();
  expect(end).toMatchObject({ isFinal: false, error: { code: 'UNAVAILABLE' } });
  expect(end.error.message).toContain('pings');
  expect(run.account.isConnected()).toBe(false);
});

test('a stop during a refresh closes both sockets', async () => {
  const run = await open().connected();
  app.isMute = true;
  app.disconnect('refresh_requested');
  await eventually(() => expect(app.sockets.size).toBe(2));
  await run.stop();
  expect(run.end).toMatchObject({ isFinal: false, error: { code: 'CANCELLED' } });
  await eventually(() => expect(app.sockets.size).toBe(0));
});

test('tokens, rights and settings that cannot work end finally with what to do', async () => {
  const endOf = async (more: object) => {
    const run = open(undefined, more);
    run.start();
    return run.ended();
  };
  const wrong = await endOf({ appToken: new Secret(app.botToken) });
  expect(wrong).toMatchObject({ isFinal: true });
  expect(wrong.error.message).toContain('appToken is `xapp-…`');
  const neither = await endOf({ appToken: undefined });
  expect(neither).toMatchObject({ isFinal: true });
  expect(neither.error.message).toContain('channels.slack.accounts.main.appToken');
  app.scopes = 'im:history';
  const missing = await endOf({});
  expect(missing).toMatchObject({ isFinal: true });
  expect(missing.error.message).toContain('add the scope chat:write');
});

test('Slack that is not reachable, limits or fails is tried again later', async () => {
  for (const fault of [
    { kind: 'cut' },
    { kind: 'answer', status: 503 },
    { kind: 'answer', status: 200, body: '{"ok":false,"error":"internal_error"}' },
  ] as const) {
    server.faults.push(fault);
    const run = open();
    run.start();
    expect(await run.ended()).toMatchObject({ isFinal: false, error: { code: 'UNAVAILABLE' } });
  }
  server.faults.push({ kind: 'answer', status: 429, headers: { 'retry-after': '60' } });
  const run = open();
  run.start();
  expect(await run.ended()).toMatchObject({ isFinal: false, error: { retryAfterMs: 60_000 } });
});

test('10,000 hostile frames store nothing and end nothing', async () => {
  const run = await open().connected();
  const [socket] = app.sockets;
  const shapes = [
    () => randomBytes(50),
    () => randomBytes(50).toString('latin1'),
    () => '[]',
    () => 'null',
    () => JSON.stringify({ type: 'events_api', envelope_id: 'x', payload: { event: null } }),
    () => JSON.stringify({ type: 'events_api', envelope_id: 'x' }),
    () => JSON.stringify({ type: 'slash_commands', envelope_id: 'x', payload: {} }),
    () => JSON.stringify({ type: 'events_api', envelope_id: 7, payload: 'text' }),
  ];
  for (let n = 0; n < 10_000; n += 1) socket!.send(shapes[n % shapes.length]!());
  app.write('D1', 'after them');
  await run.received(1);
  expect(texts(run)).toEqual(['after them']);
  expect(run.end).toBeUndefined();
});
