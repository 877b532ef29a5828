/**
 * People who write to two Telegram bots at random, and the account of their messages afterwards:
 * each was answered once, in the order of its chat; an answer whose sending was interrupted is
 * reported as unknown instead, because Telegram cannot say whether it was accepted.
 */
import { afterAll, expect } from 'vitest';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { eventually } from '../runtime/eventually.ts';
import {
  startTelegramServer,
  type TelegramBot,
  type TelegramServer,
} from '../servers/telegram-server.ts';
import { OWN_RUNS } from './conversations.ts';

type DeadLetterView = { readonly to: string; readonly reason: string };
/** What a person wrote. A numbered text is quoted by its answer; others have long answers. */
type Written = { readonly bot: TelegramBot; readonly chat: number; readonly number?: number };

const CHATS = Array.from({ length: 12 }, (_, n) => 1_000 + n);
const WORDS = 60;
const ANSWERED_WITHIN_MS = 90_000;

const isEqual = (found: unknown, wanted: unknown): void => expect(found).toEqual(wanted);
const isAtLeast = (found: number, least: number): void =>
  expect(found).toBeGreaterThanOrEqual(least);

const isPoll = (method: string) => method === 'getUpdates';
const wordsOf = (text: string) => text.split(/\s+/).filter(Boolean).length;

export class People {
  readonly #random: () => number;
  readonly #server: TelegramServer;
  readonly #bots: readonly [TelegramBot, TelegramBot];
  readonly #written: Written[] = [];

  private constructor(server: TelegramServer, random: () => number) {
    this.#server = server;
    this.#random = random;
    this.#bots = [server.addBot(), server.addBot()];
  }

  /** The server of the bots ends with the test file. */
  static async of(random: () => number): Promise<People> {
    const server = await startTelegramServer();
    afterAll(() => server.close());
    return new People(server, random);
  }

  /** The configuration of the program: the accounts `a` and `b`, and more of its sections. */
  config(more = ''): string {
    const [a, b] = this.#bots.map(
      ({ token }) => `{ token: '${token}', apiUrl: '${this.#server.apiUrl}', dmPolicy: 'open' }`,
    );
    return `{ ${more} ${OWN_RUNS}, session: { dmScope: 'per-account-channel-peer' },
      channels: { telegram: { accounts: { a: ${a}, b: ${b} } } } }`;
  }

  /** A new account receives what is written from its first connection on. */
  async connected(): Promise<void> {
    for (const { requests } of this.#bots)
      await eventually(() => isAtLeast(requests.filter(isPoll).length, 2));
  }

  async writeFor(ms: number): Promise<void> {
    const end = Date.now() + ms;
    while (Date.now() < end) {
      this.#write();
      await new Promise((resolve) => setTimeout(resolve, 20 + this.#random() * 60));
    }
  }

  #write(): void {
    const bot = this.#oneOf(this.#bots);
    const chat = this.#oneOf(CHATS);
    const isNumbered = this.#random() < 0.7;
    const number = 10_000 + this.#written.length;
    this.#written.push({ bot, chat, ...(isNumbered && { number }) });
    bot.receive({
      from: { id: chat, is_bot: false, first_name: `Person ${chat}` },
      chat: { id: chat, type: 'private' },
      text: isNumbered
        ? `Note number ${number}`
        : `Tell me something. [[words:${WORDS}]] [[pace:200]]`,
    });
  }

  #oneOf<T>(all: readonly T[]): T {
    return all[Math.floor(this.#random() * all.length)]!;
  }

  /**
   * Waits until every message is answered or its answer is reported, and checks the answers.
   * Returns the number of messages.
   */
  async account(client: GatewayClient): Promise<number> {
    await eventually(
      async () => isEqual(this.#unanswered(await unknownIn(client)), []),
      ANSWERED_WITHIN_MS,
    );
    for (const bot of this.#bots) {
      isEqual(bot.pending, 0);
      for (const chat of CHATS) {
        const mine = this.#writtenTo(bot, chat);
        const { quoted, long } = answersIn(bot, chat);
        const asked = mine.flatMap(({ number }) => number ?? []);
        // Once, and in order.
        isEqual(
          quoted,
          asked.filter((one) => quoted.includes(one)),
        );
        isAtLeast(mine.length - asked.length, long);
      }
    }
    return this.#written.length;
  }

  #writtenTo(bot: TelegramBot, chat: number): readonly Written[] {
    return this.#written.filter((one) => one.bot === bot && one.chat === chat);
  }

  #unanswered(unknown: readonly string[]): readonly string[] {
    return this.#bots.flatMap((bot, n) =>
      CHATS.flatMap((chat) => {
        const written = this.#writtenTo(bot, chat).length;
        const { quoted, long } = answersIn(bot, chat);
        const address = `default/chat/telegram:${'ab'[n]}:${chat}`;
        const reported = unknown.filter((to) => to === address).length;
        const missing = written - quoted.length - long - reported;
        return missing > 0 ? [`${address}: ${missing} of ${written}`] : [];
      }),
    );
  }
}

/** The chats with answers whose sending is unknown, one entry for each answer. */
async function unknownIn(client: GatewayClient): Promise<readonly string[]> {
  const result: unknown = await client.request('operations.run', {
    name: 'dead-letters.list',
    params: { domain: 'channels' },
  });
  const { dead_letters: letters } = result as { dead_letters: readonly DeadLetterView[] };
  for (const { reason } of letters) expect(reason).toBe('UNKNOWN');
  return letters.map(({ to }) => to);
}

/** Answers in a chat: the quoted numbers in order, and how many long answers there are. */
function answersIn(bot: TelegramBot, chat: number) {
  const texts = bot.shown(chat).map(({ text }) => text);
  const quoted = texts.flatMap((text) => /Note number (\d+)/.exec(text)?.[1] ?? []).map(Number);
  return { quoted, long: texts.filter((text) => wordsOf(text) >= WORDS).length };
}
