import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { slack } from '../../../../channels/messengers/slack/adapter.ts';
import type { WebhookRequest } from '../../../../channels/messengers/adapter.ts';
import type { TroupeError } from '../../../../protocols/errors.ts';
import { Secret } from '../../../../runtime/config/index.ts';
import { SlackApp } from '../../../servers/slack-app.ts';
import { AccountRun } from '../account-run.ts';
import { post } from '../requests.ts';

const app = new SlackApp();
const open = (signingSecret: string | undefined = app.signingSecret) =>
  new AccountRun(slack, {
    botToken: new Secret('xoxb-1'),
    mediaBytesMax: 0,
    ...(signingSecret && { signingSecret: new Secret(signingSecret) }),
  });
const secondsAgo = (seconds: number) => String(Math.floor(Date.now() / 1000) - seconds);
const signed = (body: string, timestamp?: string) => post(body, app.signed(body, timestamp));
const answerTo = async (request: WebhookRequest, { account } = open()) =>
  account.webhook!(request).catch(({ code }: TroupeError) => code);
const event = { type: 'message', channel: 'D1', user: 'U1', text: 'hi', ts: '5.1' };
const HELLO = JSON.stringify(app.payloadOf({ eventId: 'Ev1', event }));

test('the handshake is answered with its challenge, if it is signed', async () => {
  const body = JSON.stringify({ type: 'url_verification', challenge: 'c1' });
  expect(await answerTo(signed(body))).toMatchObject({ status: 200, body: 'c1' });
  expect(await answerTo(post(body, {}))).toBe('UNAUTHORIZED');
});

test('an event is answered after it is stored, without a request to Slack', async () => {
  const run = open();
  expect(await answerTo(signed(HELLO), run)).toEqual({ status: 200 });
  expect(run.deliveries).toMatchObject([{ key: 'D1:5.1', text: 'hi' }]);
  run.isUnavailable = true;
  expect(await answerTo(signed(HELLO), run)).toBe('UNAVAILABLE');
});

test('events that are no messages are accepted, so that Slack does not repeat them', async () => {
  const run = open();
  const limited = JSON.stringify({ type: 'app_rate_limited', minute_rate_limited: 1 });
  expect(await answerTo(signed(limited), run)).toEqual({ status: 200 });
  expect(run.deliveries).toEqual([]);
});

describe('Hostile input', () => {
  test('a forged, changed or old request is refused', async () => {
    const headers = app.signed(HELLO);
    expect(await answerTo(post(`${HELLO} `, headers))).toBe('UNAUTHORIZED');
    const later = { ...headers, 'x-slack-request-timestamp': secondsAgo(-1) };
    expect(await answerTo(post(HELLO, later))).toBe('UNAUTHORIZED');
    expect(await answerTo(post(HELLO, { ...headers, 'x-slack-signature': 'v0=' }))).toBe(
      'UNAUTHORIZED',
    );
    expect(await answerTo(signed(HELLO, secondsAgo(301)))).toBe('UNAUTHORIZED');
    expect(await answerTo(signed(HELLO, secondsAgo(-301)))).toBe('UNAUTHORIZED');
    expect(await answerTo(signed(HELLO, 'now'))).toBe('UNAUTHORIZED');
    expect(await answerTo(signed(HELLO), open('another secret'))).toBe('UNAUTHORIZED');
  });

  test('without a signing secret every request is refused', async () => {
    const run = new AccountRun(slack, { botToken: new Secret('xoxb-1'), mediaBytesMax: 0 });
    expect(await answerTo(signed(HELLO), run)).toBe('UNAUTHORIZED');
  });

  test('a repeat within five minutes has the same key', async () => {
    const run = open();
    const request = signed(HELLO, secondsAgo(200));
    await answerTo(request, run);
    await answerTo(request, run);
    expect(run.stored.size).toBe(1);
  });

  test('an oversized body is refused', async () => {
    expect(await answerTo(signed('x'.repeat(1024 * 1024 + 1)))).toBe('PAYLOAD_TOO_LARGE');
  });

  test('10,000 random bodies, signed and unsigned, store nothing', async () => {
    const run = open();
    const texts = ['null', '[]', '7', '{"event":{}}', '{"event":{"type":"message","ts":7}}'];
    for (let n = 0; n < 10_000; n += 1) {
      const body = n % 4 === 0 ? texts[n % 5]! : `x${randomBytes(n % 200).toString('latin1')}`;
      const answer = await answerTo(n % 2 === 0 ? signed(body) : post(body, {}), run);
      if (n % 2 === 1) expect(answer).toBe('UNAUTHORIZED');
      else if (n % 4 === 0) expect(answer).toEqual({ status: 200 });
      else expect(answer).toBe('INVALID_ARGUMENT');
    }
    expect(run.deliveries).toEqual([]);
  });
});
