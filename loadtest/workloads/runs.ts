/**
 * Runs of an agent: `agent` over the gateway's WebSocket, from the request to the final response.
 * Success: the run ended with the status `ok`.
 */
import { randomUUID } from 'node:crypto';
import { TroupeError } from '../../protocols/errors.ts';
import type { AgentFinal } from '../../protocols/gateway/index.ts';
import type { Target } from '../target.ts';
import { BenchSessions } from './bench-sessions.ts';
import type { Workload } from './workload.ts';

export const runs: Workload = {
  summary: 'runs of an agent over the gateway, from the message to the end of the run (status ok)',
  usesModel: true,
  open(target, { testId, agent, message }) {
    const sessions = new BenchSessions(target, `bench-${testId}-runs`, agent);
    return {
      async send({ signal }) {
        const sessionKey = sessions.take();
        await runOf(target, { sessionKey, message }, signal);
        // A session whose run did not end as expected may still be busy.
        sessions.giveBack(sessionKey);
      },
      close: () => sessions.remove(),
    };
  },
};

/** Resolves with a run that ended well. @throws TroupeError why it did not */
export async function runOf(
  target: Target,
  { sessionKey, message }: { readonly sessionKey: string; readonly message: string },
  signal: AbortSignal,
): Promise<AgentFinal> {
  const params = { message, sessionKey, idempotencyKey: randomUUID() };
  const final = await target
    .client()
    .request('agent', params, { expectFinal: true, signal, timeoutMs: 0 });
  if (final.status === 'ok') return final;
  throw new TroupeError(
    final.status === 'timeout' ? 'DEADLINE_EXCEEDED' : 'UNAVAILABLE',
    `the run ended with ${final.status}`,
  );
}
