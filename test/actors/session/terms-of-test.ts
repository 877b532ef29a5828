/** Limits as a parent grants them; each test overrides what matters to it. */
import type { SubagentTerms } from '../../../protocols/subagent.ts';

export const terms = (more: Partial<SubagentTerms> = {}): SubagentTerms => ({
  agentId: 'scout',
  admitBy: 'scout',
  sandbox: { mode: 'always', workspaceAccess: 'rw', allow: [], deny: [] },
  turnsMax: 20,
  timeoutMs: 60_000,
  tokens: 50_000,
  isolated: true,
  keepMs: 3_600_000,
  parent: 'agent:main:main',
  root: 'agent:main:main',
  depth: 2,
  spawns: 0,
  ...more,
});
