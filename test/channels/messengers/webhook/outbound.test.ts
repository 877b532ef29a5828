import { afterEach, expect, test } from 'vitest';
import { webhook } from '../../../../channels/messengers/webhook/adapter.ts';
import { Secret } from '../../../../runtime/config/index.ts';
import { reservePort } from '../../../servers/reserve-port.ts';
import { openWebhookServer, type WebhookServer } from '../../../servers/webhook-server.ts';
import { eventually } from '../../../runtime/eventually.ts';
import { AccountRun, pieceOf } from '../account-run.ts';

const SECRET = `whsec_${Buffer.from('a key of 24 bytes or more').toString('base64')}`;
const never = new AbortController().signal;
const piece = (id: string, text: string) => pieceOf({ kind: 'dm', id: 'D1' }, text, { id });
let running: WebhookServer | undefined;

const open = async () => {
  const server = await openWebhookServer(SECRET);
  running = server;
  const settings = { secret: new Secret(SECRET), url: `${server.url}/replies` };
  return { server, account: new AccountRun(webhook, settings).account };
};
afterEach(async () => {
  await running?.close();
  running = undefined;
});

test('A reply is posted with a signature that the receiver verifies', async () => {
  const { server, account } = await open();
  expect(await account.send(piece('p1', 'hello'), never)).toEqual({
    status: 'sent',
    messageId: 'p1',
  });
  expect([...server.messages]).toMatchObject([
    ['p1', { type: 'message', id: 'p1', account: 'main', chat: { id: 'D1' }, text: 'hello' }],
  ]);
});

test('429 is reported with the exact time to wait, and nothing was sent', async () => {
  const { server, account } = await open();
  server.faults.push({ kind: 'answer', status: 429, headers: { 'retry-after': '3' } });
  expect(await account.send(piece('p1', 'x'), never)).toMatchObject({
    status: 'not_sent',
    error: { code: 'RATE_LIMIT_EXCEEDED', retryAfterMs: 3000 },
  });
  expect(server.messages.size).toBe(0);
});

const LOST = [
  ['500 before acceptance', { kind: 'answer', status: 500 }],
  ['500 after acceptance', { kind: 'answer', status: 500, accepted: true }],
  ['a cut before acceptance', { kind: 'cut' }],
  ['a cut after acceptance', { kind: 'cut', accepted: true }],
] as const;
test.each(LOST)('%s is an unknown outcome, and a repeat is one message', async (_name, fault) => {
  const { server, account } = await open();
  server.faults.push(fault);
  expect(await account.send(piece('p1', 'x'), never)).toMatchObject({ status: 'unknown' });
  expect(await account.send(piece('p1', 'x'), never)).toMatchObject({
    status: 'sent',
  });
  expect(server.messages.size).toBe(1);
  expect(new Set(server.ids)).toEqual(new Set(['p1']));
});

test('a receiver that does not answer is an unknown outcome when the send is aborted', async () => {
  const { server, account } = await open();
  server.faults.push({ kind: 'silent', accepted: true });
  const aborted = new AbortController();
  const outcome = account.send(piece('p1', 'x'), aborted.signal);
  await eventually(() => expect(server.messages.size).toBe(1));
  aborted.abort();
  expect(await outcome).toMatchObject({ status: 'unknown' });
});

test('a refusal and a redirect are final, and say what to do', async () => {
  const { server, account } = await open();
  server.faults.push({ kind: 'answer', status: 422, body: 'no such chat' });
  const refused = await account.send(piece('p1', 'x'), never);
  expect(refused).toMatchObject({ status: 'not_sent', isFinal: true });
  expect(JSON.stringify(refused)).toContain('no such chat');
  server.faults.push({ kind: 'answer', status: 308, headers: { location: '/other' } });
  const redirected = await account.send(piece('p2', 'x'), never);
  expect(JSON.stringify(redirected)).toContain('configure the final URL');
  expect(server.messages.size).toBe(0);
});

test('a receiver that does not run got nothing, so the piece may be sent again', async () => {
  const url = `http://127.0.0.1:${await reservePort()}`;
  const { account } = new AccountRun(webhook, { secret: new Secret(SECRET), url });
  const outcome = await account.send(piece('p1', 'x'), never);
  expect(outcome).toMatchObject({ status: 'not_sent', error: { code: 'UNAVAILABLE' } });
  expect(outcome).not.toHaveProperty('isFinal');
});

test('without a URL a reply is refused with the key to set', async () => {
  const { account } = new AccountRun(webhook, { secret: new Secret(SECRET) });
  const outcome = await account.send(piece('p1', 'x'), never);
  expect(outcome).toMatchObject({ status: 'not_sent', isFinal: true });
  expect(JSON.stringify(outcome)).toContain('channels.webhook.accounts.main.url');
});
