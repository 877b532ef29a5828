/** The Telegram adapter against a local server with the Bot API. */
import { Bot } from 'grammy';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { telegram, telegramWithin } from '../../../channels/messengers/telegram/adapter.ts';
import type { ChatRef } from '../../../protocols/channel.ts';
import { Secret } from '../../../runtime/config/index.ts';
import {
  startTelegramServer,
  type TelegramBot,
  type TelegramFault,
  type TelegramServer,
} from '../../servers/telegram-server.ts';
import { eventually } from '../../runtime/eventually.ts';
import { AccountRun, filePieceOf, pieceOf } from './account-run.ts';
import { channelContract } from './contract.ts';
import type { Messenger, SendFault } from './messenger.ts';

const quick = telegramWithin({
  waitSeconds: 1,
  requestSeconds: 2,
  conflictPauseMs: 20,
  watchMs: 50,
});
const GROUP = -1_001;

const faults: Readonly<Record<SendFault, TelegramFault>> = {
  rateLimit: { kind: 'rateLimit', retryAfter: 3 },
  errorBefore: { kind: 'error', when: 'before' },
  errorAfter: { kind: 'error', when: 'after' },
  cutBefore: { kind: 'cut', when: 'before' },
  cutAfter: { kind: 'cut', when: 'after' },
  refuse: { kind: 'refuse', status: 403, description: 'Forbidden: bot was blocked by the user' },
};

const chatFields = (chat: ChatRef): object => {
  if (chat.kind === 'dm') return {};
  const topic =
    chat.thread === undefined
      ? {}
      : { is_topic_message: true, message_thread_id: Number(chat.thread) };
  return { chat: { id: Number(chat.id), type: 'supergroup', title: 'Team' }, ...topic };
};

const settingsOf = (server: TelegramServer, bot: TelegramBot) => ({
  token: new Secret(bot.token),
  apiUrl: `${server.apiUrl}/`,
  mediaBytesMax: 1_000_000,
});

function messengerOf(
  server: TelegramServer,
  hook?: { readonly webhookUrl: string; readonly webhookSecret: Secret },
): Messenger {
  const bot = server.addBot();
  let last = bot.receive({ text: 'before the account' });
  const receive = (fields: object) => {
    last = bot.receive(fields);
    return String(last.message!.message_id);
  };
  let files = 0;
  return {
    adapter: quick,
    settings: { ...settingsOf(server, bot), ...hook },
    dm: { kind: 'dm', id: '42' },
    group: { kind: 'group', id: String(GROUP) },
    thread: { kind: 'group', id: String(GROUP), thread: '7' },
    secrets: [bot.token],
    rateLimitMs: 3_000,
    write: (chat, text) => receive({ text, ...chatFields(chat) }),
    mention: (chat) =>
      void receive({
        text: `so @${bot.username.toUpperCase()}?`,
        entities: [{ type: 'mention', offset: 3, length: bot.username.length + 1 }],
        ...chatFields(chat),
      }),
    redeliver: () => void bot.update({ message: last.message }),
    shown: ({ id, thread }) => bot.shown(id).filter((one) => one.thread === thread),
    failSend: (fault) => bot.fail('sendMessage', faults[fault]),
    failFile: (fault) => bot.fail('sendDocument', faults[fault]),
    disconnect: () => server.cut(),
    revoke: () => {
      bot.isRevoked = true;
      server.cut();
    },
    revoked: /revoked .* @BotFather/,
    unreadable: '<b>not closed',
    addFile: (bytes) => {
      const id = `file-${files++}`;
      bot.addFile(id, bytes);
      return { kind: 'file', id, bytes: bytes.length };
    },
    another: () => messengerOf(server, hook),
    close: () => server.close(),
  };
}

channelContract('Telegram by polling', telegram, async () =>
  messengerOf(await startTelegramServer()),
);
channelContract('Telegram by webhook', telegram, async (webhookUrl) =>
  messengerOf(await startTelegramServer(), { webhookUrl, webhookSecret: new Secret('secret_1') }),
);

describe('the server speaks the Bot API: the official client', () => {
  test('polls, answers and edits', async () => {
    const server = await startTelegramServer();
    const bot = server.addBot();
    const client = new Bot(bot.token, { client: { apiRoot: server.apiUrl } });
    client.on('message:text', async (received) => {
      const sent = await received.reply(`<b>${received.message.text}</b>`, { parse_mode: 'HTML' });
      await received.api.editMessageText(received.chat.id, sent.message_id, 'edited');
    });
    const running = client.start({ timeout: 1 });
    bot.receive({ text: 'hi' });
    await eventually(() => expect(bot.shown(42)).toMatchObject([{ text: 'edited', edits: 1 }]));
    await client.stop();
    await running;
    await server.close();
  });

  test('ends with 409 when a second program polls, and with 401 for a revoked token', async () => {
    const server = await startTelegramServer();
    const bot = server.addBot();
    const options = { client: { apiRoot: server.apiUrl } };
    const clients = [new Bot(bot.token, options), new Bot(bot.token, options)];
    const running = clients.map((client) => client.start({ timeout: 30 }));
    const conflict = await Promise.race(running).catch((error: unknown) => error);
    expect(conflict).toMatchObject({ error_code: 409 });
    await Promise.all(clients.map((client) => client.stop()));
    await Promise.allSettled(running);
    bot.isRevoked = true;
    await expect(new Bot(bot.token, options).start()).rejects.toMatchObject({ error_code: 401 });
    await server.close();
  });
});

describe('Telegram', () => {
  let server: TelegramServer;
  let bot: TelegramBot;
  let runs: AccountRun[] = [];
  const runOf = (more: object = {}) => {
    const run = new AccountRun(quick, { ...settingsOf(server, bot), ...more });
    runs.push(run);
    return run;
  };

  beforeEach(async () => {
    server = await startTelegramServer();
    bot = server.addBot();
  });
  afterEach(async () => {
    const used = runs;
    runs = [];
    await Promise.all(used.map((run) => run.stop()));
    await server.close();
  });

  test('an update is acknowledged only after it and its position are stored', async () => {
    const run = await runOf().connected();
    let release: (() => void) | undefined;
    run.beforeStore = () => new Promise((resolve) => (release = resolve));
    bot.receive({ text: 'held' });
    const polls = () => bot.requests.filter((method) => method === 'getUpdates').length;
    await eventually(() => expect(release).toBeDefined());
    const before = polls();
    expect(bot.pending).toBe(1);
    release!();
    await run.received(1);
    await eventually(() => expect(bot.pending).toBe(0));
    expect(polls()).toBeGreaterThan(before);
  });

  test('a second program that polls: after repeated conflicts the end is final', async () => {
    const run = await runOf().connected();
    bot.fail('getUpdates', ...Array.from({ length: 4 }, () => conflict));
    bot.receive({ text: 'after four conflicts' });
    await run.received(1);
    expect(run.end).toBeUndefined();
    bot.fail('getUpdates', ...Array.from({ length: 5 }, () => conflict));
    bot.receive({ text: 'before the fifth' });
    expect(await run.ended()).toMatchObject({ isFinal: true, error: { code: 'CONFLICT' } });
    expect(run.end?.error.message).toMatch(/another program .* restart the account/);
  });

  test('two pollers of one token: each message is stored, and one of them ends', async () => {
    const [one, two] = [await runOf().connected(), await runOf().connected()];
    const end = await Promise.race([one.ended(), two.ended()]);
    expect(end).toMatchObject({ isFinal: true, error: { code: 'CONFLICT' } });
    const rest = one.end ? two : one;
    bot.receive({ text: 'still received' });
    await rest.received(1);
  });

  test('ids that start again after a week without updates hide no message', async () => {
    const first = await runOf().connected();
    bot.receive({ text: 'old' });
    await first.received(1);
    // its next poll, which confirms all lower ids, must not arrive later than those
    await eventually(() => expect(bot.pending).toBe(0));
    await first.stop();
    bot.restartUpdateIds(5);
    bot.receive({ text: 'new' });
    const week = 7 * 24 * 3_600_000;
    const second = runOf();
    second.identity = first.identity;
    second.position = { ...(first.position as object), at: Date.now() - week };
    await second.connected();
    expect((await second.received(1)).map(({ text }) => text)).toEqual(['new']);
  });

  test('updates of a bot that had a webhook arrive when it polls', async () => {
    const run = runOf({ webhookUrl: 'http://127.0.0.1:9/hook', webhookSecret: new Secret('s') });
    await run.connected();
    bot.receive({ text: 'not delivered' });
    await run.stop();
    const polling = runOf();
    polling.identity = run.identity;
    await polling.connected();
    expect((await polling.received(1)).map(({ text }) => text)).toEqual(['not delivered']);
    expect(bot.webhookUrl).toBeUndefined();
  });

  test('a webhook that another program replaces ends the connection finally', async () => {
    const hook = { webhookUrl: 'http://127.0.0.1:9/hook', webhookSecret: new Secret('s') };
    const run = await runOf(hook).connected();
    await bot.answer('setWebhook', { url: 'http://127.0.0.1:9/other' });
    expect(await run.ended()).toMatchObject({ isFinal: true, error: { code: 'CONFLICT' } });
  });

  test.each([
    { webhookUrl: 'http://127.0.0.1:9/hook' },
    { webhookUrl: 'http://127.0.0.1:9/hook', webhookSecret: new Secret('not allowed!') },
  ])('settings of a webhook that cannot work are refused (%#)', async (hook) => {
    const run = runOf(hook);
    run.start();
    const end = await run.ended();
    expect(end).toMatchObject({ isFinal: true, error: { code: 'INVALID_ARGUMENT' } });
    expect(end.error.message).toContain('webhookSecret');
  });

  test('a forged request to the webhook is refused and stores nothing', async () => {
    const run = runOf({ webhookUrl: 'http://127.0.0.1:9/hook', webhookSecret: new Secret('s') });
    const request = (secret: string | undefined, body: string) =>
      run.account.webhook!({
        method: 'POST',
        query: new URLSearchParams(),
        header: () => secret,
        body: Buffer.from(body),
      });
    const update = JSON.stringify(bot.receive({ text: 'forged' }));
    for (const secret of [undefined, '', 'S', 'ss'])
      await expect(request(secret, update)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    for (const body of ['', '{', 'null', '[]', '{"update_id":"1"}'])
      await expect(request('s', body)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(run.stored.size).toBe(0);
    await expect(request('s', update)).resolves.toMatchObject({ status: 200 });
    expect(run.stored.size).toBe(1);
  });

  test('an update in an unknown form is skipped, and those after it arrive', async () => {
    const run = await runOf().connected();
    bot.update({ message: { message_id: 1, chat: null } });
    bot.update({ poll: { id: 'p' } });
    bot.receive({ text: 'readable' });
    await run.received(1);
    expect(run.warnings).toHaveLength(1);
  });

  test('a server that accepts a request and never answers ends the connection', async () => {
    const run = await runOf().connected();
    bot.fail('getUpdates', { kind: 'silent' });
    bot.receive({ text: 'sent into the silence' });
    expect(await run.ended()).toMatchObject({ isFinal: false, error: { code: 'UNAVAILABLE' } });
    bot.fail('sendMessage', { kind: 'silent' });
    expect(await run.send(pieceOf({ kind: 'dm', id: '42' }, 'hi'))).toMatchObject({
      status: 'unknown',
    });
  });

  test('a rate limit of getUpdates ends the connection with the time to wait', async () => {
    const run = runOf();
    bot.fail('getMe', { kind: 'rateLimit', retryAfter: 7 });
    run.start();
    expect(await run.ended()).toMatchObject({ isFinal: false, error: { retryAfterMs: 7_000 } });
  });

  test('an edit whose answer was lost is repeated without an error', async () => {
    const run = runOf();
    const chat: ChatRef = { kind: 'dm', id: '42' };
    const sent = await run.send(pieceOf(chat, 'first'));
    const messageId = sent.status === 'sent' ? sent.messageId! : '';
    const edit = () =>
      run.account.edit!(messageId, pieceOf(chat, 'final'), AbortSignal.timeout(9_000));
    bot.fail('editMessageText', { kind: 'cut', when: 'after' });
    expect(await edit()).toMatchObject({ status: 'unknown' });
    expect(await edit()).toMatchObject({ status: 'sent', messageId });
    expect(bot.shown(42)).toMatchObject([{ text: 'final', edits: 1 }]);
  });

  test('an image is a photo; one that Telegram cannot show is a document', async () => {
    const chat: ChatRef = { kind: 'dm', id: '42' };
    const contentType = 'image/png';
    for (const name of ['small; "1".png', 'wide.png'])
      expect(await runOf().sendFile(filePieceOf(chat, { name, contentType }))).toMatchObject({
        status: 'sent',
      });
    const shown = bot.shown(42).map(({ file }) => [file?.kind, file?.name]);
    expect(shown).toEqual([
      ['photo', 'small_ _1_.png'],
      ['document', 'wide.png'],
    ]);
  });
});

const conflict: TelegramFault = {
  kind: 'refuse',
  status: 409,
  description: 'Conflict: terminated by other getUpdates request',
};
