/**
 * `sessions_spawn`: the limits that it derives from its arguments, and the outcomes that it
 * reports.
 */
import { describe, expect, it } from 'vitest';
import type { TalkRules } from '../../../agent/policy/talk.ts';
import { sessionsSpawnTool } from '../../../agent/tools/sessions/sessions-spawn.ts';
import type { ToolContext } from '../../../agent/tools/tool.ts';
import { address } from '../../../protocols/address.ts';
import type { SpawnResult } from '../../../protocols/subagent.ts';
import { OPEN_TALK } from '../../servers/talk-rules.ts';
import { type Stage, stage } from './scripted-session.ts';

const accepted: SpawnResult = {
  status: 'accepted',
  runId: 'task-1',
  childSessionKey: 'agent:main:subagent:1',
  queued: false,
  tokens: 50_000,
};
const completed: SpawnResult = {
  status: 'completed',
  sessionId: 'agent:main:subagent:1',
  runId: 'task-1',
  childSessionKey: 'agent:main:subagent:1',
  result: 'five of them',
  tokensUsed: 1_200,
  duration: 4_500,
};

/** Any agent may be started; `coder` is configured with lists of its own. */
const RULES: TalkRules = {
  ...OPEN_TALK,
  agents: {
    main: { allowAgents: ['*'] },
    coder: { sandbox: { allow: ['group:fs', 'exec'], deny: ['write'] }, tokens: 90_000 },
  },
};
const installed: ToolContext['installed'] = [
  { name: 'read', groups: ['fs'] },
  { name: 'write', groups: ['fs'] },
  { name: 'edit', groups: ['fs'] },
  { name: 'exec', aliases: ['bash'], groups: ['runtime'] },
  { name: 'web_search', groups: ['web'] },
  { name: 'web_fetch', groups: ['web'] },
];

async function opened(result: SpawnResult = accepted): Promise<Stage> {
  const open = await stage();
  await open.script({ result });
  return open;
}
const spawn = (open: Stage, args: object, over: Partial<ToolContext> = {}) =>
  open.call(
    sessionsSpawnTool,
    { task: 'count the frameworks', ...args },
    { talk: RULES, installed, ...over },
  );
const lastTerms = (open: Stage) => open.asked().at(-1)?.['terms'] as Record<string, unknown>;

describe('sessions_spawn', () => {
  it('asks its own session for a subagent with the default limits', async () => {
    const open = await opened();
    const { said, isError } = await spawn(open, {});
    expect([said, isError]).toEqual([accepted, false]);
    expect(open.asked()).toMatchObject([
      {
        type: 'session.spawn',
        runId: 'run-1',
        callId: 'call-1',
        task: 'count the frameworks',
        wait: false,
        reportBack: true,
        limits: RULES.spawn.limits,
        terms: {
          agentId: 'main',
          admitBy: 'main',
          sandbox: {
            mode: 'always',
            workspaceAccess: 'ro',
            allow: ['read', 'web_search'],
            deny: ['bash', 'write', 'canvas', 'sessions_spawn'],
          },
          turnsMax: 20,
          timeoutMs: 300_000,
          tokens: 50_000,
          isolated: true,
          keepMs: 86_400_000,
        },
      },
    ]);
    expect(lastTerms(open)).not.toHaveProperty('costUsd');
  });

  it('refuses an unknown model or thinking level, and lists the existing ones', async () => {
    const open = await opened();
    const level = await spawn(open, { thinking: 'banana' });
    expect([level.said, level.isError]).toMatchObject([{ status: 'invalid' }, true]);
    expect(JSON.stringify(level.said)).toContain('off, minimal, low, medium, high, xhigh');
    const model = await spawn(open, { agentConfig: { model: 'nowhere/banana' } });
    expect(JSON.stringify(model.said)).toMatch(/model: There is no model nowhere\/banana/);
    const both = await spawn(open, { model: 'openai/gpt-4o', thinking: 'high' });
    expect(JSON.stringify(both.said)).toMatch(/openai\/gpt-4o has no level .*allowed: off"/);
    expect(open.asked()).toEqual([]);
  });

  it('accepts the documented parameters, and lists the tools that were not granted', async () => {
    const open = await opened(completed);
    const { said, ends } = await spawn(open, {
      parentSession: 'agent:main:current',
      agentConfig: {
        id: 'researcher',
        model: 'offline/troupe-offline',
        purpose: 'reads about agents',
        tools: ['web_search', 'web_fetch', 'read', 'write', 'fly'],
        maxTurns: 10,
        timeout: 300_000,
      },
      isolated: true,
      reportBack: true,
      wait: true,
    });
    expect(ends, 'an end in this result is not reported again').toEqual([
      open.asked().at(-1)?.['id'],
    ]);
    expect(said).toEqual({
      ...completed,
      cut: [
        { tool: 'web_fetch', rule: 'agents.spawnDefaults.sandbox.allowlist' },
        { tool: 'write', rule: 'agents.spawnDefaults.sandbox.denylist' },
        { tool: 'fly', rule: 'this installation has no such tool' },
      ],
    });
    expect(open.asked()).toMatchObject([{ wait: true }]);
    expect(lastTerms(open)).toMatchObject({
      agentId: 'researcher',
      admitBy: 'main',
      model: 'offline/troupe-offline',
      purpose: 'reads about agents',
      turnsMax: 10,
      sandbox: { allow: ['web_search', 'read'] },
    });
  });

  it('sets no limit above the configured one', async () => {
    const open = await opened();
    const wide = { maxTurns: 900, timeoutSeconds: 80_000, maxTokens: 900_000 };
    await spawn(open, { agentId: 'coder', ...wide });
    expect(lastTerms(open)).toMatchObject({ turnsMax: 20, timeoutMs: 300_000, tokens: 90_000 });
    await spawn(open, { agentId: 'coder', maxTurns: 2, timeout: 5_000, maxTokens: 4_000 });
    expect(lastTerms(open)).toMatchObject({ turnsMax: 2, timeoutMs: 5_000, tokens: 4_000 });
  });

  it('applies the lists of the started agent, and names them', async () => {
    const open = await opened();
    const { said } = await spawn(open, { agentId: 'coder', tools: ['group:fs', 'bash'] });
    expect(lastTerms(open)).toMatchObject({
      admitBy: 'coder',
      sandbox: { allow: ['read', 'edit', 'exec'], deny: ['write'] },
    });
    expect(said['cut']).toEqual([
      { tool: 'write', rule: 'agents.agents[coder].subagents.sandbox.denylist' },
    ]);
  });

  it('grants no tool when none of the requested ones is allowed', async () => {
    const open = await opened();
    for (const tools of [['write'], ['fly'], []]) {
      await spawn(open, { tools });
      expect(lastTerms(open)).toMatchObject({ sandbox: { allow: [], deny: ['*'] } });
    }
  });

  it('refuses an agent that it may not start, and an invalid id', async () => {
    const open = await opened();
    const own = { ...RULES, agents: { ...RULES.agents, main: {} } };
    expect(await spawn(open, { agentId: 'coder' }, { talk: own })).toMatchObject({
      isError: true,
      said: {
        status: 'forbidden',
        rule: 'agents.agents[main].subagents.allowAgents',
        error: expect.stringContaining('(agents.agents[main].subagents.allowAgents)'),
      },
    });
    for (const id of ['Up', 'a b', '-x', 'x'.repeat(64)])
      expect((await spawn(open, { agentId: id })).said['status']).toBe('not_found');
    expect(open.asked()).toEqual([]);
  });

  it('admits runs of agents without configuration by the configured agent that started them', async () => {
    const open = await opened();
    const child = 'agent:helper:subagent:1';
    const grandchild = 'agent:reader:subagent:2';
    const spawned = (sessionKey: string, agentId: string, spawnedBy: string) =>
      open.row({ index: 'sessions', key: sessionKey, row: { sessionKey, agentId, spawnedBy } });
    await spawned(child, 'helper', 'agent:coder:main');
    await spawned(grandchild, 'reader', child);
    const session = address('default', 'session', grandchild);
    await open.script({ result: accepted }, session);
    await spawn(open, {}, { agentId: 'reader', sessionKey: grandchild });
    expect(open.asked(session)).toMatchObject([{ terms: { agentId: 'reader', admitBy: 'coder' } }]);
  });

  it('distinguishes a refusal from a failure', async () => {
    const refused: SpawnResult = { status: 'refused', rule: 'maxSpawnDepth', error: 'too deep' };
    const open = await opened(refused);
    expect(await spawn(open, { tools: ['write'] })).toEqual({ isError: true, said: refused });
    await open.script({ result: { ...completed, status: 'timedOut', error: 'its time was up' } });
    expect(await spawn(open, { wait: true })).toMatchObject({
      isError: true,
      said: { status: 'timedOut', result: 'five of them' },
    });
    await open.script({ error: { code: 'CONFLICT', message: 'no run is active' } as never });
    expect(await spawn(open, {})).toMatchObject({
      isError: true,
      said: { status: 'error', code: 'CONFLICT' },
    });
  });

  it('refuses contradictory arguments', async () => {
    const open = await opened();
    const wrong = [{ agentId: 'coder', agentConfig: { id: 'main' } }, { parentSession: 'mine' }];
    for (const args of wrong) expect((await spawn(open, args)).said['status']).toBe('invalid');
  });

  it('quotes the context in the task, and passes the cost limit on', async () => {
    const open = await opened();
    const talk = { ...RULES, spawn: { ...RULES.spawn, costUsd: 0.5 } };
    await spawn(open, { context: 'call wipe {}', label: 'count' }, { talk });
    expect(open.asked()).toMatchObject([{ label: 'count', terms: { costUsd: 0.5 } }]);
    expect(open.asked()[0]?.['task']).toMatch(
      /^count the frameworks\n\n.*\n<tool_result source="context">\ncall wipe {}\n<\/tool_result>$/,
    );
  });
});

describe('sessions_spawn from a sandbox', () => {
  const wide: TalkRules = {
    ...RULES,
    agents: {
      ...RULES.agents,
      coder: { sandbox: { mode: 'none', workspaceAccess: 'rw', allow: [], deny: [] } },
    },
  };
  const sandboxOf = async (args: object, over: Partial<ToolContext>) => {
    const open = await opened();
    await spawn(open, { agentId: 'coder', ...args }, { talk: wide, ...over });
    return lastTerms(open)['sandbox'];
  };

  it('starts no subagent on the host or with more access to its files', async () => {
    const confinement = { sandboxed: true, workspaceAccess: 'none' } as const;
    expect(await sandboxOf({ isolated: false }, { confinement })).toMatchObject({
      mode: 'always',
      workspaceAccess: 'none',
    });
    expect(await sandboxOf({}, { confinement })).toMatchObject({
      mode: 'always',
      workspaceAccess: 'rw',
    });
    const free = { sandboxed: false, workspaceAccess: 'rw' } as const;
    expect(await sandboxOf({}, { confinement: free })).toMatchObject({ mode: 'none' });
  });

  it('grants no tool that the requesting subagent does not have', async () => {
    const given = { allow: ['group:fs'], deny: ['write'] };
    expect(await sandboxOf({}, { given })).toMatchObject({ allow: ['read', 'edit'] });
    expect(await sandboxOf({ tools: ['exec', 'group:web'] }, { given })).toMatchObject({
      deny: ['*'],
    });
  });
});
