/**
 * Accounts of local services, as people see them: two of Telegram, Slack (Socket Mode and Events
 * API), Discord and the WhatsApp Cloud API each.
 */
import { afterAll, expect } from 'vitest';
import { eventually } from '../runtime/eventually.ts';
import { type DiscordBot, startDiscordServer } from '../servers/discord-server.ts';
import type { SlackApp } from '../servers/slack-app.ts';
import { openSlackServer } from '../servers/slack-server.ts';
import { startTelegramServer, type TelegramBot } from '../servers/telegram-server.ts';
import { openWhatsAppServer, type WhatsAppNumber } from '../servers/whatsapp-server.ts';

export interface Messenger {
  readonly channel: string;
  readonly account: string;
  /** of the account, in the configuration */
  readonly settings: object;
  /** one person each */
  readonly chats: readonly string[];
  /** The service delivers the messages of a chat in order, also those that it repeats. */
  readonly isOrdered: boolean;
  /** The service sends its requests to this gateway. */
  useGateway?(url: string): void;
  /** Resolves when what is written from now on arrives. */
  connected?(): Promise<void>;
  write(chat: string, text: string): void;
  /** what the account shows in a chat, oldest first */
  texts(chat: string): readonly string[];
}

const ACCOUNTS = ['a', 'b'];
const REPEAT_MS = 200;

const isAtLeast = (found: number, least: number): void =>
  expect(found).toBeGreaterThanOrEqual(least);
const hookOf = (gateway: string, channel: string, account: string): string =>
  `${gateway.replace(/^ws/, 'http').replace(/\/+$/, '')}/hooks/${channel}/${account}`;

/** The services end with the test file. */
export async function startMessengers(chats: number): Promise<readonly Messenger[]> {
  const [telegram, discord] = [await startTelegramServer(), await startDiscordServer()];
  const [slack, whatsapp] = [await openSlackServer(), await openWhatsAppServer()];
  afterAll(async () => {
    await Promise.all([telegram.close(), discord.close(), slack.close(), whatsapp.close()]);
  });
  const people = Array.from({ length: chats }, (_, n) => 1_000 + n);
  return ACCOUNTS.flatMap((account) => [
    ofTelegram(telegram.addBot(), { account, people, apiUrl: telegram.apiUrl }),
    ofDiscord(discord.addBot(), { account, people, apiUrl: discord.apiUrl }),
    ofSlack(slack.addApp(), { account, people, apiUrl: slack.apiUrl }),
    ofWhatsApp(whatsapp.addNumber(), { account, people, apiUrl: whatsapp.url }),
  ]);
}

type About = {
  readonly account: string;
  readonly people: readonly number[];
  readonly apiUrl: string;
};

const ofTelegram = (bot: TelegramBot, { account, people, apiUrl }: About): Messenger => ({
  channel: 'telegram',
  account,
  settings: { token: bot.token, apiUrl },
  chats: people.map(String),
  isOrdered: true,
  // a new account receives what is written from its first connection on
  connected: () =>
    eventually(() => isAtLeast(bot.requests.filter((one) => one === 'getUpdates').length, 2)),
  write(chat, text) {
    bot.receive({
      from: { id: Number(chat), is_bot: false, first_name: `Person ${chat}` },
      chat: { id: Number(chat), type: 'private' },
      text,
    });
  },
  texts: (chat) => bot.shown(chat).map(({ text }) => text),
});

function ofDiscord(bot: DiscordBot, { account, people, apiUrl }: About): Messenger {
  const channels = new Map(
    people.map((person) => {
      const channel = bot.addDm(`Person ${person}`);
      return [channel.id, channel] as const;
    }),
  );
  return {
    channel: 'discord',
    account,
    settings: { token: bot.token, apiUrl },
    chats: [...channels.keys()],
    isOrdered: true,
    connected: () => eventually(() => isAtLeast(bot.gateway.opened.length, 1)),
    write: (chat, content) => void bot.receive(channels.get(chat)!, { content }),
    texts: (chat) => bot.shown(chat).map(({ content }) => content),
  };
}

function ofSlack(app: SlackApp, { account, people, apiUrl }: About): Messenger {
  const chats = people.map((person) => `D${person}`);
  for (const chat of chats) app.channels.add(chat);
  app.ackMs = REPEAT_MS;
  const { botToken, appToken, signingSecret } = app;
  const shared = {
    channel: 'slack',
    account,
    chats,
    write: (chat: string, text: string) => void app.write(chat, text, { user: `U${chat}` }),
    texts: (chat: string) => app.shown(chat).map(({ text }) => text),
  };
  return account === ACCOUNTS[0]
    ? {
        ...shared,
        settings: { botToken, appToken, apiUrl },
        isOrdered: true,
        connected: () => eventually(() => isAtLeast(app.connections, 1)),
      }
    : {
        ...shared,
        settings: { botToken, signingSecret, apiUrl },
        // each event is a request of its own
        isOrdered: false,
        useGateway: (url) => void (app.requestUrl = hookOf(url, 'slack', account)),
      };
}

function ofWhatsApp(number: WhatsAppNumber, { account, people, apiUrl }: About): Messenger {
  number.hasStatuses = true;
  number.repeatMs = REPEAT_MS;
  const { accessToken, phoneNumberId, appSecret } = number;
  return {
    channel: 'whatsapp',
    account,
    settings: { accessToken, phoneNumberId, appSecret, verifyToken: 'a text of ours', apiUrl },
    chats: people.map((person) => `849${person}`),
    isOrdered: true,
    useGateway: (url) => void (number.hookUrl = hookOf(url, 'whatsapp', account)),
    write: (chat, text) => void number.write(chat, text),
    texts: (chat) => number.sent.filter(({ to }) => to === chat).map(({ text }) => text),
  };
}
