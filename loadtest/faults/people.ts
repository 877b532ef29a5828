/**
 * People who send messages to sessions while the cell is broken. A message that had no response is
 * sent again under the same idempotency key, as any client may. The key is also the id of its run.
 */
import { setMaxListeners } from 'node:events';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { errorCodeOf } from '../error-code.ts';
import type { Line, SentMessage } from './account.ts';
import { untilDone } from './until-done.ts';

export type PeopleOptions = {
  /** reconnects by itself */
  readonly client: GatewayClient;
  /** the beginning of all ids */
  readonly prefix: string;
  /** ends the attempts of everything */
  readonly signal: AbortSignal;
};

/** A gateway that is frozen keeps its connections and sends no response. */
const RESPONSE_MS_MAX = 3_000;
/** A request waits this long for the end of a run. */
const WAIT_MS = 2_000;
const PAGE = 1_000;

export class People {
  readonly sent: SentMessage[] = [];
  readonly #options: PeopleOptions;
  readonly #open = new Set<Promise<void>>();
  readonly #waiting = new Set<Waiting>();

  constructor(options: PeopleOptions) {
    this.#options = options;
    // every request in flight listens
    setMaxListeners(0, options.signal);
  }

  /** Messages whose run has ended. */
  get answered(): number {
    return this.sent.filter(({ answeredAt }) => answeredAt !== undefined).length;
  }

  /** Resolves when the run of the message has ended, or `signal` has ended the attempts. */
  async send(session: string): Promise<void> {
    const number = this.sent.length + 1;
    const message: SentMessage = {
      session,
      runId: `${this.#options.prefix}-${number}`,
      text: `Message ${number} of ${this.#options.prefix}.`,
      sentAt: new Date().toISOString(),
      requests: 0,
    };
    this.sent.push(message);
    const life = this.#live(message);
    this.#open.add(life);
    await life.finally(() => this.#open.delete(life));
  }

  /**
   * Resolves when a run of the session has ended well since this time and its end is known. Never,
   * when none does.
   * @param since epoch milliseconds; an end before it that is received later does not count
   */
  nextAnswer(session: string, since: number): Promise<void> {
    return new Promise((resolve) => this.#waiting.add({ session, since, resolve }));
  }

  /** Resolves when every message has ended, or `signal` has ended the attempts. */
  async settled(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }

  /** What the gateway shows of a session. @throws TroupeError as the request */
  async transcript(sessionKey: string): Promise<Line[]> {
    const lines: Line[] = [];
    for (;;) {
      const asked = { sessionKey, limit: PAGE, offset: lines.length };
      const page = await this.#options.client.request('chat.history', asked);
      lines.push(...page.messages.map(lineOf));
      if (!page.hasMore || page.messages.length === 0) return lines;
    }
  }

  #answered(session: string, endedAt: number): void {
    for (const waiting of this.#waiting) {
      if (waiting.session !== session || endedAt < waiting.since) continue;
      this.#waiting.delete(waiting);
      waiting.resolve();
    }
  }

  async #live(message: SentMessage): Promise<void> {
    const { session: sessionKey, runId, text } = message;
    const { client, signal } = this.#options;
    const onError = (error: unknown) => void (message.lastError = errorCodeOf(error));
    const send = async () => {
      await client.ready(signal);
      message.requests++;
      const params = { sessionKey, message: text, idempotencyKey: runId };
      await client.request('chat.send', params, { signal, timeoutMs: RESPONSE_MS_MAX });
      message.acceptedAt = new Date().toISOString();
      return true;
    };
    const wait = async () => {
      await client.ready(signal);
      const params = { runId, timeoutMs: WAIT_MS };
      const options = { signal, timeoutMs: WAIT_MS + RESPONSE_MS_MAX };
      const ended = await client.request('agent.wait', params, options);
      const { status, error, endedAt = Date.now() } = ended;
      if (status !== 'ok' && status !== 'error') return false;
      message.status = status;
      if (error !== undefined) message.error = error;
      message.answeredAt = new Date().toISOString();
      if (status === 'ok') this.#answered(sessionKey, endedAt);
      return true;
    };
    if (await untilDone(send, signal, onError)) await untilDone(wait, signal, onError);
  }
}

type Waiting = {
  readonly session: string;
  readonly since: number;
  readonly resolve: () => void;
};

function lineOf(message: Readonly<Record<string, unknown>>): Line {
  const { role, runId, content } = message;
  const parts = Array.isArray(content) ? (content as readonly { text?: string }[]) : [];
  const text =
    typeof content === 'string' ? content : parts.map((part) => part.text ?? '').join('');
  return {
    role: String(role),
    ...(typeof runId === 'string' && { runId }),
    text,
  };
}
