/** `session_status` over rows in a store. */
import { describe, expect, it } from 'vitest';
import {
  createSessionStatusTool,
  type SessionFacts,
} from '../../../agent/tools/sessions/session-status.ts';
import type { ToolContext } from '../../../agent/tools/tool.ts';
import type { AgentRow, AgentSettings } from '../../../protocols/agent.ts';
import type { SubagentRow } from '../../../protocols/subagent.ts';
import { NOW, runOf, sessionRow, type StoredSessions, storedSessions } from './stored-sessions.ts';

const MAIN = 'agent:main:main';
const FACTS: SessionFacts = { windowOf: () => undefined, settingsOf: () => undefined };

const card = async (
  stored: StoredSessions,
  facts: Partial<SessionFacts> = {},
  args: object = {},
  changes: Partial<ToolContext> = {},
): Promise<string> =>
  (await createSessionStatusTool({ ...FACTS, ...facts }).run(args, stored.context(changes))).text;

const child = (id: string, status: SubagentRow['status']): SubagentRow => ({
  id,
  sessionKey: `agent:main:subagent:${id}`,
  runId: `task-${id}`,
  agentId: 'main',
  parent: MAIN,
  parentRunId: 'r',
  root: MAIN,
  depth: 2,
  status,
  task: 'look',
  tokens: 1_000,
  createdAt: NOW,
  ...(status === 'running' ? { label: 'looker' } : { endedAt: NOW }),
});

describe('session_status', () => {
  it('shows the usage and the remaining budget of an idle session', async () => {
    const stored = storedSessions();
    const usage = { inputTokens: 12_345, outputTokens: 678, costUsd: 0.1234567 };
    await stored.sessions(
      sessionRow(MAIN, 5, {
        usage,
        contextTokens: 20_000,
        pending: 2,
        queue: 'collect',
        label: 'home',
      }),
    );
    const agent: AgentRow = {
      agentId: 'main',
      status: 'active',
      model: 'offline/x',
      running: 1,
      waiting: 3,
      day: '2026-03-01',
      tokensToday: 50_000,
      costTodayUsd: 0.5,
    };
    await stored.put('agents', { main: agent });
    const children = [child('a', 'completed'), child('b', 'running'), child('c', 'completed')];
    await stored.put(
      'subagents',
      Object.fromEntries(children.map((one) => [`${MAIN}|${one.id}`, one])),
    );
    const settings: AgentSettings = {
      agentId: 'main',
      timeoutMs: 1,
      runsMax: 4,
      tokensPerDay: 1_000_000,
      costPerDayUsd: 5,
      limits: { tokensPerSession: 99_000, costPerSessionUsd: 2 },
    };
    const facts = { windowOf: () => 200_000, settingsOf: () => settings };
    expect((await card(stored, facts)).split('\n')).toEqual([
      'Session agent:main:main (home), agent main',
      'Run: none is active; last active 2026-03-01T11:55:00.000Z',
      'Model: offline/x; context 20,000 of 200,000 tokens used (10 %), 180,000 left',
      'Used: 12,345 tokens in, 678 out, 0.123457 USD; limits of a session: 99,000 tokens and 2 USD',
      'Messages: 4 entries, 2 waiting; queue collect',
      'Subagents: 2 completed, 1 running',
      '  looker (agent:main:subagent:b): running',
      'Agent main, active: 50,000 of 1,000,000 tokens, 0.5 of 5 USD on 2026-03-01 (UTC); 1 of 4 runs active, 3 waiting',
    ]);
  });

  it('shows the current activity of an active run', async () => {
    const stored = storedSessions();
    await stored.sessions(sessionRow(MAIN, 0, { status: 'running', runId: 'r1' }));
    expect(await card(stored)).toContain('Run: r1 waits for a slot, waiting for the model');
    const row = { runId: 'r1', sessionKey: MAIN, status: 'running', acceptedAt: 1 };
    await stored.put('runs', { r1: { ...row, startedAt: NOW - 90_000 } });
    const [user, prompt, answer, result] = runOf('r1', 1, ['read', 'exec']);
    await stored.say(MAIN, [user!, prompt!]);
    expect(await card(stored)).toContain(
      'Run: r1 since 2026-03-01T11:58:30.000Z (90 s), waiting for the model',
    );
    await stored.say(MAIN, [answer!]);
    expect(await card(stored)).toContain('(90 s), runs read, exec\n');
    await stored.say(MAIN, [result!]);
    expect(await card(stored)).toContain('(90 s), runs exec\n');
    await stored.say(MAIN, [runOf('r1', 1, ['read', 'exec'])[4]!]);
    expect(await card(stored)).toContain('(90 s), waiting for the model\n');
  });

  it('shows the effective model and queue mode from session, agent and installation', async () => {
    const stored = storedSessions();
    await stored.sessions(
      sessionRow(MAIN, 0, { channel: 'telegram' }),
      sessionRow('agent:main:subagent:1', 1, { spawnedBy: MAIN, model: 'p/own' }),
    );
    const settings: AgentSettings = {
      agentId: 'main',
      timeoutMs: 1,
      runsMax: 4,
      tokensPerDay: 0,
      queue: { mode: 'followup', byChannel: { telegram: 'interrupt' } },
    };
    const facts = { fallbackModel: 'p/fallback', settingsOf: () => settings };
    const own = await card(stored, facts);
    expect(own).toContain('Model: p/fallback; context 0 tokens used');
    expect(own).toContain('queue interrupt');
    expect(own).toContain('agent main, channel telegram');
    const other = await card(stored, facts, { sessionKey: 'agent:main:subagent:1' });
    expect(other).toContain('Model: p/own');
    expect(other).toContain('queue followup');
    expect(other).toContain(`subagent of ${MAIN}`);
    expect(await card(stored)).toContain('Model: the default');
    expect(await card(stored)).toContain('queue steer');
  });

  it('shows other sessions as far as they may be listed', async () => {
    const stored = storedSessions();
    await stored.sessions(sessionRow('agent:work:main', 0, { label: 'Work' }));
    const [byKey, byLabel, own] = await Promise.all([
      card(stored, {}, { sessionKey: 'agent:work:main' }),
      card(stored, {}, { label: 'Work' }),
      card(stored),
    ]);
    expect(JSON.parse(byKey)).toMatchObject({ status: 'forbidden' });
    expect(JSON.parse(byLabel)).toMatchObject({ status: 'not_found' });
    expect(JSON.parse(own)).toMatchObject({ status: 'not_found' });
  });
});
