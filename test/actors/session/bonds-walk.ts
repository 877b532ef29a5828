/**
 * Events that subagents, conversations and other sessions send to a session, for the walk over it.
 */
import { address } from '../../../protocols/address.ts';
import { conversationAddress } from '../../../protocols/conversation.ts';
import type { Message } from '../../../protocols/statechart.ts';
import {
  type SessionSpawn,
  type SpawnLimits,
  type SpawnTerms,
  subagentAddress,
} from '../../../protocols/subagent.ts';
import type { Live } from '../../../runtime/statechart/host.ts';
import type { Move } from '../../charts/coverage.ts';
import { contextOf } from './account.ts';

export const spawnLimits: SpawnLimits = {
  depthMax: 2,
  concurrentMax: 1,
  perSessionMax: 10,
  perTreeMax: 10,
  tokensPerTree: 100_000,
  costPerTreeUsd: 0,
  hopsMax: 16,
  onParentReset: 'cascade',
};
export const spawnTerms: SpawnTerms = {
  agentId: 'coder',
  admitBy: 'coder',
  sandbox: { mode: 'always', workspaceAccess: 'ro', allow: [], deny: [] },
  turnsMax: 20,
  timeoutMs: 300_000,
  tokens: 10_000,
  isolated: true,
  keepMs: 86_400_000,
};
export const spawnOf = (id: string, runId: string, more: Partial<SessionSpawn> = {}) => ({
  type: 'session.spawn' as const,
  id,
  runId,
  callId: 'a',
  task: `task of ${id}`,
  terms: spawnTerms,
  limits: spawnLimits,
  wait: false,
  reportBack: true,
  ...more,
});
export const endedOf = (id: string, more: object = {}) => ({
  type: 'subagent.ended' as const,
  id,
  sessionKey: `agent:coder:subagent:${id}`,
  runId: `sub-${id}`,
  outcome: 'completed' as const,
  findings: `findings of ${id}`,
  task: `task of ${id}`,
  usage: { inputTokens: 70, outputTokens: 30 },
  spawned: 0,
  startedAt: 1_000,
  endedAt: 2_000,
  ...more,
});
export const converseOf = (id: string, runId: string, more: object = {}) => ({
  type: 'session.converse' as const,
  id,
  runId,
  callId: 'a',
  target: 'agent:other:main',
  text: 'hello',
  priority: 'normal' as const,
  waitMs: 1_000,
  turns: 2,
  limits: { hopsMax: 16, messagesMax: 200 },
  ...more,
});
export const answeredOf = (id: string, more: object = {}) => ({
  type: 'conversation.answered' as const,
  id,
  result: {
    conversationId: id,
    runId: `talk-${id}-0`,
    sessionKey: 'agent:other:main',
    status: 'ok' as const,
    delivered: true,
    reply: 'yes',
    ...more,
  },
});

const from = (name: string, event: Message, sender: string): Move => ({
  name,
  event,
  from: sender as never,
  tell: true,
});
const other = address('default', 'session', 'agent:other:main');
const subagent = (id: string) => subagentAddress('default', id);

const NOT_BEGUN = {
  type: 'refused',
  to: 'm',
  message: 'subagent.reserve',
  error: { code: 'UNREGISTERED', message: 'no worker knows subagents' },
};

/** Few at a time; children.test.ts and waits.test.ts test many of them. */
export const bonds = (live: Live): Move[] => {
  const { run, children = [], waits = [], reports = [] } = contextOf(live);
  const runId = run?.runId ?? 'none';
  const child = children[0]?.id ?? 'none';
  const wait = waits[0]?.id ?? 'none';
  // a subagent ends once, so each event has another one
  const id = `ad${live.seq}`;
  const adopted = { id, sessionKey: `agent:a:subagent:${id}`, reportBack: true, timeoutMs: 9 };
  return [
    ...(children.length < 2 ? [{ name: 'spawn', event: spawnOf(`c${live.seq}`, runId) }] : []),
    ...(children.length < 2
      ? [{ name: 'spawn and wait', event: spawnOf(`c${live.seq}`, runId, { wait: true }) }]
      : []),
    ...(reports.length < 2 ? [from('a subagent ends', endedOf(child), subagent(child))] : []),
    from('an end again', endedOf(child, { again: true }), subagent(child)),
    from('it could not be begun', NOT_BEGUN, subagent(child)),
    { name: 'kill', event: { type: 'session.kill' } },
    ...(children.length < 2
      ? [from('adopt', { type: 'session.adopt', children: [adopted] }, other)]
      : []),
    ...(waits.length < 2 ? [{ name: 'converse', event: converseOf(`t${live.seq}`, runId) }] : []),
    from('answered', answeredOf(wait), conversationAddress('default', wait)),
    from('probe', { type: 'session.probe', origin: 'agent:x:main', id: 'p', path: [] }, other),
    from('circle', { type: 'session.cycle', id: wait, path: [] }, other),
    { name: 'close', event: { type: 'session.close', orphans: 'detach' } },
  ];
};
