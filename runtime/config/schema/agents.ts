/**
 * The part `agents` of the configuration: who the agents are, who gets which message, what a
 * spawned agent may do.
 */
import { type Static, type TUnsafe, Type } from '@sinclair/typebox';
import { AnyKey } from '../../../protocols/any-key.ts';
import { applied, oneOf, record, sameAs, section } from './fields.ts';
import { blockStreaming, ceilings, limits, queueOverride, toolsOverride, verbose } from './runs.ts';
import { sandboxDefaults, sandboxOverride } from './sandbox.ts';
import { a2a, spawnDefaults, subagents } from './talk.ts';

/** Agent ids are part of session keys and actor addresses: no colon, no slash. */
export const agentIdPattern = '^[a-z0-9][a-z0-9_-]{0,62}$';

export const agentId = (description: string) =>
  Type.String({
    pattern: agentIdPattern,
    description,
    'x-allowed': 'an agent id: small letters, digits, _ and -, at most 63',
  });

export const modelName = (description: string) =>
  Type.String({
    minLength: 1,
    pattern: '^\\S+$',
    description,
    'x-allowed': 'provider/model, or a bare model name that exactly one provider has',
  });

const thinkingLevels = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;

const defaults = section('what every agent has unless its own entry says otherwise', {
  model: Type.Optional(
    modelName(
      'model as `provider/model`. Default: the first model of the first configured provider, else a model of a built-in provider with a key, else the offline model',
    ),
  ),
  workspace: Type.Optional(
    applied(
      'restart',
      Type.String({
        minLength: 1,
        description:
          'folder that holds one folder per agent, by its id, for its files; `~` is your home. ' +
          'Default: folders in `runtime.workspaces.path`',
      }),
    ),
  ),
  timeoutSeconds: Type.Integer({
    minimum: 1,
    maximum: 172_800,
    default: 600,
    description: 'maximum duration of a run, seconds; a request may set a smaller one',
  }),
  thinkingLevel: oneOf(thinkingLevels, {
    description: 'how much a reasoning model thinks before it answers',
    default: 'off',
  }),
  sandbox: sandboxDefaults,
  fallbacks: Type.Array(modelName('a model'), {
    default: [],
    description: 'models that are tried in this order when the previous one cannot answer',
  }),
  limits: Type.Optional(limits('ceilings of a run and a session; reaching one ends the run')),
  queue: Type.Optional(queueOverride('messages.queue')),
  tools: Type.Optional(toolsOverride('which tools agents have, within `tools` of all')),
  verbose: oneOf(['off', 'on', 'full'], {
    default: 'off',
    description: 'how much of its work a run shows in its reply: nothing, a line per tool, results',
  }),
  ...blockStreaming,
  reserveTokens: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    default: 16_384,
    description: 'tokens of the model’s context window that are reserved for the answer',
  }),
  ...ceilings,
  runsMax: Type.Integer({
    minimum: 0,
    maximum: 1_000,
    default: 0,
    description:
      'runs of one agent at once, over all its sessions; more wait in order. Runs that another agent caused are not counted. 0: unlimited',
  }),
});

const agent = record('one agent', {
  id: agentId('its name, part of its session keys `agent:<id>:…`'),
  name: Type.Optional(
    Type.String({ minLength: 1, description: 'display name; the same as `identity.name`' }),
  ),
  default: Type.Optional(
    applied(
      'restart',
      Type.Boolean({
        description: 'receives messages that no routing rule assigns; at most one agent',
      }),
    ),
  ),
  purpose: Type.Optional(Type.String({ description: 'what it is for; part of its system prompt' })),
  identity: Type.Optional(
    record('display settings; none of them reaches a model', {
      name: Type.Optional(Type.String({ minLength: 1, description: 'instead of its id' })),
      emoji: Type.Optional(Type.String({ minLength: 1, description: 'beside its name' })),
      avatar: Type.Optional(
        Type.String({
          minLength: 1,
          description: 'letter, emoji, URL or `data:` URL of a picture',
        }),
      ),
    }),
  ),
  model: Type.Optional(modelName('instead of `agents.defaults.model`')),
  thinkingLevel: Type.Optional(
    oneOf(thinkingLevels, { description: 'instead of `agents.defaults.thinkingLevel`' }),
  ),
  timeoutSeconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 172_800,
      description: 'instead of `agents.defaults.timeoutSeconds`',
    }),
  ),
  workspace: Type.Optional(
    applied(
      'restart',
      Type.String({
        minLength: 1,
        description: 'folder of its files. Default `<agents.defaults.workspace>/<id>`',
      }),
    ),
  ),
  sandbox: Type.Optional(sandboxOverride),
  fallbacks: Type.Optional(
    Type.Array(modelName('a model'), { description: 'instead of `agents.defaults.fallbacks`' }),
  ),
  limits: Type.Optional(limits('key by key instead of `agents.defaults.limits`')),
  queue: Type.Optional(queueOverride('agents.defaults.queue')),
  tools: Type.Optional(toolsOverride('key by key instead of `agents.defaults.tools`')),
  verbose: Type.Optional(verbose),
  reserveTokens: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1_000_000,
      description: 'instead of `agents.defaults.reserveTokens`',
    }),
  ),
  tokensPerDay: Type.Optional(
    Type.Integer({ minimum: 0, description: 'instead of `agents.defaults.tokensPerDay`' }),
  ),
  costPerDayUsd: Type.Optional(
    Type.Number({ minimum: 0, description: 'instead of `agents.defaults.costPerDayUsd`' }),
  ),
  runsMax: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1_000,
      description: 'instead of `agents.defaults.runsMax`',
    }),
  ),
  a2a: Type.Optional(applied('process', a2a)),
  subagents: Type.Optional(applied('process', subagents)),
});

const route = record('who gets the message', {
  agent: agentId('id of an agent'),
  requireMention: Type.Optional(
    Type.Boolean({
      description:
        'in a group: only messages that mention the account; instead of the setting of the account',
    }),
  ),
});
export type RouteRule = Static<typeof route>;

const routes = (description: string) => Type.Optional(Type.Record(AnyKey, route, { description }));

/** Rules of one channel: by account, guild, group, and by sender (any other key). */
export type ChannelRouting = {
  accounts?: Record<string, RouteRule>;
  guilds?: Record<string, RouteRule>;
  groups?: Record<string, RouteRule>;
} & { [sender: string]: RouteRule };

const channelRouting = Type.Unsafe<ChannelRouting>(
  Type.Object(
    {
      accounts: routes('by account of the channel'),
      guilds: routes('by guild or workspace, `*` for any other'),
      groups: routes('by group, `*` for any other'),
    },
    {
      description:
        'rules of one channel: any key but these is the id or user name of a sender, `*` for all ' +
        'other messages',
      additionalProperties: route,
    },
  ),
);

export type Routing = { default?: { agent: string } } & { [channel: string]: ChannelRouting };

const routing: TUnsafe<Routing> = Type.Unsafe<Routing>(
  Type.Object(
    {
      default: Type.Optional(
        applied(
          'restart',
          record('who gets what no other rule claims', {
            agent: agentId('id of an agent. Default the one with `default: true`, else the first'),
          }),
        ),
      ),
    },
    {
      description:
        'which agent gets a message, by channel; first match wins: account, guild or group, sender, ' +
        '`*` of the channel, `default`',
      default: {},
      additionalProperties: channelRouting,
    },
  ),
);

export const agentsSection = section('the agents', {
  defaults: applied('agents', defaults),
  agents: applied(
    'agents',
    Type.Array(agent, {
      default: [],
      description: 'the agents by name. None: one agent `main`',
    }),
  ),
  list: Type.Optional(
    sameAs(
      'agents',
      applied('agents', Type.Array(agent, { description: 'another name of `agents.agents`' })),
    ),
  ),
  maxConcurrent: applied(
    'agents',
    Type.Integer({
      minimum: 0,
      maximum: 1_000,
      default: 0,
      description:
        'runs of all agents together at once, counted as `agents.defaults.runsMax`; more wait in order. ' +
        '0: unlimited',
    }),
  ),
  routing: applied('process', routing),
  spawnDefaults: applied('process', spawnDefaults),
});
