import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { WebhookRequest } from '../../../../channels/messengers/adapter.ts';
import { whatsapp } from '../../../../channels/messengers/whatsapp/adapter.ts';
import type { TroupeError } from '../../../../protocols/errors.ts';
import { type Clock, systemClock } from '../../../../runtime/index.ts';
import { eventually } from '../../../runtime/eventually.ts';
import {
  failureBody,
  openWhatsAppServer,
  type WhatsAppNumber,
  type WhatsAppServer,
} from '../../../servers/whatsapp-server.ts';
import {
  AccountRun,
  filePieceOf,
  pieceOf,
  startWebhookHost,
  type WebhookHost,
} from '../account-run.ts';
import { get, post } from '../requests.ts';
import { settingsOf, VERIFY_TOKEN } from './whatsapp-messenger.ts';

const never = new AbortController().signal;
const chat = { kind: 'dm', id: '84901' } as const;
let server: WhatsAppServer;
let host: WebhookHost;
let number: WhatsAppNumber;
let run: AccountRun;

beforeEach(async () => {
  [server, host] = [await openWhatsAppServer(), await startWebhookHost()];
  number = server.addNumber();
  number.hookUrl = host.url;
  run = open();
});
afterEach(async () => {
  await run.stop();
  await server.close();
  await host.close();
});

const open = (clock?: Clock): AccountRun => {
  const opened = new AccountRun(whatsapp, settingsOf(server, number), clock);
  host.serve(opened.account);
  return opened;
};
const answerTo = (request: WebhookRequest) =>
  run.account.webhook!(request).catch(({ code }: TroupeError) => code);
const signed = (body: string) => post(body, number.signed(body));
const signedValue = (value: object) => signed(JSON.stringify(number.bodyOf(value)));
const message = (id: string, timestamp: number, content: object = {}) => ({
  from: '84901',
  id,
  timestamp: String(timestamp),
  type: 'text',
  text: { body: id },
  ...content,
});

describe('The outcome of a message', () => {
  test('whose answer was lost is proved by its status', async () => {
    number.hasStatuses = true;
    server.faults.push({ path: '/messages', kind: 'cut', accepted: true });
    const piece = pieceOf(chat, 'hello');
    expect(await run.send(piece)).toMatchObject({ status: 'unknown' });
    await eventually(() => expect(run.outcomes.size).toBe(1));
    expect(run.outcomes.get(piece.id)).toEqual({ status: 'sent', messageId: number.sent[0]!.id });
  });

  test('that failed later is reported with the reason', async () => {
    const piece = pieceOf(chat, 'hello');
    expect(await run.send(piece)).toMatchObject({ status: 'sent' });
    const title = 'Re-engagement message';
    number.status(number.sent[0]!, 'failed', [{ code: 131047, title }]);
    await eventually(() => expect(run.outcomes.size).toBe(1));
    expect(run.outcomes.get(piece.id)).toMatchObject({ status: 'not_sent', isFinal: true });
    expect(JSON.stringify(run.outcomes.get(piece.id))).toContain('24 hours');
  });

  test('without a status stays unknown: silence proves nothing', async () => {
    server.faults.push({ path: '/messages', kind: 'cut', accepted: true });
    await run.send(pieceOf(chat, 'hello'));
    number.write(chat.id, 'are you there?');
    await run.received(1);
    expect(run.outcomes.size).toBe(0);
    expect(run.account).not.toHaveProperty('reconcile');
  });

  const ANSWERS = [
    [400, 131047, { status: 'not_sent', isFinal: true }, /24 hours.*after the person writes/],
    [400, 131056, { status: 'not_sent', error: { retryAfterMs: 6_000 } }, /accepts no more/],
    [429, 80007, { status: 'not_sent', error: { retryAfterMs: 60_000 } }, /accepts no more/],
    [401, 190, { status: 'not_sent', isFinal: true }, /create a permanent one/],
    [400, 131030, { status: 'not_sent', isFinal: true }, /list of the test number/],
    [400, 999999, { status: 'not_sent', isFinal: true }, /999999: the reason/],
    [400, 131000, { status: 'unknown' }, /131000/],
    [500, 2, { status: 'unknown' }, /500/],
  ] as const;
  test.each(ANSWERS)(
    '%i with code %i is certain or unknown',
    async (status, code, expected, text) => {
      const body = failureBody(code, 'the reason');
      server.faults.push({ path: '/messages', kind: 'answer', status, body });
      const outcome = await run.send(pieceOf(chat, 'hello'));
      expect(outcome).toMatchObject(expected);
      expect(JSON.stringify(outcome)).toMatch(text);
    },
  );
});

describe('A webhook post', () => {
  test('with many messages keeps the order of their times, and passes on each', async () => {
    const messages = [message('c', 3), message('a', 1), message('b', 2), { id: 7 }, { odd: true }];
    expect(await answerTo(signedValue({ messages }))).toEqual({ status: 200 });
    expect(run.deliveries.map(({ key }) => key)).toEqual(['a', 'b', 'c']);
  });

  test('is answered after its messages are stored, and repeated until then', async () => {
    run.isUnavailable = true;
    let attempts = 0;
    run.beforeStore = async () => void (attempts += 1);
    number.write(chat.id, 'one');
    await eventually(() => expect(attempts).toBeGreaterThan(2));
    run.isUnavailable = false;
    await run.received(1);
    expect(run.deliveries).toHaveLength(1);
  });

  test('about another number is ignored, with a warning', async () => {
    const body = JSON.stringify(number.bodyOf({ messages: [message('a', 1)] }, '999'));
    expect(await answerTo(signed(body))).toEqual({ status: 200 });
    expect(run.deliveries).toEqual([]);
    expect(run.warnings).toEqual([{ ignored: 1 }]);
  });

  const CONTENTS = [
    [
      'an image',
      { type: 'image', image: { id: '5', mime_type: 'image/png', caption: 'look' } },
      'look',
    ],
    ['a voice note', { type: 'audio', audio: { id: '5', mime_type: 'audio/ogg' } }, ''],
    ['a document', { type: 'document', document: { id: '5', filename: 'a.pdf' } }, ''],
    ['a button', { type: 'button', button: { text: 'Yes' } }, 'Yes'],
    ['a list', { type: 'interactive', interactive: { list_reply: { title: 'One' } } }, 'One'],
    [
      'a place',
      { type: 'location', location: { latitude: 1, longitude: 2, name: 'X' } },
      'Location: 1, 2\nX',
    ],
  ] as const;
  test.each(CONTENTS)('with %s is a message', async (_name, content, text) => {
    const messages = [{ ...message('a', 1), text: undefined, ...content }];
    await answerTo(signedValue({ messages }));
    expect(run.deliveries).toMatchObject([{ kind: 'message', text }]);
    const isFile = ['image', 'audio', 'document'].includes(content.type);
    expect(run.deliveries[0]?.media?.[0]?.id).toBe(isFile ? '5' : undefined);
  });

  test('with a reaction names its message; a removed one is ignored', async () => {
    const reaction = { message_id: 'wamid.1', emoji: '👍' };
    await answerTo(signedValue({ messages: [message('a', 1, { type: 'reaction', reaction })] }));
    const removed = { message_id: 'wamid.1' };
    await answerTo(
      signedValue({ messages: [message('b', 1, { type: 'reaction', reaction: removed })] }),
    );
    expect(run.deliveries).toMatchObject([{ kind: 'reaction', text: '👍', replyTo: 'wamid.1' }]);
  });

  test('of a person whose number is hidden has the scoped id, and replies go to it', async () => {
    const hidden = { from: undefined, from_user_id: 'US.134912', context: { id: 'wamid.0' } };
    const contacts = [{ user_id: 'US.134912', profile: { name: 'P', username: 'p' } }];
    await answerTo(signedValue({ contacts, messages: [message('a', 1, hidden)] }));
    expect(run.deliveries).toMatchObject([
      { sender: { id: 'US.134912', name: 'P', username: 'p' }, replyTo: 'wamid.0' },
    ]);
    await run.send(pieceOf(run.deliveries[0]!.chat, 'hello'));
    expect(number.sent).toMatchObject([{ to: 'US.134912' }]);
  });
});

describe('Hostile input', () => {
  test('a forged signature, or one of another body or secret, is refused', async () => {
    const body = JSON.stringify(number.bodyOf({ messages: [message('a', 1)] }));
    const headers = number.signed(body);
    expect(await answerTo(post(`${body} `, headers))).toBe('UNAUTHORIZED');
    expect(await answerTo(post(body, server.addNumber().signed(body)))).toBe('UNAUTHORIZED');
    expect(await answerTo(post(body, {}))).toBe('UNAUTHORIZED');
    expect(await answerTo(post(body, { 'x-hub-signature-256': 'sha256=' }))).toBe('UNAUTHORIZED');
    expect(run.deliveries).toEqual([]);
  });

  test('a replay has the same key', async () => {
    const request = signedValue({ messages: [message('a', 1)] });
    await answerTo(request);
    await answerTo(request);
    expect([...run.stored.keys()]).toEqual(['a']);
  });

  test('an oversized body is refused', async () => {
    expect(await answerTo(signed('x'.repeat(4 * 1024 * 1024 + 1)))).toBe('PAYLOAD_TOO_LARGE');
  });

  test('10,000 random bodies, signed and unsigned, store nothing', async () => {
    const shapes = ['null', '[]', '{"entry":[]}', '{"entry":[{"changes":[]}]}', '{"entry":7}'];
    for (let n = 0; n < 10_000; n += 1) {
      const body = n % 4 === 0 ? shapes[n % 5]! : `x${randomBytes(n % 200).toString('latin1')}`;
      const answer = await answerTo(n % 2 === 0 ? signed(body) : post(body, {}));
      if (n % 2 === 1) expect(answer).toBe('UNAUTHORIZED');
      else if (n % 4 !== 0) expect(answer).toBe('INVALID_ARGUMENT');
    }
    expect(run.deliveries).toEqual([]);
  });
});

test('the handshake returns the challenge for the right token only', async () => {
  const query = (token: string, challenge = '1158201444') =>
    `hub.mode=subscribe&hub.verify_token=${encodeURIComponent(token)}&hub.challenge=${challenge}`;
  expect(await answerTo(get(query(VERIFY_TOKEN)))).toMatchObject({
    status: 200,
    body: '1158201444',
  });
  expect(await answerTo(get(query('wrong')))).toBe('FORBIDDEN');
  expect(await answerTo(get(query(VERIFY_TOKEN, '<script>')))).toBe('FORBIDDEN');
  expect(await answerTo(get(''))).toBe('FORBIDDEN');
});

test('typing marks the last message as read, and without one nothing is sent', async () => {
  await run.account.typing!(chat, never);
  expect(number.typing).toEqual([]);
  const id = number.write(chat.id, 'hi');
  await run.received(1);
  await run.account.typing!(chat, never);
  expect(number.typing).toEqual([id]);
});

test('a wrong token ends the connection finally, also when it is revoked later', async () => {
  const fast: Clock = {
    ...systemClock,
    after: (delayMs, call) => systemClock.after(delayMs / 10_000, call),
  };
  run = await open(fast).connected();
  expect(run.identity).toBe(number.phoneNumberId);
  expect(run.name).toBe(number.display);
  number.isRevoked = true;
  const end = await run.ended();
  expect(end).toMatchObject({ isFinal: true, error: { code: 'UNAUTHORIZED' } });
  expect(end.error.message).toContain('set it as accessToken');
});

test('a number that the token may not use ends the connection finally', async () => {
  const settings = { ...settingsOf(server, number), phoneNumberId: '1' };
  run = new AccountRun(whatsapp, settings);
  run.start();
  expect(await run.ended()).toMatchObject({ isFinal: true });
});

test('Meta that is not reachable or fails is tried again later', async () => {
  for (const fault of [{ kind: 'cut' }, { kind: 'answer', status: 503 }] as const) {
    server.faults.push(fault);
    run.start();
    expect(await run.ended()).toMatchObject({ isFinal: false, error: { code: 'UNAVAILABLE' } });
  }
});

describe('A file', () => {
  const shown = async (name: string, contentType: string, bytes = 10) => {
    const contents = Buffer.alloc(bytes);
    const outcome = await run.sendFile(filePieceOf(chat, { name, contentType, contents }));
    expect(outcome).toMatchObject({ status: 'sent' });
    const { kind, name: shownName } = number.sent.at(-1)!.file!;
    return [kind, shownName];
  };

  test('is shown as what it is; texts and large images are documents', async () => {
    expect(await shown('a.png', 'image/png')).toEqual(['image', 'a.png']);
    expect(await shown('a.mp3', 'audio/mpeg')).toEqual(['audio', 'a.mp3']);
    expect(await shown('a.mp4', 'video/mp4')).toEqual(['video', 'a.mp4']);
    expect(await shown('a.csv', 'text/csv')).toEqual(['document', 'a.csv']);
    expect(await shown('a.json', 'application/json')).toEqual(['document', 'a.json']);
    expect(await shown('b.png', 'image/png', 6_000_000)).toEqual(['document', 'b.png']);
  });

  test('of another type is not accepted', () => {
    const { accepts } = whatsapp.abilities.files!;
    expect(accepts!('application/zip')).toBe(false);
    expect(accepts!('application/pdf')).toBe(true);
  });

  test('whose upload failed was not sent, and may be sent again', async () => {
    for (const fault of [{ kind: 'cut' }, { kind: 'answer', status: 500 }] as const) {
      server.faults.push({ ...fault, path: '/media', accepted: true });
      const outcome = await run.sendFile(filePieceOf(chat));
      expect(outcome).toMatchObject({ status: 'not_sent', error: { code: 'UNAVAILABLE' } });
      expect(outcome).not.toHaveProperty('isFinal');
    }
    expect(number.sent).toEqual([]);
  });

  test('whose answer was lost is proved by its status', async () => {
    number.hasStatuses = true;
    server.faults.push({ path: '/messages', kind: 'cut', accepted: true });
    const piece = filePieceOf(chat);
    expect(await run.sendFile(piece)).toMatchObject({ status: 'unknown' });
    await eventually(() => expect(run.outcomes.get(piece.id)).toMatchObject({ status: 'sent' }));
  });
});
