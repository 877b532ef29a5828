/** The Telegram adapter against a local server with the Bot API. */
import { describe, expect, test } from 'vitest';
import type { ChannelAdapter } from '../../../channels/messengers/adapter.ts';
import { telegram, telegramWithin } from '../../../channels/messengers/telegram/adapter.ts';
import type { ChatRef } from '../../../protocols/channel.ts';
import { Secret } from '../../../runtime/config/index.ts';
import {
  startTelegramServer,
  type TelegramBot,
  type TelegramFault,
  type TelegramServer,
} from '../../servers/telegram-server.ts';
import { channelContract, type Messenger, type SendFault } from './contract.ts';

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
    adapter: quick as ChannelAdapter,
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
