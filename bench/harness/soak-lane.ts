/** The load of a soak with its faults, and the account of its messages. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayClient } from '../../client/gateway-client.ts';
import type { Program } from './program.ts';

/** Messages of a session before it is deleted. */
const SESSION_MESSAGES = 50;
export const FAULT_SHARE = 0.01;
/** After a request that is cut: the run has begun by then. */
const CUT_AFTER_MS = 20;

export type SoakCounts = {
  runs: number;
  cuts: number;
  failures: number;
  aborts: number;
  sessions: number;
};

/** Sends one message after the other to a session of its own, over a connection of its own. */
export class SoakLane {
  readonly #program: Program;
  readonly #random: () => number;
  readonly #counts: SoakCounts;
  readonly #name: number;
  #client: GatewayClient | undefined;

  constructor(program: Program, random: () => number, counts: SoakCounts, name: number) {
    this.#program = program;
    this.#random = random;
    this.#counts = counts;
    this.#name = name;
  }

  async work(until: number): Promise<void> {
    for (let session = 0; Date.now() < until; session++) {
      const key = `agent:main:soak-${this.#name}-${session}`;
      let sent = 0;
      while (sent < SESSION_MESSAGES && Date.now() < until) await this.#run(key, sent++);
      await this.#end(key, sent);
    }
    this.#client?.close();
  }

  async #run(sessionKey: string, n: number): Promise<void> {
    const isFault = this.#random() < FAULT_SHARE;
    const kind = isFault
      ? (['cut', 'fail', 'abort'] as const)[Math.floor(this.#random() * 3)]
      : undefined;
    const message =
      kind === 'fail' ? 'call read {"path": "absent"}' : 'Tell me something. [[words:60]]';
    const idempotencyKey = `${sessionKey} ${n}`;
    const send = async () =>
      (await this.#connection()).request(
        'agent',
        { message, sessionKey, idempotencyKey },
        { expectFinal: true },
      );
    this.#counts.runs++;
    if (kind === undefined) return void (await send());
    if (kind === 'fail') {
      this.#counts.failures++;
      return void (await send());
    }
    const running = send().catch(() => {});
    await sleep(CUT_AFTER_MS);
    if (kind === 'abort') {
      this.#counts.aborts++;
      await (await this.#connection()).request('chat.abort', { sessionKey });
      return void (await running);
    }
    this.#counts.cuts++;
    this.#client?.close();
    this.#client = undefined;
    await running;
    await send();
  }

  /** @throws Error when messages are lost or doubled */
  async #end(key: string, sent: number): Promise<void> {
    const client = await this.#connection();
    const { messages } = await client.request('chat.history', { sessionKey: key, limit: 1_000 });
    const found = messages.filter(({ role }) => role === 'user').length;
    if (found !== sent) throw new Error(`${key} has ${found} messages of ${sent}`);
    await client.request('sessions.delete', { key });
    this.#counts.sessions++;
  }

  async #connection(): Promise<GatewayClient> {
    this.#client ??= await this.#program.connect();
    return this.#client;
  }
}
