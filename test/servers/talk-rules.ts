/** Rules for messages between agents, for systems of tests: none may send, or all may. */
import type { TalkRules } from '../../agent/policy/talk.ts';

/** The rules of an empty configuration. */
export const NO_TALK: TalkRules = {
  enabled: false,
  agents: {},
  visibility: 'spawned',
  mainKey: 'main',
  turns: 5,
  lineage: { hopsMax: 16, messagesMax: 200 },
  spawn: {
    sandbox: {
      mode: 'always',
      workspaceAccess: 'ro',
      allow: ['read', 'web_search'],
      deny: ['bash', 'write', 'canvas', 'sessions_spawn'],
    },
    tokens: 50_000,
    timeoutMs: 300_000,
    turnsMax: 20,
    costUsd: 0,
    keepMs: 86_400_000,
    limits: {
      depthMax: 2,
      concurrentMax: 3,
      perSessionMax: 1_000,
      perTreeMax: 100,
      tokensPerTree: 2_000_000,
      costPerTreeUsd: 0,
      hopsMax: 16,
      messagesMax: 200,
      onParentReset: 'cascade',
    },
  },
};

/** The same rules, and agents may send to each other's sessions. */
export const OPEN_TALK: TalkRules = { ...NO_TALK, enabled: true };
