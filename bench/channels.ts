/**
 * What a channel adds to a conversation. The built program runs with one webhook account and the
 * offline model without delay; this process posts the messages of 100 people and receives the
 * replies, as a messenger's service would.
 *
 * A message is measured from its request to the request with its reply: signature, mailbox of the
 * chat, session, run, reply, mailbox of the chat again, request. The same message sent by a
 * WebSocket client is measured in the same program; the difference is what the channel adds, both
 * ways together. Every reply repeats the number of its message, so order, losses and repeats are
 * counted.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomBytes, randomUUID } from 'node:crypto';
import type { GatewayClient } from '../client/gateway-client.ts';
import { headersOf, openWebhookServer } from '../test/servers/webhook-server.ts';
import { processorTimeOf } from './harness/computer.ts';
import { atPace } from './harness/pace.ts';
import { type Program, startProgram } from './harness/program.ts';
import { defineScenario } from './harness/scenario.ts';
import { spread } from './harness/statistics.ts';
import { inParallel } from './harness/system.ts';

const CHATS = 100;
const RATE_PER_SECOND = 50;
/** Messages in flight of all chats in the throughput phase. */
const WINDOW = 2 * CHATS;
const REPLY_MS_MAX = 60_000;

export const channels = defineScenario({
  name: 'channels',
  question: 'what does a channel add to a message, and how many messages go through a second?',
  needsProgram: true,
  secondsMax: 120,
  figures: {
    addedP50Ms: { label: '50 messages/s: added by the channel, p50', unit: 'ms' },
    replyP50Ms: { label: '  message to reply, p50', unit: 'ms', limit: 'gatewayP50Ms' },
    replyP99Ms: { label: '  p99', unit: 'ms', limit: 'gatewayP99Ms' },
    storedP50Ms: { label: '  message to its acknowledgement, p50', unit: 'ms' },
    gatewayP50Ms: { label: '  limit: by a WebSocket client, p50', unit: 'ms' },
    gatewayP99Ms: { label: '  limit: p99', unit: 'ms' },
    messagesPerSecond: { label: `messages of ${CHATS} chats, one account`, unit: '1/s' },
    serverThreadMs: { label: '  processor time of a message, JavaScript thread', unit: 'ms' },
    wrong: { label: '  replies that were lost, repeated or out of order', unit: 'count' },
  },
  async measure({ folder, pick }) {
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    const receiver = await openWebhookServer(secret);
    await configure(folder, secret, receiver.url);
    const program = await startProgram(folder);
    const people = new People(program, secret);
    receiver.onMessage = (body) => people.onReply(body);
    const client = await program.connect();
    await people.connected();
    await inParallel(pick(1_000, 300, 10), WINDOW, (at) => people.write(at).then(() => {}));
    const count = pick(500, 150, 5);
    const byClient = await atPace(1_000 / RATE_PER_SECOND, count, (at) => ask(client, at));
    const byChannel = await atPace(1_000 / RATE_PER_SECOND, count, (at) => people.write(at));
    const gatewayMs = spread(byClient.map(({ endMs }) => endMs));
    const replyMs = spread(byChannel.map(({ endMs }) => endMs));
    const before = processorTimeOf(program.pid).mainMs;
    const many = pick(10_000, 2_000, 20);
    const begun = performance.now();
    await inParallel(many, WINDOW, (at) => people.write(at).then(() => {}));
    const seconds = (performance.now() - begun) / 1_000;
    const threadMs = processorTimeOf(program.pid).mainMs - before;
    client.close();
    await program.stop();
    await receiver.close();
    return {
      addedP50Ms: replyMs.p50 - gatewayMs.p50,
      replyP50Ms: replyMs.p50,
      replyP99Ms: replyMs.p99,
      storedP50Ms: spread(byChannel.map(({ acceptedMs }) => acceptedMs)).p50,
      gatewayP50Ms: gatewayMs.p50,
      gatewayP99Ms: gatewayMs.p99,
      messagesPerSecond: many / seconds,
      serverThreadMs: threadMs / many,
      wrong: people.wrong,
    };
  },
});

type Timed = { readonly acceptedMs: number; readonly endMs: number };

async function configure(folder: string, secret: string, url: string): Promise<void> {
  const data = join(folder, 'data');
  await mkdir(data, { recursive: true });
  const config = {
    messages: { queue: { mode: 'followup' } },
    log: { level: 'warn' },
    session: { dmScope: 'per-channel-peer' },
    channels: { webhook: { accounts: { main: { secret, url, dmPolicy: 'open' } } } },
  };
  await writeFile(join(data, 'troupe.json5'), JSON.stringify(config));
}

async function ask(client: GatewayClient, at: number): Promise<Timed> {
  const sent = performance.now();
  let acceptedMs = 0;
  const onAccepted = () => void (acceptedMs = performance.now() - sent);
  const sessionKey = `steady-${at % CHATS}`;
  const params = { message: `echo ${at}`, sessionKey, idempotencyKey: randomUUID() };
  const final = await client.request('agent', params, { expectFinal: true, onAccepted });
  if (final.status !== 'ok') throw new Error(`a run ended ${final.status}`);
  return { acceptedMs, endMs: performance.now() - sent };
}

/** People with one chat each, who write to the account and read its replies. */
class People {
  readonly #hook: string;
  readonly #secret: string;
  readonly #waiting = new Map<string, () => void>();
  /** by chat: the last message */
  readonly #posted = new Map<string, Promise<unknown>>();
  /** by chat: the number of the last reply */
  readonly #last = new Map<string, number>();
  #number = 0;
  wrong = 0;

  constructor({ port }: Program, secret: string) {
    this.#hook = `http://127.0.0.1:${port}/hooks/webhook/main`;
    this.#secret = secret;
  }

  /** Resolves when the account accepts messages. */
  async connected(): Promise<void> {
    await this.write(0);
  }

  async write(at: number): Promise<Timed> {
    const chat = `p${at % CHATS}`;
    const number = ++this.#number;
    const replied = new Promise<void>((resolve) => this.#waiting.set(String(number), resolve));
    // as services do: the next message of a chat follows the acknowledgement of the one before
    const posted = (this.#posted.get(chat) ?? Promise.resolve()).then(() =>
      this.#post(chat, number),
    );
    this.#posted.set(chat, posted);
    const { sent, acceptedMs } = await posted;
    const late = AbortSignal.timeout(REPLY_MS_MAX);
    const failed = new Promise<never>((_, reject) => {
      late.addEventListener('abort', () => reject(new Error(`no reply to message ${number}`)));
    });
    await Promise.race([replied, failed]);
    return { acceptedMs, endMs: performance.now() - sent };
  }

  async #post(chat: string, number: number) {
    const body = JSON.stringify({ sender: { id: chat }, text: `echo ${number}` });
    const headers = headersOf(this.#secret, randomUUID(), body);
    const sent = performance.now();
    const response = await fetch(this.#hook, { method: 'POST', body, headers });
    await response.body?.cancel();
    if (response.status !== 202) throw new Error(`the account answered ${response.status}`);
    return { sent, acceptedMs: performance.now() - sent };
  }

  onReply({ text, chat }: { readonly text: string; readonly chat: { readonly id: string } }): void {
    const number = /\d+/.exec(text)?.[0] ?? '';
    const resolve = this.#waiting.get(number);
    if (!resolve || Number(number) < (this.#last.get(chat.id) ?? 0)) this.wrong++;
    this.#waiting.delete(number);
    this.#last.set(chat.id, Number(number));
    resolve?.();
  }
}
