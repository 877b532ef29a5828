/** The limits of a subagent's session. */
import { describe, expect, it } from 'vitest';
import {
  admitterOf,
  grantedToolsOf,
  underTerms,
  workspaceOf,
} from '../../../actors/session/subagents/subagent-limits.ts';
import type { SessionContext } from '../../../actors/session/types.ts';
import { address } from '../../../protocols/address.ts';
import type { SubagentReserve } from '../../../protocols/subagent.ts';
import { spawnLimits, spawnOf, spawnTerms } from './bonds-walk.ts';
import { answer, call, Driven, settings } from './driven.ts';
import { terms } from './terms-of-test.ts';

const context = (more: object = {}) =>
  ({
    tenant: 'default',
    agentId: 'scout',
    sessionKey: 'agent:scout:subagent:u1',
    ...more,
  }) as SessionContext;

describe('the settings of a subagent', () => {
  it('are those of its agent where its grant has none', () => {
    const made = underTerms(
      { ...settings, model: 'offline/echo', fallbacks: ['offline/b'] },
      terms(),
    );
    expect(made).toMatchObject({ model: 'offline/echo', fallbacks: ['offline/b'], runsMax: 1 });
  });

  it('are narrowed: of two ceilings the smaller one holds', () => {
    const given = {
      ...settings,
      timeoutMs: 5_000,
      limits: { turnsMax: 3, tokensPerSession: 90_000, costPerSessionUsd: 0.5, tokensPerRun: 7 },
    };
    const made = underTerms(given, terms({ tokens: 40_000, turnsMax: 9, costUsd: 2 }));
    expect(made.timeoutMs).toBe(5_000);
    expect(made.limits).toEqual({
      turnsMax: 3,
      tokensPerSession: 40_000,
      costPerSessionUsd: 0.5,
      tokensPerRun: 7,
    });
    expect(underTerms(settings, terms({ turnsMax: 900 })).limits?.turnsMax).toBe(64);
  });

  it('contain the requested model, thinking level, label and sandbox', () => {
    const sandbox = { mode: 'always', workspaceAccess: 'ro', allow: ['read'], deny: [] } as const;
    const given = { model: 'offline/b', thinking: 'high', purpose: 'Looks.', sandbox };
    expect(underTerms(settings, terms(given))).toMatchObject({ ...given, agentId: 'scout' });
  });
});

describe('a subagent', () => {
  it('is admitted by the agent that its grant names, else a session by its own', () => {
    expect(admitterOf(context())).toBe(address('default', 'agent', 'scout'));
    expect(admitterOf(context({ terms: terms({ admitBy: 'main' }) }))).toBe(
      address('default', 'agent', 'main'),
    );
  });

  it('works in a workspace of its own, or in that of its parent', () => {
    expect(workspaceOf(context())).toBeUndefined();
    expect(workspaceOf(context({ terms: terms({ isolated: true }) }))).toBe(
      address('default', 'subagent', 'u1'),
    );
    expect(workspaceOf(context({ terms: terms({ isolated: false }) }))).toBe(
      address('default', 'agent', 'main'),
    );
  });

  it('that is confined to its own workspace spawns none in the workspace of its agent', () => {
    const session = new Driven('agent:scout:subagent:u1');
    const parent = address('default', 'subagent', 'u1');
    session.receive('sub-u1', { terms: terms({ spawns: 9 }) }, parent);
    session.admit('sub-u1');
    session.done('model', answer([call('a'), call('b')]));
    const limits = { ...spawnLimits, depthMax: 4, concurrentMax: 3 };
    const grantOf = (id: string, isolated: boolean) => {
      const asked = { limits, terms: { ...spawnTerms, isolated } };
      const { tells } = session.send(spawnOf(id, 'sub-u1', asked));
      const reserve = tells.find(({ event }) => event.type === 'subagent.reserve')!;
      return (reserve.event as unknown as SubagentReserve).terms;
    };
    expect(workspaceOf(context({ terms: grantOf('c1', false) }))).toBe(parent);
    expect(
      workspaceOf(context({ sessionKey: 'agent:scout:subagent:c2', terms: grantOf('c3', true) })),
    ).toBe(address('default', 'subagent', 'c2'));
  });

  it('grants no tools that it was not granted', () => {
    expect(grantedToolsOf(context())).toBeUndefined();
    expect(grantedToolsOf(context({ terms: terms() }))).toEqual({ allow: [], deny: [] });
  });
});
