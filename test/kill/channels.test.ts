/**
 * Messengers while the program is killed: people write to two Telegram bots, the program answers,
 * and is killed with kill -9 at random moments. Afterwards every message was answered once, in
 * order; an answer whose sending was interrupted is reported as unknown instead, because Telegram
 * cannot say whether it was accepted. `TROUPE_KILL_SEED` repeats a run, `TROUPE_KILLS` sets the
 * number of kills.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { GatewayClient } from '../../client/gateway-client.ts';
type DeadLetterView = { readonly to: string; readonly reason: string };
import { eventually } from '../runtime/eventually.ts';
import { startTelegramServer, type TelegramBot } from '../servers/telegram-server.ts';
import { OWN_RUNS, randomOf } from './conversations.ts';
import { TestProgram } from './test-program.ts';

const SEED = Number(process.env['TROUPE_KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const KILLS = Number(process.env['TROUPE_KILLS'] ?? 3);
const CHATS = 12;
const WORDS = 60;

const random = randomOf(SEED);
const telegram = await startTelegramServer();
afterAll(() => telegram.close());
const bots = [telegram.addBot(), telegram.addBot()] as const;

const program = new TestProgram();
const accountOf = ({ token }: TelegramBot) =>
  `{ token: '${token}', apiUrl: '${telegram.apiUrl}', dmPolicy: 'open' }`;
writeFileSync(
  join(program.data, 'troupe.json5'),
  `{ ${OWN_RUNS}, session: { dmScope: 'per-account-channel-peer' },
     channels: { telegram: { accounts: { a: ${accountOf(bots[0])}, b: ${accountOf(bots[1])} } } } }`,
);

/**
 * What a person wrote: a numbered text, which the answer quotes, or a request for a long answer.
 */
type Written = { readonly bot: TelegramBot; readonly chat: number; readonly number?: number };
const written: Written[] = [];

function write(): void {
  const bot = bots[Math.floor(random() * bots.length)]!;
  const chat = 1_000 + Math.floor(random() * CHATS);
  const isNumbered = random() < 0.7;
  const number = 10_000 + written.length;
  written.push({ bot, chat, ...(isNumbered && { number }) });
  bot.receive({
    from: { id: chat, is_bot: false, first_name: `Person ${chat}` },
    chat: { id: chat, type: 'private' },
    text: isNumbered
      ? `Note number ${number}`
      : `Tell me something. [[words:${WORDS}]] [[pace:200]]`,
  });
}

async function writeFor(ms: number): Promise<void> {
  const end = Date.now() + ms;
  while (Date.now() < end) {
    write();
    await new Promise((resolve) => setTimeout(resolve, 20 + random() * 60));
  }
}

/** Ids of deliveries whose sending is unknown, by account and chat. */
async function unknownIn(client: GatewayClient): Promise<readonly string[]> {
  const result: unknown = await client.request('operations.run', {
    name: 'dead-letters.list',
    params: { domain: 'channels' },
  });
  const { dead_letters: letters } = result as { dead_letters: readonly DeadLetterView[] };
  for (const { reason } of letters) expect(reason).toBe('UNKNOWN');
  return letters.map(({ to }) => to);
}

const isPoll = (method: string) => method === 'getUpdates';
const wordsOf = (text: string) => text.split(/\s+/).filter(Boolean).length;

/** Answers in a chat: the quoted numbers in order, and how many long answers there are. */
function answersIn(bot: TelegramBot, chat: number) {
  const texts = bot.shown(chat).map(({ text }) => text);
  const quoted = texts.flatMap((text) => /Note number (\d+)/.exec(text)?.[1] ?? []).map(Number);
  return { quoted, long: texts.filter((text) => wordsOf(text) >= WORDS).length };
}

test(`people in messengers are answered once, in order, while the program is killed (seed ${SEED})`, {
  timeout: 120_000 + KILLS * 20_000,
}, async () => {
  await program.start();
  // A new account receives what is written from its first connection on.
  for (const bot of bots)
    await eventually(() => expect(bot.requests.filter(isPoll).length).toBeGreaterThan(1));
  for (let kill = 0; kill < KILLS; kill++) {
    if (kill > 0) await program.start();
    await writeFor(500 + random() * 2_000);
    await program.kill();
    await writeFor(200);
  }
  await program.start();
  const client = await program.connect();
  const unanswered = async (): Promise<readonly string[]> => {
    const unknown = [...(await unknownIn(client))];
    return bots.flatMap((bot, n) =>
      Array.from({ length: CHATS }, (_, i) => 1_000 + i).flatMap((chat) => {
        const mine = written.filter((one) => one.bot === bot && one.chat === chat);
        const { quoted, long } = answersIn(bot, chat);
        const address = `default/chat/telegram:${'ab'[n]}:${chat}`;
        const reported = unknown.filter((to) => to === address).length;
        const missing = mine.length - quoted.length - long - reported;
        return missing > 0 ? [`${address}: ${missing} of ${mine.length}`] : [];
      }),
    );
  };
  await eventually(async () => expect(await unanswered()).toEqual([]), 90_000);
  for (const bot of bots) {
    expect(bot.pending, 'acknowledged').toBe(0);
    for (let chat = 1_000; chat < 1_000 + CHATS; chat++) {
      const mine = written.filter((one) => one.bot === bot && one.chat === chat);
      const { quoted, long } = answersIn(bot, chat);
      const asked = mine.flatMap(({ number }) => number ?? []);
      expect(quoted, 'once and in order').toEqual(asked.filter((one) => quoted.includes(one)));
      expect(long).toBeLessThanOrEqual(mine.length - asked.length);
    }
  }
});
