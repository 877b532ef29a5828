/** The keys for conversations between agents and for subagents. */
import { describe, expect, it } from 'vitest';
import { load, problemsOf } from './folder.ts';

const paths = (text: string) => problemsOf(text).map(({ path }) => path);
const spawn = (text: string) => `{ agents: { spawnDefaults: ${text} } }`;

describe('agents that talk', () => {
  it('are disabled by default, and have default limits', () => {
    const { config } = load('{}');
    expect(config.tools.agentToAgent).toEqual({ enabled: false });
    expect(config.session.agentToAgent).toEqual({
      maxPingPongTurns: 5,
      maxHops: 16,
      maxMessages: 200,
    });
    expect(config.agents.defaults.sandbox.sessionToolsVisibility).toBe('spawned');
    expect(config.agents.spawnDefaults).toEqual({
      sandbox: {
        mode: 'always',
        workspaceAccess: 'ro',
        allowlist: ['read', 'web_search'],
        denylist: ['bash', 'write', 'canvas', 'sessions_spawn'],
        maxTokens: 50_000,
        timeout: 300_000,
      },
      maxTurns: 20,
      maxCostUsd: 0,
      maxSpawnDepth: 2,
      maxConcurrentSpawns: 3,
      maxSpawnsPerSession: 1_000,
      maxSpawnsPerTree: 100,
      maxTokensPerTree: 2_000_000,
      maxCostPerTreeUsd: 0,
      keepMinutes: 1_440,
      onParentReset: 'cascade',
    });
  });

  it('have bounds, and a report of a value beyond its bound', () => {
    expect(
      problemsOf('{ session: { agentToAgent: { maxHops: 33, maxMessages: 0 } } }'),
    ).toMatchObject([
      { path: 'session.agentToAgent.maxHops', allowed: 'a whole number from 1 to 32' },
      { path: 'session.agentToAgent.maxMessages', allowed: 'a whole number from 1 to 10000' },
    ]);
    expect(
      problemsOf(spawn("{ maxSpawnsPerTree: 1000001, keepMinutes: 0, onParentReset: 'leave' }")),
    ).toMatchObject([
      { path: 'agents.spawnDefaults.maxSpawnsPerTree' },
      { path: 'agents.spawnDefaults.keepMinutes' },
      {
        path: 'agents.spawnDefaults.onParentReset',
        allowed: '"cascade", "adopt", "detach"',
      },
    ]);
    expect(paths(spawn('{ maxConcurrentSpawns: 100 }'))).toEqual([]);
    expect(paths(spawn('{ maxConcurrentSpawns: 101 }'))).toHaveLength(1);
    expect(
      problemsOf("{ agents: { defaults: { sandbox: { sessionToolsVisibility: 'some' } } } }"),
    ).toMatchObject([{ allowed: '"spawned", "all"' }]);
  });

  it('must exist by the ids in every list', () => {
    expect(
      problemsOf(`{
        agents: { agents: [{ id: 'writer',
          a2a: { allowIncoming: ['writr'], allowOutgoing: ['unknown'], historyAccess: { who: 'full' } },
          subagents: { allowAgents: ['*', 'riter'] } }] },
        tools: { agentToAgent: { allow: [{ from: 'writer', to: 'ghost' }] } },
      }`),
    ).toMatchObject([
      {
        path: 'agents.agents[0].a2a.allowIncoming[0]',
        message: expect.stringContaining('did you mean writer?'),
        allowed: 'writer',
      },
      { path: 'agents.agents[0].a2a.allowOutgoing[0]' },
      { path: 'agents.agents[0].subagents.allowAgents[1]' },
      { path: 'agents.agents[0].a2a.historyAccess.who' },
      { path: 'tools.agentToAgent.allow[0].to' },
    ]);
  });

  it('are restricted by existing names of tools', () => {
    expect(
      problemsOf(`{ agents: {
        agents: [{ id: 'a', subagents: { sandbox: { allowlist: ['reed'] } } }],
        spawnDefaults: { sandbox: { denylist: ['session_spawn'] } } } }`),
    ).toMatchObject([
      { path: 'agents.spawnDefaults.sandbox.denylist[0]' },
      {
        path: 'agents.agents[0].subagents.sandbox.allowlist[0]',
        message: expect.stringContaining('did you mean read?'),
      },
    ]);
    expect(paths("{ tools: { deny: ['subagents', 'session_status', 'group:sessions'] } }")).toEqual(
      [],
    );
  });

  it('have a tree limit of at least one subagent', () => {
    const [problem] = problemsOf(spawn('{ maxTokensPerTree: 20000 }'));
    expect(problem).toMatchObject({
      path: 'agents.spawnDefaults.sandbox.maxTokens',
      value: '50000',
      message: expect.stringContaining('agents.spawnDefaults.maxTokensPerTree is 20000'),
      allowed: 'at most 20000, or a larger maxTokensPerTree',
    });
    expect(
      paths(`{ agents: {
        agents: [{ id: 'a', subagents: { sandbox: { maxTokens: 2000001 } } }, { id: 'b' }] } }`),
    ).toEqual(['agents.agents[0].subagents.sandbox.maxTokens']);
    expect(paths(spawn('{ maxCostUsd: 2, maxCostPerTreeUsd: 1 }'))).toEqual([
      'agents.spawnDefaults.maxCostUsd',
    ]);
    expect(paths(spawn('{ maxCostUsd: 2, maxCostPerTreeUsd: 0 }'))).toEqual([]);
    expect(paths(spawn('{ maxTokensPerTree: 50000 }'))).toEqual([]);
  });
});
