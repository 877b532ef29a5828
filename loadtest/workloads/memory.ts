/**
 * Searches in the notes of an agent: the operation `memory.search` over the gateway's WebSocket.
 * Success: an answer, also one without hits.
 */
import { randomUUID } from 'node:crypto';
import type { Workload } from './workload.ts';

export const memory: Workload = {
  summary: 'searches in the notes of an agent, until the answer',
  usesModel: false,
  open: (target, { agent = 'main', query }) => ({
    async send({ signal }) {
      const request = { name: 'memory.search', params: { agent, query } };
      const idempotencyKey = randomUUID();
      await target
        .client()
        .request('operations.run', { ...request, idempotencyKey }, { signal, timeoutMs: 0 });
    },
  }),
};
