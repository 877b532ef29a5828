/** The Discord adapter against a local server with the REST API and the gateway. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Client, GatewayIntentBits, Partials } from 'discord.js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { discord, discordWithin } from '../../../channels/messengers/discord/adapter.ts';
import type { ChatRef } from '../../../protocols/channel.ts';
import { Secret } from '../../../runtime/config/index.ts';
import {
  type DiscordBot,
  type DiscordFault,
  type DiscordServer,
  startDiscordServer,
} from '../../servers/discord-server.ts';
import { eventually } from '../../runtime/eventually.ts';
import { AccountRun, pieceOf } from './account-run.ts';
import { channelContract } from './contract.ts';
import type { Messenger, SendFault } from './messenger.ts';

const quick = discordWithin({ helloMs: 500, readyMs: 3_000, requestMs: 2_000 });
/** The SDK waits 5 s between two sessions. */
const patient = discordWithin({ helloMs: 500, readyMs: 15_000, requestMs: 2_000 });

const faults: Readonly<Record<SendFault, DiscordFault>> = {
  rateLimit: { kind: 'rateLimit', seconds: 2 },
  errorBefore: { kind: 'error', when: 'before' },
  errorAfter: { kind: 'error', when: 'after' },
  cutBefore: { kind: 'cut', when: 'before' },
  cutAfter: { kind: 'cut', when: 'after' },
  refuse: { kind: 'refuse', status: 403, code: 50_007 },
};

const settingsOf = (server: DiscordServer, bot: DiscordBot) => ({
  token: new Secret(bot.token),
  apiUrl: server.apiUrl,
  mediaBytesMax: 1_000_000,
});

function messengerOf(server: DiscordServer): Messenger {
  const bot = server.addBot();
  let last = bot.receive(bot.dm, { content: 'before the account' });
  const receive = (chat: ChatRef, fields: object) => {
    const channels = [bot.dm, bot.text, bot.thread];
    last = bot.receive(channels.find(({ id }) => id === (chat.thread ?? chat.id))!, { ...fields });
    return last.id;
  };
  let files = 0;
  return {
    adapter: quick,
    settings: settingsOf(server, bot),
    dm: { kind: 'dm', id: bot.dm.id },
    group: { kind: 'group', id: bot.text.id, guild: bot.guildId },
    thread: { kind: 'group', id: bot.text.id, thread: bot.thread.id, guild: bot.guildId },
    secrets: [bot.token],
    rateLimitMs: 2_000,
    write: (chat, text) => receive(chat, { content: text }),
    mention: (chat) => void receive(chat, { content: `<@${bot.id}> so?`, mentions: [bot.user] }),
    redeliver: () => bot.dispatchMessage(last),
    shown: ({ id, thread }) =>
      bot.shown(thread ?? id).map(({ id: own, content, file }) => ({
        id: own,
        text: content,
        ...(file && { file }),
      })),
    failSend: (fault) => bot.fail('POST messages', faults[fault]),
    failFile: (fault) => bot.fail('POST messages', faults[fault]),
    disconnect: () => bot.gateway.cut(),
    revoke: () => {
      bot.isRevoked = true;
      bot.gateway.close(4004);
    },
    revoked: /Reset Token/,
    addFile: (bytes) => {
      const path = `/attachments/${files++}/file.bin`;
      bot.files.set(path, bytes);
      return { kind: 'file', id: `${server.url}${path}`, bytes: bytes.length };
    },
    another: () => messengerOf(server),
    close: () => server.close(),
  };
}

channelContract('Discord', discord, async () => messengerOf(await startDiscordServer()));

test('the server speaks the protocol of Discord: the official client connects and answers', async () => {
  const server = await startDiscordServer();
  const bot = server.addBot();
  const { Guilds, GuildMessages, DirectMessages, MessageContent } = GatewayIntentBits;
  const client = new Client({
    intents: [Guilds, GuildMessages, DirectMessages, MessageContent],
    partials: [Partials.Channel],
    rest: { api: server.apiUrl },
    enforceNonce: true,
  });
  client.on('messageCreate', (message) => {
    if (message.author.id === bot.pat.id) void message.reply(`answer to ${message.content}`);
  });
  await client.login(bot.token);
  await eventually(() => expect(client.isReady()).toBe(true));
  for (const channel of [bot.dm, bot.text]) {
    bot.receive(channel, { content: channel.id });
    const answer = { content: `answer to ${channel.id}` };
    await eventually(() => expect(bot.shown(channel.id)).toMatchObject([answer]));
  }
  bot.gateway.cut();
  await eventually(() => expect(bot.gateway.opened).toEqual(['identify', 'resume']));
  await client.destroy();
  await server.close();
});

describe('Discord', () => {
  let server: DiscordServer;
  let bot: DiscordBot;
  let runs: AccountRun[] = [];
  const runOf = (from?: AccountRun, adapter = quick) => {
    const run = new AccountRun(adapter, settingsOf(server, bot));
    run.position = from?.position;
    run.identity = from?.identity;
    runs.push(run);
    return run;
  };
  const texts = (run: AccountRun) => [...run.stored.values()].map(({ text }) => text);
  const dm = (): ChatRef => ({ kind: 'dm', id: bot.dm.id });

  beforeEach(async () => {
    server = await startDiscordServer();
    bot = server.addBot();
  });
  afterEach(async () => {
    const used = runs;
    runs = [];
    await Promise.all(used.map((run) => run.stop()));
    await server.close();
  });

  test('lost on restart: a new process resumes behind the last stored event', async () => {
    const first = await runOf().connected();
    bot.receive(bot.dm, { content: 'one' });
    await first.received(1);
    // the SDK has the sequence of this message already, and it is not stored
    let isHeld = false;
    first.beforeStore = () => new Promise(() => (isHeld = true));
    bot.receive(bot.dm, { content: 'two' });
    await eventually(() => expect(isHeld).toBe(true));
    const second = await runOf(first).connected();
    expect(bot.gateway.opened).toEqual(['identify', 'resume']);
    await second.received(1);
    expect(texts(second)).toEqual(['two']);
  });

  test('a stop keeps the session: the next start resumes', async () => {
    const first = await runOf().connected();
    bot.receive(bot.dm, { content: 'one' });
    await first.received(1);
    await first.stop();
    await eventually(() => expect(bot.gateway.sockets).toBe(0));
    bot.receive(bot.dm, { content: 'two' });
    const second = await runOf(first).connected();
    await second.received(1);
    expect(bot.gateway.opened).toEqual(['identify', 'resume']);
    expect(texts(second)).toEqual(['two']);
  });

  test.each([
    { name: 'op 7 (reconnect)', frame: { op: 7, d: false }, opened: ['identify', 'resume'] },
    {
      name: 'op 9 (invalid session)',
      frame: { op: 9, d: false },
      opened: ['identify', 'identify'],
    },
  ])('after $name the account is connected again and receives', async ({ frame, opened }) => {
    const run = await runOf(undefined, patient).connected();
    bot.receive(bot.dm, { content: 'one' });
    await run.received(1);
    bot.gateway.broadcast(frame);
    await eventually(() => expect(bot.gateway.opened).toEqual(opened));
    bot.receive(bot.dm, { content: 'two' });
    await run.received(2);
    expect(run.end).toBeUndefined();
    expect(run.connections).toBe(1);
  });

  test('a refused resume: messages of known channels are read from their history', async () => {
    const first = await runOf().connected();
    bot.receive(bot.dm, { content: 'one' });
    bot.receive(bot.thread, { content: 'in the thread' });
    await first.received(2);
    await first.stop();
    bot.gateway.forgetSessions();
    bot.receive(bot.dm, { content: 'two' }, 'store');
    for (let n = 0; n < 150; n++) bot.receive(bot.thread, { content: `missed ${n}` }, 'store');
    const second = await runOf(first).connected();
    bot.receive(bot.dm, { content: 'three' });
    await second.received(152);
    expect(bot.gateway.opened).toEqual(['identify', 'resume', 'identify']);
    const inThread = [...second.stored.values()].filter(({ chat }) => chat.thread);
    expect(inThread.map(({ text }) => text)).toEqual(
      Array.from({ length: 150 }, (_, n) => `missed ${n}`),
    );
    expect(texts(second).filter((text) => !text.startsWith('missed'))).toEqual(['two', 'three']);
  });

  test('an unreachable gateway: the account ends, and the session is kept', async () => {
    const run = await runOf().connected();
    bot.receive(bot.dm, { content: 'one' });
    await run.received(1);
    const url = bot.gateway.url;
    bot.gateway.url = bot.gateway.resumeUrl = 'ws://127.0.0.1:9';
    bot.gateway.closesWith = 4_000;
    bot.gateway.cut();
    expect(await run.ended()).toMatchObject({ isFinal: false, error: { code: 'UNAVAILABLE' } });
    bot.gateway.url = url;
    bot.gateway.closesWith = undefined;
    bot.receive(bot.dm, { content: 'two' });
    const before = bot.gateway.opened.length;
    const next = await runOf(run).connected();
    expect(bot.gateway.opened.slice(before)).toEqual(['resume']);
    await next.received(1);
    expect(texts(next)).toEqual(['two']);
  });

  test('a dead server of the session: it is resumed at another one', async () => {
    bot.gateway.resumeUrl = 'ws://127.0.0.1:9';
    const run = await runOf().connected();
    bot.receive(bot.dm, { content: 'one' });
    await run.received(1);
    bot.gateway.cut();
    bot.receive(bot.dm, { content: 'two' });
    await run.received(2);
    expect(run.end).toBeUndefined();
    expect(bot.gateway.opened).toEqual(['identify', 'resume']);
  });

  test('no hello: the connection ends in time, and stopping does not hang', async () => {
    bot.gateway.noHello = true;
    const run = runOf();
    run.start();
    expect(await run.ended()).toMatchObject({ isFinal: false, error: { code: 'UNAVAILABLE' } });
    run.start();
    await eventually(() => expect(bot.gateway.sockets).toBeGreaterThan(0));
    await run.stop();
    bot.gateway.noHello = false;
    await (await runOf().connected()).stop();
  });

  test('a half-open connection is noticed by its heartbeats and resumed', async () => {
    bot.gateway.heartbeatMs = 100;
    const run = await runOf().connected();
    await eventually(() => expect(run.account.getStatus().lastPongAt).toBeDefined());
    bot.gateway.isHalfOpen = true;
    bot.receive(bot.dm, { content: 'not seen' });
    await eventually(() => expect(run.account.isConnected()).toBe(false));
    bot.gateway.isHalfOpen = false;
    await run.received(1);
    expect(bot.gateway.opened).toEqual(['identify', 'resume']);
  });

  test('stop while it connects leaves no socket and no unhandled error', async () => {
    for (let n = 0; n < 10; n++) {
      const run = runOf();
      run.start();
      await new Promise((resolve) => setTimeout(resolve, n * 3));
      await run.stop();
    }
    await eventually(() => expect(bot.gateway.sockets).toBe(0));
  });

  test('stop before the handshake of the socket: its failure does not end the process', async () => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {}).once('close', () => sockets.delete(socket));
      socket.resume();
    });
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    bot.gateway.url = `ws://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const run = runOf();
    run.start();
    await eventually(() => expect(sockets.size).toBe(1));
    await run.stop();
    // vitest fails when the SDK throws outside of a call
    await eventually(() => expect(sockets.size).toBe(0));
    silent.close();
  });

  test.each([
    { code: 4004, error: 'UNAUTHORIZED', text: /Reset Token/ },
    { code: 4010, error: 'FORBIDDEN', text: /shard/ },
    { code: 4011, error: 'FORBIDDEN', text: /2,500/ },
    { code: 4012, error: 'FORBIDDEN', text: /update troupe/ },
    { code: 4013, error: 'FORBIDDEN', text: /update troupe/ },
    { code: 4014, error: 'FORBIDDEN', text: /"Message Content Intent"/ },
  ])('close code $code ends finally and says what to do', async ({ code, error, text }) => {
    bot.gateway.closesWith = code;
    const run = runOf();
    run.start();
    const end = await run.ended();
    expect(end).toMatchObject({ isFinal: true, error: { code: error } });
    expect(end.error.message).toMatch(text);
    expect(bot.gateway.opened).toEqual(['identify']);
  });

  test('without the privileged intent the account fails and names it', async () => {
    bot.gateway.refusesIntents = true;
    const run = runOf();
    run.start();
    expect((await run.ended()).error.message).toContain('Message Content Intent');
  });

  test('a gateway that closes each connection ends the account instead of a loop', async () => {
    bot.gateway.closesWith = 4_000;
    const run = runOf();
    run.start();
    expect(await run.ended()).toMatchObject({ isFinal: false });
    expect(bot.gateway.opened.length).toBeLessThanOrEqual(4);
  });

  test('after a refused token a new one is tried with a new client', async () => {
    const run = runOf();
    bot.isRevoked = true;
    const refused = { status: 'not_sent', isFinal: true, error: { code: 'UNAUTHORIZED' } };
    expect(await run.send(pieceOf(dm(), 'one'))).toMatchObject(refused);
    bot.isRevoked = false;
    expect(await run.send(pieceOf(dm(), 'two'))).toMatchObject({ status: 'sent' });
  });

  test('doubled reply: an unreadable history proves nothing', async () => {
    const run = runOf();
    bot.fail('POST messages', { kind: 'cut', when: 'after' });
    const piece = pieceOf(dm(), 'answer');
    expect(await run.send(piece)).toMatchObject({ status: 'unknown' });
    bot.hidesHistory = true;
    const outcome = await run.account.reconcile!(piece, AbortSignal.timeout(9_000));
    expect(outcome).toMatchObject({ status: 'unknown' });
    expect(outcome).toHaveProperty(
      'error.message',
      expect.stringContaining('Read Message History'),
    );
  });

  test('replies, mentions, reactions, files and typing have their chats', async () => {
    const run = await runOf().connected();
    const role = bot.roleId;
    const image = {
      url: 'https://cdn/a.png',
      filename: 'a.png',
      content_type: 'image/png',
      size: 9,
    };
    bot.receive(bot.text, { content: `<@&${role}>`, mention_roles: [role] });
    bot.receive(bot.text, { content: 're', type: 19, referenced_message: { author: bot.user } });
    bot.receive(bot.dm, { attachments: [image] });
    bot.receive(bot.text, { content: 'joined', type: 7 });
    bot.receive(bot.text, { content: 'other bot', author: { ...bot.pat, bot: true } });
    const emoji = { id: null, name: '👍' };
    const reaction = { user_id: bot.pat.id, channel_id: bot.dm.id, message_id: '1', emoji };
    bot.gateway.dispatch({ t: 'MESSAGE_REACTION_ADD', d: reaction });
    bot.gateway.dispatch({
      t: 'TYPING_START',
      d: { channel_id: bot.dm.id, user_id: bot.pat.id, timestamp: 1 },
    });
    const messages = await run.received(4);
    expect(messages).toMatchObject([
      { mentionsAccount: true, chat: { guild: bot.guildId } },
      { mentionsAccount: true },
      { media: [{ kind: 'image', id: image.url, bytes: 9 }], chat: dm() },
      { kind: 'reaction', text: '👍', replyTo: '1', chat: dm() },
    ]);
    await eventually(() => expect(run.typing).toMatchObject([dm()]));
  });

  test('the text of a model notifies no one', async () => {
    const run = runOf();
    await run.send(pieceOf(dm(), '@everyone <@1>'));
    expect(bot.bodies.at(-1)).toMatchObject({ allowed_mentions: { parse: [] } });
  });
});
