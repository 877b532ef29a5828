import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { WebhookRequest } from '../../../../channels/messengers/adapter.ts';
import { webhook } from '../../../../channels/messengers/webhook/adapter.ts';
import type { TroupeError } from '../../../../protocols/errors.ts';
import { Secret } from '../../../../runtime/config/index.ts';
import { headersOf, signatureOf } from '../../../servers/webhook-server.ts';
import { AccountRun } from '../account-run.ts';
import { get, post } from '../requests.ts';

const SECRET = `whsec_${Buffer.from('a key of 24 bytes or more').toString('base64')}`;
const open = (secret = SECRET) => new AccountRun(webhook, { secret: new Secret(secret) });
const now = () => String(Math.floor(Date.now() / 1000));
const signed = (body: string, id = 'msg_1', timestamp = now()) =>
  post(body, headersOf(SECRET, id, body, timestamp));
const HELLO = JSON.stringify({ sender: { id: 'ci' }, text: 'the build failed' });

describe('A signed post', () => {
  test('is a direct message of its sender, with the id as its key, answered after the commit', async () => {
    const { account, deliveries } = open();
    expect(await account.webhook!(signed(HELLO))).toEqual({ status: 202 });
    expect(deliveries).toMatchObject([
      {
        key: 'msg_1',
        messageId: 'msg_1',
        kind: 'message',
        chat: { kind: 'dm', id: 'ci' },
        sender: { id: 'ci' },
        text: 'the build failed',
        mentionsAccount: true,
      },
    ]);
  });

  test('names a group, a thread and the message that it replies to', async () => {
    const { account, deliveries } = open();
    const chat = { id: 'room', kind: 'group', thread: 't1' };
    const body = {
      sender: { id: 'p', name: 'P' },
      chat,
      text: 'x',
      replyTo: 'm0',
      messageId: 'm1',
    };
    await account.webhook!(signed(JSON.stringify(body)));
    expect(deliveries).toMatchObject([{ chat, replyTo: 'm0', messageId: 'm1' }]);
  });

  test('of type typing and reaction is no message', async () => {
    const { account, deliveries, typing } = open();
    const sender = { id: 'p' };
    await account.webhook!(signed(JSON.stringify({ type: 'typing', sender })));
    const reaction = { type: 'reaction', sender, text: '👍', replyTo: 'm1' };
    await account.webhook!(signed(JSON.stringify(reaction)));
    expect(typing).toEqual([{ kind: 'dm', id: 'p' }]);
    expect(deliveries).toMatchObject([{ kind: 'reaction', text: '👍', replyTo: 'm1' }]);
  });

  test('is not acknowledged when it is not stored, so that the sender repeats it', async () => {
    const opened = open();
    opened.isUnavailable = true;
    await expect(opened.account.webhook!(signed(HELLO))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
  });

  test('may have several signatures, of which one must be right', async () => {
    const { account, deliveries } = open();
    const right = signatureOf(SECRET, 'a', now(), HELLO);
    const headers = { 'webhook-id': 'a', 'webhook-timestamp': now() };
    const both = { ...headers, 'webhook-signature': `v1a,AAAA v1,${'A'.repeat(43)}= ${right}` };
    await account.webhook!(post(HELLO, both));
    expect(deliveries).toHaveLength(1);
  });

  test('with a wrong field is refused with the field', async () => {
    const { account } = open();
    const send = (body: object) => account.webhook!(signed(JSON.stringify(body)));
    await expect(send({ sender: { id: 'p' }, text: 'x', chatt: 1 })).rejects.toThrow('chatt');
    await expect(send({ sender: {}, text: 'x' })).rejects.toThrow('sender/id');
    await expect(send({ sender: { id: 'p' } })).rejects.toThrow('/text is empty');
  });
});

describe('Hostile input', () => {
  const answerTo = async (request: WebhookRequest, { account } = open()) =>
    account.webhook!(request).catch(({ code }: TroupeError) => code);

  test('a forged signature, or one of another body, id or time, is refused', async () => {
    const signature = signatureOf(SECRET, 'a', now(), HELLO);
    const headers = {
      'webhook-id': 'a',
      'webhook-timestamp': now(),
      'webhook-signature': signature,
    };
    expect(await answerTo(post(`${HELLO} `, headers))).toBe('UNAUTHORIZED');
    expect(await answerTo(post(HELLO, { ...headers, 'webhook-id': 'b' }))).toBe('UNAUTHORIZED');
    const later = String(Number(now()) + 5);
    expect(await answerTo(post(HELLO, { ...headers, 'webhook-timestamp': later }))).toBe(
      'UNAUTHORIZED',
    );
    expect(await answerTo(post(HELLO, { ...headers, 'webhook-signature': 'v1,' }))).toBe(
      'UNAUTHORIZED',
    );
    expect(await answerTo(post(HELLO, {}))).toBe('UNAUTHORIZED');
  });

  test('a replay after five minutes is refused, and an earlier one has the same key', async () => {
    const opened = open();
    expect(await answerTo(signed(HELLO, 'a', String(Number(now()) - 301)), opened)).toBe(
      'UNAUTHORIZED',
    );
    expect(await answerTo(signed(HELLO, 'a', String(Number(now()) + 301)), opened)).toBe(
      'UNAUTHORIZED',
    );
    const request = signed(HELLO, 'a', String(Number(now()) - 200));
    await opened.account.webhook!(request);
    await opened.account.webhook!(request);
    expect(opened.deliveries.map(({ key }) => key)).toEqual(['a', 'a']);
  });

  test('bug: an id that cannot name a conversation was accepted, and dropped later', async () => {
    const opened = open();
    for (const id of ['a\u0000b', 'line\n', '\ud800', '李'.repeat(128).replaceAll('李', '👩')]) {
      const body = JSON.stringify({ sender: { id }, text: 'x' });
      expect(await answerTo(signed(body), opened)).toBe('INVALID_ARGUMENT');
    }
    expect(await answerTo(signed('{"sender":{"id":"đức 李"},"text":"x"}'), opened)).toMatchObject({
      status: 202,
    });
    expect(opened.deliveries).toHaveLength(1);
  });

  test('an oversized body is refused before its signature is computed', async () => {
    expect(await answerTo(signed('x'.repeat(1024 * 1024 + 1)))).toBe('PAYLOAD_TOO_LARGE');
  });

  test('10,000 random bodies, signed and unsigned, are refused and store nothing', async () => {
    const opened = open();
    for (let count = 0; count < 10_000; count += 1) {
      const body = randomBytes(count % 200).toString('latin1');
      const request = count % 2 === 0 ? signed(body) : post(body, { 'webhook-signature': body });
      const expected = count % 2 === 0 ? 'INVALID_ARGUMENT' : 'UNAUTHORIZED';
      expect(await answerTo(request, opened)).toBe(expected);
    }
    expect(opened.deliveries).toEqual([]);
  });
});

test('A GET returns the schema of what to post', async () => {
  const { status, body } = await open().account.webhook!(get(''));
  expect(status).toBe(200);
  expect(JSON.parse(body!)).toMatchObject({ required: ['sender'], properties: { sender: {} } });
});

test('A secret that is too short ends the connection with what to do', async () => {
  const run = open('whsec_c2hvcnQ=');
  run.start();
  const end = await run.ended();
  expect(end).toMatchObject({ isFinal: true, error: { code: 'INVALID_ARGUMENT' } });
  expect(end.error.message).toContain('channels.webhook.accounts.main.secret');
});
