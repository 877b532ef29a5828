/** The policy that a configuration sets for conversations between agents. */
import { expect, it } from 'vitest';
import { judge, spawnRulesFor } from '../../agent/policy/talk.ts';
import { createProcessServices } from '../../compose/process-services.ts';
import { talkRulesOf } from '../../installation/talk-rules.ts';
import { load } from '../runtime/config/folder.ts';
import { NO_TALK, OPEN_TALK } from '../servers/talk-rules.ts';

const rulesOf = (text: string) => talkRulesOf(load(text).config);

it('equals the defaults without settings, or with only enabled set', () => {
  expect(rulesOf('{}')).toEqual(NO_TALK);
  expect(rulesOf('{ tools: { agentToAgent: { enabled: true } } }')).toEqual(OPEN_TALK);
});

it('contains every setting of the file', () => {
  const rules = rulesOf(`{
    agents: {
      defaults: { sandbox: { sessionToolsVisibility: 'all' } },
      agents: [
        { id: 'main', a2a: { allowIncoming: [], historyAccess: { writer: 'summary' } } },
        { id: 'writer', a2a: { allowOutgoing: ['main'] }, subagents: { allowAgents: [],
          sandbox: { mode: 'non-main', workspaceAccess: 'rw', allowlist: ['read'], denylist: [],
            maxTokens: 9000, timeout: 4000 } } },
      ],
      spawnDefaults: { sandbox: { allowlist: ['clock'], maxTokens: 7000, timeout: 5000 },
        maxTurns: 2, maxCostUsd: 0.5, maxSpawnDepth: 3, maxConcurrentSpawns: 4,
        maxSpawnsPerSession: 5, maxSpawnsPerTree: 6, maxTokensPerTree: 9001,
        maxCostPerTreeUsd: 0.75, keepMinutes: 8, onParentReset: 'detach' },
    },
    tools: { agentToAgent: { enabled: true, allow: [{ from: 'main', to: '*' }] } },
    session: { mainKey: 'home', agentToAgent: { maxPingPongTurns: 1, maxHops: 2, maxMessages: 3 } },
  }`);
  expect(rules).toEqual({
    enabled: true,
    allow: [{ from: 'main', to: '*' }],
    agents: {
      main: { allowIncoming: [], historyAccess: { writer: 'summary' } },
      writer: {
        allowOutgoing: ['main'],
        allowAgents: [],
        sandbox: { mode: 'non-main', workspaceAccess: 'rw', allow: ['read'], deny: [] },
        tokens: 9_000,
        timeoutMs: 4_000,
      },
    },
    visibility: 'all',
    mainKey: 'home',
    turns: 1,
    lineage: { hopsMax: 2, messagesMax: 3 },
    spawn: {
      sandbox: {
        mode: 'always',
        workspaceAccess: 'ro',
        allow: ['clock'],
        deny: ['bash', 'write', 'canvas', 'sessions_spawn'],
        mainKey: 'home',
      },
      tokens: 7_000,
      timeoutMs: 5_000,
      turnsMax: 2,
      costUsd: 0.5,
      keepMs: 480_000,
      limits: {
        depthMax: 3,
        concurrentMax: 4,
        perSessionMax: 5,
        perTreeMax: 6,
        tokensPerTree: 9_001,
        costPerTreeUsd: 0.75,
        hopsMax: 2,
        messagesMax: 3,
        onParentReset: 'detach',
      },
    },
  });
});

it('overrides the defaults with the settings of an agent, key by key', () => {
  const rules = rulesOf(`{ agents: { agents: [
    { id: 'a', subagents: { sandbox: { allowlist: ['exec'], timeout: 60000 } } }, { id: 'b' }] } }`);
  expect(spawnRulesFor(rules, 'a')).toEqual({
    ...NO_TALK.spawn,
    sandbox: { ...NO_TALK.spawn.sandbox, allow: ['exec'] },
    timeoutMs: 60_000,
  });
  expect(spawnRulesFor(rules, 'b')).toEqual(NO_TALK.spawn);
  expect(spawnRulesFor(rules, 'made-up')).toEqual(NO_TALK.spawn);
});

it('is the policy of the tools of every process', () => {
  const { config } = load(`{ tools: { agentToAgent: { enabled: true } },
    agents: { agents: [{ id: 'a' }, { id: 'b', a2a: { allowIncoming: [] } }] } }`);
  const { talk } = createProcessServices(config).services;
  const from = (agentId: string, to: string) =>
    judge(
      talk,
      { agentId, sessionKey: `agent:${agentId}:main`, sandboxed: false },
      { agentId: to, sessionKey: `agent:${to}:main` },
      'send',
    );
  expect(from('b', 'a')).toMatchObject({ allowed: true });
  expect(from('a', 'b')).toMatchObject({
    allowed: false,
    rule: 'agents.agents[b].a2a.allowIncoming',
  });
});
