/** Lists of tools against a small model of them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Listed, refusalOf } from '../../../agent/policy/lists.ts';
import type { AgentSettings } from '../../../protocols/agent.ts';

const TOOLS: readonly Listed[] = [
  { name: 'exec', aliases: ['bash'], groups: ['runtime'] },
  { name: 'process', groups: ['runtime'] },
  { name: 'read', groups: ['fs'] },
  { name: 'web_fetch', groups: ['web', 'fs'] },
  { name: 'clock' },
];
/** Every entry, and the tools that it means, written out by hand. */
const MEANS: Readonly<Record<string, readonly string[]>> = {
  '*': ['exec', 'process', 'read', 'web_fetch', 'clock'],
  exec: ['exec'],
  bash: ['exec'],
  process: ['process'],
  read: ['read'],
  web_fetch: ['web_fetch'],
  clock: ['clock'],
  'group:runtime': ['exec', 'process'],
  'group:fs': ['read', 'web_fetch'],
  'group:web': ['web_fetch'],
  'group:ui': [],
  runtime: [],
};

const list = fc.array(fc.constantFrom(...Object.keys(MEANS)), { maxLength: 4 });
const lists = fc.record({ allow: list, deny: list });

/** Set arithmetic: what all lists allow, without what any denies. */
const modelOf = (layers: readonly { allow: readonly string[]; deny: readonly string[] }[]) => {
  const meant = (entries: readonly string[]) =>
    new Set(entries.flatMap((name) => MEANS[name] ?? []));
  return (MEANS['*'] ?? []).filter((name) =>
    layers.every(
      ({ allow, deny }) => (allow.length === 0 || meant(allow).has(name)) && !meant(deny).has(name),
    ),
  );
};

describe('lists of tools', () => {
  it('allow what every list allows and none denies, for arbitrary lists', () => {
    const modes = fc.constantFrom('none', 'non-main', 'always');
    const child = 'agent:main:subagent:1';
    const keys = fc.constantFrom('agent:main:main', 'agent:main:dm:anna', child);
    fc.assert(
      fc.property(lists, lists, modes, keys, (tools, inside, mode, key) => {
        const settings: AgentSettings = {
          agentId: 'main',
          timeoutMs: 1,
          runsMax: 1,
          tokensPerDay: 0,
          tools,
          sandbox: { mode, workspaceAccess: 'rw', ...inside },
        };
        const isSandboxed = mode === 'always' || (mode === 'non-main' && key !== 'agent:main:main');
        // a subagent has what it was granted, wherever it works
        const isListed = isSandboxed || key === child;
        const left = TOOLS.filter((tool) => refusalOf(tool, settings, key) === undefined);
        expect(left.map(({ name }) => name)).toEqual(modelOf(isListed ? [tools, inside] : [tools]));
      }),
      { numRuns: 2_000 },
    );
  });

  it('name the first entry that denies, before any list that lacks the tool', () => {
    const tools = { allow: ['read'], deny: ['clock', 'group:runtime', '*'] };
    const settings = { agentId: 'a', timeoutMs: 1, runsMax: 1, tokensPerDay: 0, tools };
    const [exec = { name: '' }] = TOOLS;
    expect(refusalOf(exec, settings, 'agent:a:main')).toBe(
      'the rule group:runtime in tools.deny of all or of agent a denies it',
    );
  });
});
