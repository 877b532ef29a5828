/**
 * Chat messages with idempotency keys that a test sends through a gateway while processes are
 * killed, and a check of each of them afterwards: each accepted message was answered exactly once.
 */
import { expect } from 'vitest';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { connectOperator } from '../../client/operator-client.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { TOKEN } from './program.ts';

const SESSIONS = 6;
/** A session with a full queue answers some messages well within this time. */
const STUCK_MS = 90_000;
const MESSAGE = 'Tell me something. [[words:60]] [[pace:300]]';

/**
 * Configuration of the program: each message has its own run and answer, and a session with a full
 * queue refuses messages.
 */
export const OWN_RUNS = `messages: { queue: { mode: 'followup', cap: 100, overflow: 'refuse' } }`;

export type Sent = { readonly session: string; readonly runId: string; accepted: boolean };

export const connectTo = (url: string): Promise<GatewayClient> =>
  connectOperator({ url, token: TOKEN, reconnect: false });

const sessionKeyOf = (n: number) => `agent:main:kill-${n}`;

/** The messages of one test run. Their ids contain the seed, so no other run has them. */
export class Conversations {
  readonly sent: Sent[] = [];
  readonly #seed: number;
  readonly #random: () => number;

  constructor(seed: number, random: () => number) {
    this.#seed = seed;
    this.#random = random;
  }

  /**
   * Sends messages until the connection breaks or `enough` is aborted. A refused message is not
   * accepted.
   * @param betweenMs the shortest time between two messages
   */
  async load(client: GatewayClient, enough?: AbortSignal, betweenMs = 20): Promise<void> {
    while (!enough?.aborted) {
      const message = {
        session: sessionKeyOf(Math.floor(this.#random() * SESSIONS)),
        runId: `run-${this.#seed}-${this.sent.length}`,
        accepted: false,
      };
      this.sent.push(message);
      try {
        await send(client, message);
      } catch (error) {
        if (client.state.kind !== 'open') return;
        if (!(error instanceof TroupeError)) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, betweenMs + this.#random() * 60));
    }
  }

  /**
   * Sends each message without a response again, under the same key. A client may do so at any
   * time.
   * @throws Error with the state of the session's runs, when it refuses messages for too long
   */
  async repeatUnanswered(client: GatewayClient): Promise<void> {
    for (const message of this.sent.filter(({ accepted }) => !accepted)) {
      const deadline = Date.now() + STUCK_MS;
      while (!message.accepted) {
        try {
          await send(client, message);
        } catch (error) {
          if (!isBusy(error)) throw error;
          if (Date.now() > deadline)
            throw new Error(await this.#stateOf(message.session, client), { cause: error });
          await new Promise((resolve) => setTimeout(resolve, 200));
        }
      }
    }
  }

  /** Describes a session in the message of a failed test. */
  async #stateOf(sessionKey: string, client: GatewayClient): Promise<string> {
    const open: string[] = [];
    for (const { session, runId, accepted } of this.sent) {
      if (session !== sessionKey || !accepted) continue;
      const { status } = await client.request('agent.wait', { runId, timeoutMs: 0 });
      if (status !== 'ok') open.push(`${runId} ${status}`);
    }
    const { messages: _, ...session } = await client.request('chat.history', { sessionKey });
    return `${sessionKey} takes nothing: ${JSON.stringify(session)}; its runs: ${open.join(', ')}`;
  }
}

/**
 * Checks that every run succeeded and that the transcripts contain each message and its answer
 * once.
 */
export async function account(client: GatewayClient, sent: readonly Sent[]): Promise<void> {
  for (const { runId } of sent) {
    const ended = await client.request(
      'agent.wait',
      { runId, timeoutMs: 120_000 },
      { timeoutMs: 130_000 },
    );
    expect({ runId, status: ended.status }).toEqual({ runId, status: 'ok' });
  }
  for (let n = 0; n < SESSIONS; n++) await accountSession(client, sessionKeyOf(n), sent);
}

async function accountSession(
  client: GatewayClient,
  sessionKey: string,
  sent: readonly Sent[],
): Promise<void> {
  const mine = sent.filter(({ session }) => session === sessionKey);
  const runIds = mine.map(({ runId }) => runId).toSorted();
  const entries = await transcriptOf(client, sessionKey);
  const runsOf = (role: string) =>
    entries.flatMap((entry) => (entry.role === role ? [entry.runId] : [])).toSorted();
  expect(runsOf('user'), `messages of ${sessionKey}`).toEqual(runIds);
  expect(runsOf('assistant'), `answers of ${sessionKey}`).toEqual(runIds);
  for (const { text, role } of entries) {
    if (role === 'assistant')
      expect(text.split(/\s+/).filter(Boolean).length).toBeGreaterThanOrEqual(60);
  }
}

async function send(client: GatewayClient, message: Sent): Promise<void> {
  await client.request('chat.send', {
    sessionKey: message.session,
    message: MESSAGE,
    idempotencyKey: message.runId,
  });
  message.accepted = true;
}

/**
 * The session's queue is full, or the shard has not written yet after its disk was full: nothing
 * was accepted, and the client retries later.
 */
const isBusy = (error: unknown) =>
  error instanceof TroupeError && /limit|accepts nothing at present/.test(error.message);

type Line = { readonly role: string; readonly runId: string; readonly text: string };

async function transcriptOf(client: GatewayClient, sessionKey: string): Promise<Line[]> {
  const lines: Line[] = [];
  for (let offset = 0; ; ) {
    const page = await client.request('chat.history', { sessionKey, limit: 1_000, offset });
    const read = page.messages.map(
      (message) =>
        message as unknown as { role: string; runId?: string; content: { text?: string }[] },
    );
    for (const { role, runId, content } of read) {
      const text = content.map((part) => part.text ?? '').join('');
      lines.push({ role, runId: runId ?? '', text });
    }
    offset += read.length;
    if (!page.hasMore || read.length === 0) return lines;
  }
}
