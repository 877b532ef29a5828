/**
 * The program of agent-loop.test.ts: the real runtime, embedded, with the offline model, tools of
 * every class and slow hooks, so that a test can kill it in each state.
 *
 * `node agent-loop-program.mjs DATA MESSAGE` sends the message under one idempotency key and
 * appends the states it sees to DATA/states. At its end it prints the row of the run and the
 * transcript.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Type } from '@sinclair/typebox';
import { createHooks } from '../../../agent/hooks/create-hooks.ts';
import { createModelCatalog } from '../../../agent/models/catalog.ts';
import { defineTool, type Tool } from '../../../agent/tools/tool.ts';
import { NO_SECRETS } from '../../../agent/tools/secret-mask.ts';
import { createToolRegistry } from '../../../agent/tools/registry.ts';
import {
  type AgentServices,
  rootAddress,
  sessionAddress,
  shippedActors,
} from '../../../actors/index.ts';
import { approvalAddress } from '../../../protocols/approval.ts';
import { type RunRow, runEventsTopic } from '../../../protocols/session.ts';
import { createSystem, openEmbedded, type System, systemClock } from '../../../runtime/index.ts';
import { NO_TALK } from '../../servers/talk-rules.ts';

const [data = '', message = ''] = process.argv.slice(2);
const SESSION = 'agent:main:main';
const RUN = 'run-1';
const operator = { sub: 'ada', roles: ['operator'] };
/** Long enough for a kill within the step. */
const STEP_MS = 400;

const note = (file: string, line: string) => appendFileSync(join(data, file), `${line}\n`);
const step = async (state: string) => {
  note('states', state);
  await sleep(STEP_MS);
};

const tool = (name: string, more: Pick<Tool, 'class' | 'parallel' | 'question'>): Tool =>
  defineTool({
    name,
    description: name,
    parameters: Type.Object({}),
    ...more,
    async run(_, { idempotencyKey }) {
      note(name, idempotencyKey);
      await step(name);
      return { text: `${name} done` };
    },
  });

const question = () => ({ command: 'wipe', detail: 'wipes it' });
const tools = [
  tool('look', { class: 'repeatable', parallel: true }),
  tool('post', { class: 'keyed', parallel: true }),
  tool('fire', { class: 'once', parallel: false }),
  tool('wipe', { class: 'repeatable', parallel: true, question }),
];

const hooks = createHooks({
  modules: [
    {
      name: 'slow',
      hooks: {
        before_agent_start: async () => {
          await step('assembling');
          return undefined;
        },
        message_sending: async ({ text }) => {
          await step('replying');
          return { text: `${text} (seen)` };
        },
      },
    },
  ],
});

const services: AgentServices = {
  catalog: createModelCatalog(
    { providers: {} },
    { clock: systemClock, offlineTokensPerSecond: 60 },
  ),
  tools: createToolRegistry(tools),
  secrets: NO_SECRETS,
  hooks,
  talk: NO_TALK,
  ask: (to, event, options = {}) =>
    system.ask(to, event, { principal: operator, timeoutMs: 30_000, ...options }),
};
const system: System = await createSystem({
  ...(await openEmbedded({ path: join(data, 'store') })),
  actors: shippedActors(),
  services,
  supervisor: rootAddress('default'),
});

let hasThought = false;
system.bus.subscribe(runEventsTopic('default', SESSION), ({ payload }) => {
  const { stream, phase } = payload as { stream?: string; phase?: string };
  if (stream === 'assistant' && !hasThought) {
    hasThought = true;
    note('states', 'thinking');
  }
  if (stream === 'tool' && phase === 'approval') note('states', 'asking');
});

const settings = {
  agentId: 'main',
  timeoutMs: 60_000,
  runsMax: 10,
  tokensPerDay: 0,
  sandbox: { mode: 'none', workspaceAccess: 'rw', allow: [], deny: [] },
};
await system.ask(
  rootAddress('default'),
  { type: 'root.start', agents: [settings] },
  { principal: operator, timeoutMs: 20_000 },
);
await system.ask(
  sessionAddress('default', SESSION),
  { type: 'session.receive', runId: RUN, text: message },
  { principal: operator, timeoutMs: 20_000, key: RUN },
);

/** An operator that allows each question after half a second. */
async function allowWhatIsAsked(): Promise<void> {
  for (const { key, value } of system.index.list<{ state: string }>('approvals', 'default')) {
    if (value.state !== 'asked') continue;
    await sleep(STEP_MS);
    const event = { type: 'approval.answer', decision: 'allow-once', why: 'yes' };
    await system.ask(approvalAddress('default', key), event, {
      principal: operator,
      timeoutMs: 5_000,
    });
  }
}

const rowOf = () => system.index.get<RunRow>('runs', 'default', RUN);
while (rowOf()?.endedAt === undefined) {
  await allowWhatIsAsked();
  await sleep(20);
}
const row = rowOf();
const entriesNow = async () =>
  (await system.transcripts.read(sessionAddress('default', SESSION))).map(({ entry }) => entry);
// The transcript is written asynchronously: its last entry follows the row of the run.
let entries = await entriesNow();
while (entries.at(-1)?.type !== 'run.end') {
  await sleep(5);
  entries = await entriesNow();
}
await system.stop();
process.stdout.write(`${JSON.stringify({ row, entries })}\n`);
