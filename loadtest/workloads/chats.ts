/**
 * Messages over the channel `webchat`, as the page sends them: `chat.send`, then the event `chat`
 * with the whole answer, which reaches every client that follows the session.
 * Success: the event has the state `final`.
 */
import { randomUUID } from 'node:crypto';
import { TroupeError } from '../../protocols/errors.ts';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { cancelled } from '../../client/gateway-errors.ts';
import { BenchSessions } from './bench-sessions.ts';
import type { Workload } from './workload.ts';

export const chats: Workload = {
  summary: 'messages over the channel webchat, from the message to the event with the answer',
  usesModel: true,
  open(target, { testId, agent, message }) {
    const sessions = new BenchSessions(target, `bench-${testId}-chats`, agent);
    const answers = new Map(target.clients.map((client) => [client, new Answers(client)]));
    return {
      async send({ signal }) {
        const client = target.client();
        const sessionKey = sessions.take();
        const runId = randomUUID();
        const answered = answers.get(client)!.of(runId, signal);
        const params = { sessionKey, message, idempotencyKey: runId };
        // Either may fail first; the other one's failure is then handled, too.
        await Promise.all([
          client.request('chat.send', params, { signal, timeoutMs: 0 }),
          answered,
        ]);
        sessions.giveBack(sessionKey);
      },
      async close() {
        for (const each of answers.values()) each.close();
        await sessions.remove();
      },
    };
  },
};

type Settle = (error?: TroupeError) => void;

/** The ends of the runs that one connection started. */
class Answers {
  readonly #waiting = new Map<string, Settle>();
  readonly close: () => void;

  constructor(client: GatewayClient) {
    const off = client.on('chat', (payload) => {
      const { runId, state } = payload as { runId: string; state: string };
      if (state === 'delta') return;
      this.#waiting.get(runId)?.(state === 'final' ? undefined : failed(state));
    });
    // The answer of a request whose connection was lost is not awaited.
    const unwatch = client.watch((now) => {
      if (now.kind !== 'waiting' && now.kind !== 'closed') return;
      const lost = new TroupeError('UNAVAILABLE', 'the connection was lost');
      for (const settle of this.#waiting.values()) settle(lost);
    });
    this.close = () => {
      off();
      unwatch();
    };
  }

  of(runId: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = () => settle(cancelled(signal));
      const settle: Settle = (error) => {
        this.#waiting.delete(runId);
        signal.removeEventListener('abort', abort);
        if (error) reject(error);
        else resolve();
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#waiting.set(runId, settle);
    });
  }
}

const failed = (state: string) => new TroupeError('UNAVAILABLE', `the answer ended as ${state}`);
