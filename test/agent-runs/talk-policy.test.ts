/**
 * The configuration of communication between agents, as their tools apply it: each tool checks the
 * policy, and a model reads which key refused.
 */
import { expect, it } from 'vitest';
import { install, type Installation } from './installation.ts';

const MAIN = 'agent:main:main';
const WEB = 'agent:main:web';
const WRITER = 'agent:writer:main';
const CLOSED = 'agent:closed:main';

const config = {
  agents: {
    defaults: { sandbox: { allowlist: ['group:sessions'] } },
    agents: [
      { id: 'main' },
      { id: 'writer', a2a: { historyAccess: { main: 'summary' } } },
      { id: 'closed', a2a: { allowIncoming: [], historyAccess: { '*': 'full' } } },
    ],
  },
  tools: { agentToAgent: { enabled: true } },
};

type Result = { readonly status?: string; readonly rule?: string; readonly error?: string };

/** A tool call of the session's own agent in a run of its own, and its result. */
async function calls(troupe: Installation, sessionKey: string, tool: string, args: object) {
  const runId = await troupe.send(sessionKey, `call ${tool} ${JSON.stringify(args)}`);
  await troupe.rowAtEnd(runId);
  const entries = await troupe.transcript(sessionKey);
  const called = entries.find((one) => one.runId === runId && one.type === 'tool');
  return (called as { result: string }).result;
}

it('applies to every tool, and its refusals name the configuration key', {
  timeout: 120_000,
}, async () => {
  const troupe = await install({ config });
  for (const key of [WRITER, CLOSED, WEB]) await troupe.run(key, 'hello');
  const call = async (tool: string, args: object, session = MAIN) =>
    JSON.parse(await calls(troupe, session, tool, args)) as Result;

  const seen = await calls(troupe, MAIN, 'sessions_list', {});
  expect([MAIN, WEB, WRITER, CLOSED].filter((key) => seen.includes(key))).toEqual([
    MAIN,
    WEB,
    WRITER,
  ]);
  const incoming = { status: 'forbidden', rule: 'agents.agents[closed].a2a.allowIncoming' };
  const words = { message: 'hello?', timeoutSeconds: 0 };
  expect(await call('sessions_send', { sessionKey: CLOSED, ...words })).toMatchObject(incoming);
  expect(await call('sessions_history', { sessionKey: CLOSED })).toMatchObject(incoming);
  expect(await call('sessions_history', { sessionKey: WRITER, format: 'full' })).toMatchObject({
    status: 'forbidden',
    rule: 'agents.agents[writer].a2a.historyAccess',
  });
  const summary = await call('sessions_history', { sessionKey: WRITER, format: 'summary' });
  expect(summary).not.toHaveProperty('error');
  expect(await call('sessions_spawn', { agentId: 'writer', task: 'write' })).toMatchObject({
    status: 'forbidden',
    rule: 'agents.agents[main].subagents.allowAgents',
    error: expect.stringContaining("add 'writer' to this list"),
  });

  // This session is not the main session: it is sandboxed, and sees only its own subagents, of
  // which there are none.
  const inside = await calls(troupe, WEB, 'sessions_list', {});
  expect([MAIN, WEB, WRITER, CLOSED].filter((key) => inside.includes(key))).toEqual([WEB]);
  expect(await call('sessions_send', { sessionKey: WRITER, ...words }, WEB)).toMatchObject({
    status: 'forbidden',
    rule: 'agents.defaults.sandbox.sessionToolsVisibility',
  });
});

it('separates agents by default', { timeout: 120_000 }, async () => {
  const { tools: _, ...silent } = config;
  const troupe = await install({ config: silent });
  await troupe.run(WRITER, 'hello');
  expect(await calls(troupe, MAIN, 'sessions_list', {})).not.toContain(WRITER);
  const send = { sessionKey: WRITER, message: 'hello?' };
  expect(JSON.parse(await calls(troupe, MAIN, 'sessions_send', send))).toMatchObject({
    status: 'forbidden',
    rule: 'tools.agentToAgent.enabled',
  });
});
