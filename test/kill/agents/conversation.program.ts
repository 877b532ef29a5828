/**
 * The program of conversation.test.ts: an embedded installation with two agents on the offline
 * model.
 *
 * `node conversation-program.mjs DATA` begins a conversation. A repeated start continues the same
 * conversation. It appends the turns that it sees to DATA/turns and prints the row and the
 * transcripts at its end.
 */
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sessionAddress } from '../../../actors/index.ts';
import { startTroupe } from '../../../main.ts';
import {
  conversationAddress,
  type ConversationBegin,
  type ConversationRow,
  conversationRowKey,
  CONVERSATIONS_INDEX,
} from '../../../protocols/conversation.ts';
import type { RunRow } from '../../../protocols/session.ts';
import { loadConfig } from '../../../runtime/config/index.ts';

const [data = ''] = process.argv.slice(2);
const REQUESTER = 'agent:planner:main';
const TARGET = 'agent:coder:main';
const principal = { sub: 'ada', roles: ['operator'] };

const file = join(data, 'troupe.json5');
const agents = { agents: [{ id: 'main' }, { id: 'planner' }, { id: 'coder' }] };
writeFileSync(file, JSON.stringify({ log: { level: 'silent' }, agents }));
const flags = { data, port: '0', token: 'of-the-test' };
const { system } = await startTroupe(loadConfig({ env: {}, file, flags }).config);

/** The target has a user, so the conversation is announced. */
const hello = {
  type: 'session.receive',
  runId: 'hello',
  text: 'Good morning.',
  channel: 'webchat',
};
await system.ask(sessionAddress('default', TARGET), hello, {
  principal,
  timeoutMs: 20_000,
  key: 'hello',
});
while (system.index.get<RunRow>('runs', 'default', 'hello')?.endedAt === undefined) await sleep(1);

const begin: ConversationBegin = {
  type: 'conversation.begin',
  requester: REQUESTER,
  requesterRunId: 'run-1',
  target: TARGET,
  text: 'How are you? [[turns:2]]',
  priority: 'normal',
  waitMs: 0,
  turns: 2,
  lineage: { hops: 1, visited: [REQUESTER], left: 10 },
};
await system.tell(conversationAddress('default', 'c1'), begin, { principal });

const key = conversationRowKey(REQUESTER, 'c1');
let seen = '';
for (;;) {
  const row = system.index.get<ConversationRow>(CONVERSATIONS_INDEX, 'default', key);
  const turn = String(row?.turns.at(-1)?.turn);
  if (turn !== seen) appendFileSync(join(data, 'turns'), `${turn}\n`);
  seen = turn;
  if (row?.status === 'ended') {
    const read = (session: string) => system.transcripts.read(sessionAddress('default', session));
    const entries = [...(await read(REQUESTER)), ...(await read(TARGET))].map(({ entry }) => entry);
    process.stdout.write(JSON.stringify({ row, entries }), () => process.exit(0));
    break;
  }
  await sleep(1);
}
