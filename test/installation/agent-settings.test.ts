/** The settings that runs receive from a configuration's agents. */
import { describe, expect, it } from 'vitest';
import { settingsOf } from '../../installation/agent-settings.ts';
import type { AgentSettings } from '../../protocols/agent.ts';
import { resolveAgents } from '../../runtime/config/index.ts';
import { load } from '../runtime/config/folder.ts';

const settings = (text: string): readonly AgentSettings[] =>
  resolveAgents(load(text).config).map(settingsOf);
const first = (text: string): AgentSettings => settings(text)[0]!;
const toolsOf = (text: string) => first(text).tools;

describe('the settings of an agent', () => {
  it('say when its sessions expire', () => {
    const expiryOf = (reset: string) => first(`{ session: { reset: ${reset} } }`).expiry;
    expect(expiryOf('{ atHour: 0, idleMinutes: 30 }')).toEqual({ atHour: 0, idleMs: 1_800_000 });
    expect(expiryOf("{ atHour: 4, timeZone: 'Asia/Ho_Chi_Minh' }")).toEqual({
      atHour: 4,
      timeZone: 'Asia/Ho_Chi_Minh',
    });
    expect(expiryOf("{ timeZone: 'Asia/Ho_Chi_Minh' }")).toBeUndefined();
  });

  it('are few without configuration, but always include the sandbox', () => {
    expect(settings('{}')).toEqual([
      {
        agentId: 'main',
        timeoutMs: 600_000,
        runsMax: 0,
        tokensPerDay: 0,
        thinking: 'off',
        sandbox: {
          mode: 'non-main',
          workspaceAccess: 'rw',
          allow: ['bash', 'process', 'read', 'write', 'edit'],
          deny: ['browser', 'canvas', 'nodes', 'cron'],
        },
      },
    ]);
  });

  it('are those of its entry, then the defaults of agents, key by key', () => {
    const [a, b] = settings(`{
      session: { mainKey: 'home' },
      budget: { tokensPerDay: 9 },
      agents: {
        maxConcurrent: 3,
        defaults: {
          fallbacks: ['offline/echo'], limits: { turnsMax: 9, tokensPerRun: 10 },
          verbose: 'on', reserveTokens: 1, tokensPerDay: 5, costPerDayUsd: 2, runsMax: 7,
          sandbox: { mode: 'always' },
        },
        agents: [
          { id: 'a' },
          { id: 'b', fallbacks: [], limits: { turnsMax: 2 }, verbose: 'off', reserveTokens: 16384,
            tokensPerDay: 0, costPerDayUsd: 0, runsMax: 1, sandbox: { workspaceAccess: 'ro' } },
        ],
      },
    }`);
    expect(a).toMatchObject({
      fallbacks: ['offline/echo'],
      limits: { turnsMax: 9, tokensPerRun: 10 },
      verbose: 'on',
      reserveTokens: 1,
      tokensPerDay: 5,
      costPerDayUsd: 2,
      runsMax: 7,
      tenant: { runsMax: 3, tokensPerDay: 9 },
      sandbox: { mode: 'always', workspaceAccess: 'rw', mainKey: 'home' },
    });
    expect(b).toMatchObject({
      limits: { turnsMax: 2, tokensPerRun: 10 },
      tokensPerDay: 0,
      runsMax: 1,
      tenant: { runsMax: 3, tokensPerDay: 9 },
      sandbox: { mode: 'always', workspaceAccess: 'ro' },
    });
    const said = Object.keys(b!);
    expect(said).not.toEqual(expect.arrayContaining(['fallbacks']));
    for (const key of ['fallbacks', 'verbose', 'reserveTokens', 'costPerDayUsd'])
      expect(said).not.toContain(key);
  });

  it('merge the queue of messages, defaults and agent, without default values', () => {
    const [a, b] = settings(`{
      messages: { queue: { mode: 'collect', cap: 5, byChannel: { webchat: 'steer' } } },
      agents: {
        defaults: { queue: { cap: 6 } },
        agents: [{ id: 'a' }, { id: 'b', queue: { mode: 'steer', byChannel: {}, debounceMs: 0 } }],
      },
    }`);
    expect(a?.queue).toEqual({ mode: 'collect', cap: 6, byChannel: { webchat: 'steer' } });
    expect(b?.queue).toEqual({ cap: 6, debounceMs: 0 });
  });
});

describe('the tools of an agent', () => {
  it('are those that both the common list and its own list allow: its own list can only narrow', () => {
    const config = (all: string, own: string) =>
      `{ tools: ${all}, agents: { agents: [{ id: 'a', tools: ${own} }] } }`;
    expect(toolsOf(config("{ allow: ['group:fs'] }", '{}'))).toEqual({ allow: ['group:fs'] });
    expect(toolsOf(config("{ allow: ['*'] }", "{ allow: ['bash'] }"))).toEqual({ allow: ['bash'] });
    expect(
      toolsOf(config("{ allow: ['group:fs', 'exec'] }", "{ allow: ['bash', 'read', 'cron'] }")),
    )
      // in the order of the wider list
      .toEqual({ allow: ['read', 'exec'] });
    expect(toolsOf(config("{ deny: ['exec'] }", "{ deny: ['read', 'exec'] }"))).toEqual({
      deny: ['exec', 'read'],
    });
  });

  it('are none when nothing is left, which is not an empty list', () => {
    const text =
      "{ tools: { allow: ['read'] }, agents: { defaults: { tools: { allow: ['exec'] } } } }";
    expect(toolsOf(text)).toEqual({ deny: ['*'] });
  });

  it('require approvals as configured for all agents, unless the agent overrides it', () => {
    const [a, b] = settings(`{
      tools: { exec: { ask: 'always', allow: ['ls'], askForMinutes: 5 } },
      agents: { agents: [{ id: 'a' }, { id: 'b', tools: { exec: { ask: 'on-miss', allow: [] } } }] },
    }`);
    expect(a?.tools).toEqual({ exec: { ask: 'always', allow: ['ls'], askForMs: 300_000 } });
    expect(b?.tools).toEqual({ exec: { askForMs: 300_000 } });
  });
});
