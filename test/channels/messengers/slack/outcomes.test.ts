/** What is certain about a message after a failure, and how its history shows it. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { slack } from '../../../../channels/messengers/slack/adapter.ts';
import type { AccountAdapter, Piece } from '../../../../channels/messengers/adapter.ts';
import type { SlackApp } from '../../../servers/slack-app.ts';
import { openSlackServer, type SlackServer } from '../../../servers/slack-server.ts';
import { AccountRun, filePieceOf, pieceOf } from '../account-run.ts';
import { settingsOf } from './slack-messenger.ts';

const never = new AbortController().signal;
const channel = { kind: 'group', id: 'C1' } as const;
let server: SlackServer;
let app: SlackApp;
let account: AccountAdapter;

beforeEach(async () => {
  server = await openSlackServer();
  app = server.addApp();
  account = new AccountRun(slack, settingsOf(server, app, true)).account;
});
afterEach(() => server.close());

/** Accepted by Slack, without an answer. */
const lose = async (piece: Piece) => {
  server.faults.push({ path: 'chat.postMessage', kind: 'cut', accepted: true });
  expect(await account.send(piece, never)).toMatchObject({ status: 'unknown' });
};

test('doubled message: the SDK sends a request once, whatever happens', async () => {
  for (const fault of [{ kind: 'cut' }, { kind: 'answer', status: 503 }] as const)
    server.faults.push({ ...fault, path: 'chat.postMessage', accepted: true });
  await account.send(pieceOf(channel, 'a'), never);
  await account.send(pieceOf(channel, 'b'), never);
  expect(server.requests.filter((one) => one.endsWith('chat.postMessage'))).toHaveLength(2);
  expect(app.posted).toHaveLength(2);
});

test('a piece is found behind 250 later messages, and in its thread', async () => {
  const piece = pieceOf(channel, 'a');
  await lose(piece);
  for (let n = 0; n < 250; n += 1) app.write('C1', `later ${n}`);
  expect(await account.reconcile!(piece, never)).toEqual({
    status: 'sent',
    messageId: app.shown('C1')[0]!.ts,
  });
  const inThread = pieceOf({ ...channel, thread: '1600000000.000100' }, 'b');
  await lose(inThread);
  expect(await account.reconcile!(inThread, never)).toMatchObject({ status: 'sent' });
});

test('a piece with the same text as another one is not taken for it', async () => {
  await account.send(pieceOf(channel, 'same'), never);
  expect(await account.reconcile!(pieceOf(channel, 'same'), never)).toMatchObject({
    status: 'not_sent',
  });
});

test('a history that cannot be read proves nothing', async () => {
  const piece = pieceOf(channel, 'a');
  await lose(piece);
  app.scopes = 'chat:write';
  const outcome = await account.reconcile!(piece, never);
  expect(outcome).toMatchObject({ status: 'unknown' });
  expect(JSON.stringify(outcome)).toContain('channels:history');
});

test('doubled message: a history without metadata proves nothing', async () => {
  const piece = pieceOf(channel, 'a');
  await lose(piece);
  app.scopes = 'chat:write,channels:history';
  const outcome = await account.reconcile!(piece, never);
  expect(outcome).toMatchObject({ status: 'unknown' });
  expect(JSON.stringify(outcome)).toContain('metadata.message:read');
});

test('a history longer than is read proves nothing', async () => {
  const piece = pieceOf(channel, 'a');
  await lose(piece);
  for (let n = 0; n < 1_000; n += 1) app.write('C1', `later ${n}`);
  expect(await account.reconcile!(piece, never)).toMatchObject({ status: 'unknown' });
});

test('a limited history is asked for again after the time that Slack says', async () => {
  server.faults.push({
    path: 'conversations.history',
    kind: 'answer',
    status: 429,
    headers: { 'retry-after': '30' },
  });
  expect(await account.reconcile!(pieceOf(channel, 'a'), never)).toMatchObject({
    status: 'unknown',
    error: { retryAfterMs: 30_000 },
  });
});

const ANSWERS = [
  ['fatal_error', { status: 'unknown' }],
  ['internal_error', { status: 'unknown' }],
  ['ratelimited', { status: 'not_sent', error: { code: 'RATE_LIMIT_EXCEEDED' } }],
  ['is_archived', { status: 'not_sent', isFinal: true }],
  ['something_new', { status: 'not_sent', isFinal: true }],
] as const;
test.each(ANSWERS)('the answer %s is an outcome', async (error, expected) => {
  const body = JSON.stringify({ ok: false, error });
  server.faults.push({ path: 'chat.', kind: 'answer', status: 200, body });
  expect(await account.send(pieceOf(channel, 'a'), never)).toMatchObject(expected);
});

test('429 without a time is a rate limit', async () => {
  server.faults.push({ path: 'chat.', kind: 'answer', status: 429 });
  const outcome = await account.send(pieceOf(channel, 'a'), never);
  expect(outcome).toMatchObject({ status: 'not_sent', error: { code: 'RATE_LIMIT_EXCEEDED' } });
});

test('an aborted send that Slack may have accepted is unknown, an earlier one is not sent', async () => {
  const aborted = AbortSignal.abort();
  expect(await account.send(pieceOf(channel, 'a'), aborted)).toMatchObject({ status: 'not_sent' });
  server.faults.push({ path: 'chat.', kind: 'silent', accepted: true });
  const outcome = await account.send(pieceOf(channel, 'a'), AbortSignal.timeout(200));
  expect(outcome).toMatchObject({ status: 'unknown' });
});

test('an edit of a deleted message is refused finally', async () => {
  const edited = await account.edit!('1.2', pieceOf(channel, 'b'), never);
  expect(edited).toMatchObject({ status: 'not_sent', isFinal: true });
  expect(JSON.stringify(edited)).toContain('was deleted');
});

test('a file without the right is refused with the scope, and never stored as a page', async () => {
  app.files.set('F1', Buffer.from('bytes'));
  app.scopes = 'chat:write';
  await expect(account.download!({ kind: 'file', id: 'F1' }, never)).rejects.toMatchObject({
    code: 'FORBIDDEN',
    message: expect.stringContaining('files:read'),
  });
  await expect(account.download!({ kind: 'file', id: 'F9' }, never)).rejects.toThrow(
    'file_not_found',
  );
});

test('a file that was not uploaded was not sent, and may be sent again', async () => {
  for (const path of ['getUploadURLExternal', '/upload/']) {
    for (const fault of [{ kind: 'cut' }, { kind: 'answer', status: 503 }] as const) {
      server.faults.push({ ...fault, path, accepted: true });
      const outcome = await account.sendFile!(filePieceOf(channel), never);
      expect(outcome).toMatchObject({ status: 'not_sent', error: { code: 'UNAVAILABLE' } });
      expect(outcome).not.toHaveProperty('isFinal');
    }
  }
  expect(app.posted).toEqual([]);
});

test('a file needs the scope files:write, and the error says so', async () => {
  app.scopes = app.scopes.replace('files:write,', '');
  expect(await account.sendFile!(filePieceOf(channel), never)).toMatchObject({
    status: 'not_sent',
    isFinal: true,
    error: { message: expect.stringContaining('add the scope files:write') },
  });
});

test('messages of files, which have no metadata, do not hide whether a text was posted', async () => {
  const lost = pieceOf(channel, 'lost');
  await account.sendFile!(filePieceOf(channel), never);
  expect(await account.reconcile!(lost, never)).toMatchObject({ status: 'not_sent' });
  await lose(lost);
  expect(await account.reconcile!(lost, never)).toMatchObject({ status: 'sent' });
});
