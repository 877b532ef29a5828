/**
 * People who write in four messengers at random, and the account of their messages afterwards: each
 * was answered once, in the order in which the service delivers a chat; an answer whose sending was
 * interrupted is reported as unknown instead where the service cannot say whether it was accepted.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { eventually } from '../runtime/eventually.ts';
import { OWN_RUNS } from './conversations.ts';
import { type Messenger, startMessengers } from './messengers.ts';

type DeadLetterView = { readonly to: string; readonly reason: string };
/** What a person wrote. A numbered text is quoted by its answer; others have long answers. */
type Written = { readonly in: Messenger; readonly chat: string; readonly number?: number };

const WORDS = 60;
/** An account whose connections failed several times on a busy machine waits for minutes. */
const ANSWERED_WITHIN_MS = 240_000;

const isEqual = (found: unknown, wanted: unknown): void => expect(found).toEqual(wanted);
const isAtLeast = (found: number, least: number): void =>
  expect(found).toBeGreaterThanOrEqual(least);

const wordsOf = (text: string) => text.split(/\s+/).filter(Boolean).length;

export class People {
  readonly #random: () => number;
  readonly #messengers: readonly Messenger[];
  readonly #written: Written[] = [];

  private constructor(messengers: readonly Messenger[], random: () => number) {
    this.#messengers = messengers;
    this.#random = random;
  }

  /** @param chats of each account */
  static async of(random: () => number, chats: number): Promise<People> {
    return new People(await startMessengers(chats), random);
  }

  /** The configuration of the program, with more of its sections. */
  config(more = ''): string {
    const channels: Record<string, { accounts: Record<string, object> }> = {};
    for (const { channel, account, settings } of this.#messengers) {
      channels[channel] ??= { accounts: {} };
      channels[channel].accounts[account] = { ...settings, dmPolicy: 'open' };
    }
    return `{ ${more} ${OWN_RUNS}, session: { dmScope: 'per-account-channel-peer' },
      channels: ${JSON.stringify(channels)} }`;
  }

  /** Resolves when what people write from now on arrives. */
  async connected(gateway: string): Promise<void> {
    for (const messenger of this.#messengers) {
      messenger.useGateway?.(gateway);
      await messenger.connected?.();
    }
  }

  async writeFor(ms: number): Promise<void> {
    const end = Date.now() + ms;
    while (Date.now() < end) {
      this.#write();
      await pause(20 + this.#random() * 60);
    }
  }

  #write(): void {
    const messenger = this.#oneOf(this.#messengers);
    const chat = this.#oneOf(messenger.chats);
    const isNumbered = this.#random() < 0.7;
    const number = 10_000 + this.#written.length;
    this.#written.push({ in: messenger, chat, ...(isNumbered && { number }) });
    const long = `Tell me something. [[words:${WORDS}]] [[pace:200]]`;
    messenger.write(chat, isNumbered ? `Note number ${number}` : long);
  }

  #oneOf<T>(all: readonly T[]): T {
    return all[Math.floor(this.#random() * all.length)]!;
  }

  /**
   * Waits until every message is answered or its answer is reported, and checks the answers.
   * Returns the number of messages.
   * @param inOrder false where a service may deliver a refused message after later ones
   */
  async account(client: GatewayClient, inOrder = true): Promise<number> {
    await eventually(
      async () => isEqual(this.#unanswered(await unknownIn(client)), []),
      ANSWERED_WITHIN_MS,
    ).catch(async (error: Error) => {
      const { channels } = await operation<{ channels: unknown }>(client, 'channels.list');
      throw new Error(`${error.message}; ${JSON.stringify(channels)}`, { cause: error });
    });
    for (const messenger of this.#messengers)
      for (const chat of messenger.chats) {
        const mine = this.#writtenIn(messenger, chat);
        const { quoted, long } = answersIn(messenger, chat);
        const asked = mine.flatMap(({ number }) => number ?? []);
        const wanted = asked.filter((one) => quoted.includes(one));
        const found = inOrder && messenger.isOrdered ? quoted : quoted.toSorted((a, b) => a - b);
        const shown = (numbers: readonly number[]) =>
          `${addressOf(messenger, chat)} shows ${numbers.join()}`;
        isEqual(shown(found), shown(wanted));
        isAtLeast(mine.length - asked.length, long);
      }
    return this.#written.length;
  }

  /** How many answers are known to be shown, and how many are reported, by channel. */
  async summary(client: GatewayClient): Promise<string> {
    const unknown = await unknownIn(client);
    const channels = [...new Set(this.#messengers.map(({ channel }) => channel))];
    return channels
      .map((channel) => {
        const written = this.#written.filter((one) => one.in.channel === channel).length;
        const reported = unknown.filter((to) => to.startsWith(`default/chat/${channel}:`)).length;
        return `${channel}: ${written} written, ${reported} reported`;
      })
      .join('; ');
  }

  #writtenIn(messenger: Messenger, chat: string): readonly Written[] {
    return this.#written.filter((one) => one.in === messenger && one.chat === chat);
  }

  #unanswered(unknown: readonly string[]): readonly string[] {
    return this.#messengers.flatMap((messenger) =>
      messenger.chats.flatMap((chat) => {
        const written = this.#writtenIn(messenger, chat).length;
        const { quoted, long } = answersIn(messenger, chat);
        const address = addressOf(messenger, chat);
        const reported = unknown.filter((to) => to === address).length;
        const missing = written - quoted.length - long - reported;
        return missing > 0 ? [`${address}: ${missing} of ${written}`] : [];
      }),
    );
  }
}

const addressOf = ({ channel, account }: Messenger, chat: string): string =>
  `default/chat/${channel}:${account}:${chat}`;

/** The chats with answers whose sending is unknown, one entry for each answer. */
async function unknownIn(client: GatewayClient): Promise<readonly string[]> {
  const { dead_letters: letters } = await operation<{ dead_letters: readonly DeadLetterView[] }>(
    client,
    'dead-letters.list',
    { domain: 'channels' },
  );
  for (const { reason } of letters) expect(reason).toBe('UNKNOWN');
  return letters.map(({ to }) => to);
}

const operation = async <Result>(client: GatewayClient, name: string, params = {}) =>
  (await client.request('operations.run', { name, params })) as Result;

/** Answers in a chat: the quoted numbers in order, and how many long answers there are. */
function answersIn(messenger: Messenger, chat: string) {
  // A kill may leave a preview beside its reply.
  const texts = messenger.texts(chat).filter((text) => !text.endsWith('…'));
  const quoted = texts.flatMap((text) => /Note number (\d+)/.exec(text)?.[1] ?? []).map(Number);
  return { quoted, long: texts.filter((text) => wordsOf(text) >= WORDS).length };
}
