/** Session rows as their actors store them: 20 agents, and one session in a hundred is active. */
import { encode } from '../../protocols/codec.ts';
import type { SessionRow } from '../../protocols/session.ts';
import type { State } from '../../runtime/state/state.ts';
import { SHARDS } from './system.ts';

const TABLE = 'ix:sessions';
/** Rows of one write. */
const WRITTEN_AT_ONCE = 2_000;
const AGENTS = 20;

/** The row of number `n` among `count`. */
export const sessionRowOf = (n: number, count: number): SessionRow => {
  const agentId = `agent-${n % AGENTS}`;
  const now = Date.now();
  return {
    sessionKey: `agent:${agentId}:webchat:dm:peer-${n}`,
    sessionId: `0190a0b0-c0d0-7000-8000-${String(n).padStart(12, '0')}`,
    agentId,
    status: n % 100 === 0 ? 'running' : 'idle',
    updatedAt: now - ((n * 7_919) % count) * 1_000,
    createdAt: now - 30 * 86_400_000,
    messages: 40,
    pending: 0,
    usage: { inputTokens: 12_345, outputTokens: 678, costUsd: 0.0123 },
    lastMessage: 'please look at the report of last week and tell me what is in it',
    model: 'offline/troupe-offline',
    label: `conversation ${n}`,
    channel: 'webchat',
    contextTokens: 4_321,
  };
};

/** Writes this number of rows of the tenant `default`. */
export async function fillSessions(state: State, count: number): Promise<void> {
  for (let from = 0; from < count; from += WRITTEN_AT_ONCE) {
    const rows = Array.from({ length: Math.min(WRITTEN_AT_ONCE, count - from) }, (_, at) => {
      const row = sessionRowOf(from + at, count);
      const key = `default|${row.sessionKey}`;
      return { shard: (from + at) % SHARDS, table: TABLE, key, value: encode(row) };
    });
    await state.write(rows);
  }
}
