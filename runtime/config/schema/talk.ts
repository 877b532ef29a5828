/**
 * The configuration of communication between agents: which sessions an agent may find, read,
 * message and start, and the limits of everything that follows from one message.
 *
 * Boundary: shape only. agent/policy/talk.ts decides what the keys mean together;
 * docs/agent-talk.md explains it.
 */
import { Type } from '@sinclair/typebox';
import { AnyKey } from '../../../protocols/any-key.ts';
import { oneOf, record, section } from './fields.ts';
import { spawnSandbox, spawnSandboxOverride } from './sandbox.ts';

const agentList = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { description });

/** `tools.agentToAgent` */
export const agentToAgentAccess = section('access of one agent to the sessions of another', {
  enabled: Type.Boolean({ default: false, description: 'whether agents may communicate' }),
  allow: Type.Optional(
    Type.Array(
      record('one permitted direction', {
        from: Type.String({ minLength: 1, description: 'id of the acting agent, `*` for any' }),
        to: Type.String({ minLength: 1, description: 'id of the other agent, `*` for any' }),
      }),
      { description: 'permitted pairs. Default: all that each agent’s `a2a` permits' },
    ),
  ),
});

/** `session.agentToAgent` */
export const agentToAgentExchange = section('agents that write to each other', {
  maxPingPongTurns: Type.Integer({
    minimum: 0,
    maximum: 5,
    default: 5,
    description: 'replies between two agents after the first one; 5 is the hard limit',
  }),
  maxHops: Type.Integer({
    minimum: 1,
    maximum: 32,
    default: 16,
    description:
      'messages between agents, starts of agents and their reports in one chain; the next is refused',
  }),
  maxMessages: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: 200,
    description:
      'maximum number of messages between agents that follow from one message of a user, however they branch',
  }),
});

/** `agents.agents[].a2a` */
export const a2a = Type.Object(
  {
    allowIncoming: Type.Optional(
      agentList(
        'ids of agents that may find this one’s sessions, read them and send to them, `*` for any. Default: any; if empty: none',
      ),
    ),
    allowOutgoing: Type.Optional(
      agentList(
        'ids of agents whose sessions this one may find, read and send to, `*` for any. Default: any; if empty: none',
      ),
    ),
    historyAccess: Type.Optional(
      Type.Record(
        AnyKey,
        oneOf(['none', 'summary', 'full'], {
          description: 'what that agent may read of this one’s sessions',
        }),
        {
          description:
            'by reading agent, `*` for any other: none, summary or full. Default: none for all',
        },
      ),
    ),
  },
  { description: 'talk with other agents', additionalProperties: false },
);

/** `agents.agents[].subagents` */
export const subagents = record('agents that it may start, and itself as one that is started', {
  allowAgents: Type.Optional(
    agentList('ids of agents that it may start, `*` for any. Default: only itself; if empty: none'),
  ),
  sandbox: Type.Optional(spawnSandboxOverride),
});

const dollars = (description: string) =>
  Type.Number({
    minimum: 0,
    default: 0,
    description: `${description}, US dollars; models without a price count nothing`,
  });

/** `agents.spawnDefaults` */
export const spawnDefaults = section('agents that other agents start', {
  sandbox: spawnSandbox,
  maxTurns: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: 20,
    description: 'model calls of one run of a subagent',
  }),
  maxCostUsd: dollars('cost of one subagent; 0: as much as its tree has'),
  maxSpawnDepth: Type.Integer({
    minimum: 1,
    maximum: 5,
    default: 2,
    description:
      'length of a chain of agents that start each other, the first one included: with 2, subagents start none; with 1, no subagent is started',
  }),
  maxConcurrentSpawns: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 3,
    description: 'subagents of one session that run at once; up to 20 more wait',
  }),
  maxSpawnsPerSession: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 1_000,
    description: 'subagents that one session may start until it is reset',
  }),
  maxSpawnsPerTree: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 100,
    description:
      'agents that one session and all below it may start until a user writes to it again',
  }),
  maxTokensPerTree: Type.Integer({
    minimum: 1_000,
    default: 2_000_000,
    description: 'input and output tokens that these use together',
  }),
  maxCostPerTreeUsd: dollars('cost of these together; 0: unlimited'),
  keepMinutes: Type.Integer({
    minimum: 1,
    maximum: 525_600,
    default: 1_440,
    description: 'how long the session of an ended subagent can be read, minutes',
  }),
  onParentReset: oneOf(['cascade', 'adopt', 'detach'], {
    description:
      'subagents of a session that is reset or deleted: end them, send their results to the new session (after a deletion, to the agent’s main session), or let them end without a report',
    default: 'cascade',
  }),
});
