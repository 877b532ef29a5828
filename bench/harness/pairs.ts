/**
 * Pairs of agents that exchange replies on the offline model, and a check of their turns by the
 * rows of their conversations.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { type ConversationRow, PING_PONG_TURNS_MAX } from '../../protocols/conversation.ts';
import { sessionKey as keys } from '../../protocols/session-key.ts';
import { type Program, PROGRAM_TOKEN } from './program.ts';

/** Turns of one conversation: the first answer and the replies. */
export const TURNS = PING_PONG_TURNS_MAX + 1;
const LOOK_MS = 20;
const LONGEST_MS = 60_000;

export async function configurePairs(folder: string, pairs: number): Promise<void> {
  const data = join(folder, 'data');
  await mkdir(data, { recursive: true });
  const all = Array.from({ length: pairs }, (_, n) => [
    { id: `a${n}`, tools: { allow: ['group:sessions'] } },
    { id: `b${n}`, tools: { deny: ['*'] } },
  ]);
  const config = {
    log: { level: 'warn' },
    agents: { defaults: { sandbox: { mode: 'none' } }, agents: all.flat() },
    tools: { agentToAgent: { enabled: true } },
    session: { agentToAgent: { maxPingPongTurns: PING_PONG_TURNS_MAX, maxMessages: 10_000 } },
  };
  await writeFile(join(data, 'troupe.json5'), JSON.stringify(config));
}

export type Exchanged = {
  readonly turns: number;
  readonly seconds: number;
  /** by turn, milliseconds from the request to its end */
  readonly turnMs: readonly number[];
};

/**
 * Runs one conversation in each pair, all at once.
 *
 * @throws Error when a conversation does not have each of its turns exactly once, with status ok
 */
export async function exchange(
  { port }: Pick<Program, 'port'>,
  client: GatewayClient,
  pairs: number,
): Promise<Exchanged> {
  const known = new Set((await conversations(port)).map(({ id }) => id));
  const begun = performance.now();
  const firsts = await Promise.all(Array.from({ length: pairs }, (_, n) => ask(client, n)));
  for (const status of firsts) if (status !== 'ok') throw new Error(`a run ended ${status}`);
  for (;;) {
    const rows = (await conversations(port)).filter(({ id }) => !known.has(id));
    if (rows.length === pairs && rows.every(({ status }) => status === 'ended'))
      return accounted(rows, (performance.now() - begun) / 1_000);
    if (performance.now() - begun > LONGEST_MS)
      throw new Error(`${rows.length} conversations of ${pairs}, and not all have ended`);
    await sleep(LOOK_MS);
  }
}

async function ask(client: GatewayClient, n: number): Promise<string> {
  const args = {
    sessionKey: keys.main(`b${n}`),
    message: `what do you think? [[turns:${PING_PONG_TURNS_MAX}]]`,
    timeoutSeconds: LONGEST_MS / 1_000,
  };
  const message = `call sessions_send ${JSON.stringify(args)}`;
  const params = { message, sessionKey: keys.main(`a${n}`), idempotencyKey: randomUUID() };
  const { status } = await client.request('agent', params, { expectFinal: true });
  return status ?? 'without a status';
}

function accounted(rows: readonly ConversationRow[], seconds: number): Exchanged {
  const runs = rows.flatMap(({ turns }) => turns);
  if (new Set(runs.map(({ runId }) => runId)).size !== runs.length)
    throw new Error('a run is two turns');
  for (const { id, turns, end } of rows) {
    const numbers = turns.map(({ turn }) => turn).join(' ');
    const asked = Array.from({ length: TURNS }, (_, turn) => turn).join(' ');
    if (numbers !== asked || end !== 'turns' || turns.some(({ status }) => status !== 'ok'))
      throw new Error(`the conversation ${id} had the turns ${numbers} and ended: ${end}`);
  }
  return {
    turns: runs.length,
    seconds,
    turnMs: runs.map(({ at, endedAt = Infinity }) => endedAt - at),
  };
}

async function conversations(port: number): Promise<readonly ConversationRow[]> {
  const headers = { authorization: `Bearer ${PROGRAM_TOKEN}` };
  const response = await fetch(`http://127.0.0.1:${port}/v1/conversations`, { headers });
  return ((await response.json()) as { conversations: ConversationRow[] }).conversations;
}
