/**
 * The configuration: every key, its type, bounds, default and meaning. The reference in
 * docs/config.md and the published JSON Schema are made from these descriptions.
 *
 * Boundary: shape only. What several keys must agree on is in ../checks/cross-checks.ts; where
 * values come from is in ../load.ts.
 */
import { type TSchema, Type } from '@sinclair/typebox';
import { AnyKey } from '../../../protocols/any-key.ts';
import { DM_SCOPES } from '../../../protocols/session-key.ts';
import { applied, type Loaded, inputForm, labelsOf, oneOf, record, section } from './fields.ts';
import { a2aSection } from './a2a.ts';
import { agent2agentSection } from './agent2agent.ts';
import { agentsSection } from './agents.ts';
import { channelsSection } from './channels.ts';
import { clusterSection, natsSection } from './cluster.ts';
import { gatewayAuthSection } from './gateway-auth.ts';
import { mcpSection } from './mcp.ts';
import { memorySection } from './memory.ts';
import { modelsSection } from './models.ts';
import { pluginsSection } from './plugins.ts';
import { budgetSection, messagesSection } from './runs.ts';
import { agentToAgentExchange } from './talk.ts';
import { tenantsSection } from './tenants.ts';
import { diskSection } from './disk.ts';
import { historySection } from './history.ts';
import { retentionSection } from './retention.ts';
import { hooksSection, skillsSection, toolsSection } from './tools.ts';

const gatewayTls = record('serve HTTPS and WSS instead of HTTP and WebSocket', {
  certFile: Type.String({
    minLength: 1,
    description: 'certificate of the gateway, and those that lead to its CA, PEM',
  }),
  keyFile: Type.String({ minLength: 1, description: 'its private key, PEM' }),
  minVersion: Type.Optional(
    oneOf(['TLSv1.2', 'TLSv1.3'], { description: 'oldest version of TLS. Default: TLSv1.2' }),
  ),
});

const gateway = section('the entry point for clients: WebSocket and HTTP on one port', {
  port: Type.Integer({
    minimum: 0,
    maximum: 65_535,
    default: 18_789,
    description: 'TCP port; 0: any free port',
  }),
  bind: oneOf(['loopback', 'lan', 'custom'], {
    description:
      'addresses to listen on: this machine only, all (`0.0.0.0`), or the one in `gateway.customBindHost`',
    default: 'loopback',
  }),
  customBindHost: Type.Optional(
    Type.String({ minLength: 1, description: 'IP address to listen on when `bind` is `custom`' }),
  ),
  auth: gatewayAuthSection,
  tls: Type.Optional(gatewayTls),
  tailscale: section('publish the gateway by Tailscale', {
    mode: oneOf(['off', 'serve', 'funnel'], {
      description:
        'not at all, inside the tailnet, or to the internet; both need `bind: "loopback"`',
      default: 'off',
    }),
    resetOnExit: Type.Boolean({
      default: false,
      description: 'end the publication when troupe stops',
    }),
    binary: Type.String({
      minLength: 1,
      default: 'tailscale',
      description: 'the Tailscale program, which publishes the gateway and identifies users',
    }),
  }),
});

const session = section('sessions', {
  mainKey: Type.String({
    pattern: '^[a-z0-9][a-z0-9_-]{0,62}$',
    'x-allowed': 'small letters, digits, _ and -, at most 63',
    default: 'main',
    description: 'last part of the key of an agent’s main session, `agent:<id>:<mainKey>`',
  }),
  dmScope: applied(
    'process',
    oneOf(DM_SCOPES, {
      description:
        'which session a direct message goes to: the main one of the agent, or one per sender, per ' +
        'channel and sender, or per account, channel and sender',
      default: 'main',
    }),
  ),
  identityLinks: applied(
    'process',
    Type.Record(
      Type.String({ pattern: '^[^:~\\s][^:\\s]{0,62}$' }),
      Type.Array(
        Type.String({
          pattern: '^[a-z0-9][a-z0-9_-]{0,31}:.{1,128}$',
          'x-allowed': '`<channel>:<id of a sender>`',
        }),
        { minItems: 1, description: 'the senders that are this person, as `telegram:42`' },
      ),
      {
        default: {},
        additionalProperties: false,
        'x-allowed': 'names without `:`, spaces and `~` at the start, at most 63 characters',
        description:
          'people that write from several channels, by a name of your choice, which session keys contain ' +
          'instead of their ids; not with dmScope `main`',
      },
    ),
  ),
  reset: Type.Optional(
    applied(
      'agents',
      record(
        'when a direct message or a message in a group starts its session over: with a new session id, without the ' +
          'earlier conversation',
        {
          atHour: Type.Optional(
            Type.Integer({
              minimum: 0,
              maximum: 23,
              description: 'hour at which a new day begins for sessions. Default: never',
            }),
          ),
          timeZone: Type.String({
            minLength: 1,
            default: 'UTC',
            description: 'time zone of `atHour`, as `Asia/Ho_Chi_Minh`',
          }),
          idleMinutes: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: 525_600,
              description: 'minutes since the last message of a person. Default: never',
            }),
          ),
        },
      ),
    ),
  ),
  agentToAgent: applied('process', agentToAgentExchange),
});

const runtime = section('the actor runtime', {
  shards: Type.Integer({
    minimum: 1,
    maximum: 1_024,
    default: 8,
    description: 'number of partitions of all actors; fixed when the data folder is created',
  }),
  durability: oneOf(['process', 'power'], {
    description:
      'what an accepted message survives: the end of the process, or also a power failure (slower)',
    default: 'process',
  }),
  groupTurnsMax: Type.Integer({
    minimum: 1,
    maximum: 4_096,
    default: 256,
    description: 'maximum number of turns in one commit',
  }),
  residentsMax: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 1_000,
    description: 'actors of one shard kept in memory; the least recently used one is evicted first',
  }),
  tenantWeights: applied(
    'process',
    Type.Record(
      AnyKey,
      Type.Number({ minimum: 0.1, maximum: 100, description: 'its share relative to the others' }),
      {
        default: {},
        additionalProperties: false,
        description: 'by tenant, who is served how much when all wait; 1 for one that is not named',
      },
    ),
  ),
  disk: diskSection,
  history: historySection,
  workspaces: section('where the files of agents are kept', {
    provider: Type.Optional(
      oneOf(['folder', 'synced', 'pinned'], {
        description:
          'a folder of this machine or a shared volume, copies that every worker can fetch, or a ' +
          'folder of the workers with certain labels. Default `folder`, in a cluster `synced`',
      }),
    ),
    labels: labelsOf('of `pinned`: labels of the workers that have the folders of all agents'),
    agents: Type.Record(AnyKey, labelsOf('labels for one agent'), {
      default: {},
      additionalProperties: false,
      description: 'of `pinned`: labels by agent id, in place of `runtime.workspaces.labels`',
    }),
    path: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'the folder, or that of the copies. Default: `workspaces` in the data folder',
      }),
    ),
  }),
});

const log = section('what troupe writes about itself', {
  level: applied(
    'process',
    oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      description: 'least important kind of line that is written',
      default: 'info',
    }),
  ),
});

/** The configuration as the program has it: checked, every default filled in. */
export const loadedSchema = section('configuration of troupe', {
  agents: agentsSection,
  gateway,
  session,
  messages: messagesSection,
  channels: channelsSection,
  tools: toolsSection,
  hooks: hooksSection,
  plugins: pluginsSection,
  skills: skillsSection,
  budget: budgetSection,
  memory: memorySection,
  models: modelsSection,
  runtime,
  nats: natsSection,
  cluster: clusterSection,
  a2a: a2aSection,
  mcp: mcpSection,
  agent2agent: agent2agentSection,
  retention: retentionSection,
  tenants: tenantsSection,
  log,
});

/** JSON Schema of the file, as published: what has a default may be left out. */
export const configSchema: TSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'troupe/config.json',
  title: 'troupe.json5',
  ...withTolerance(inputForm(loadedSchema)),
};

/** Fields that the loader fills by its own rules are optional, too; `$schema` is allowed. */
function withTolerance(schema: TSchema): TSchema {
  const sections = schema.properties as Record<string, TSchema>;
  const [tenant] = Object.values<TSchema>(sections['tenants']?.patternProperties ?? {});
  for (const { agents, models } of [sections, (tenant?.properties ?? {}) as typeof sections]) {
    delete agents?.properties.defaults.required;
    const [provider] = Object.values<TSchema>(models?.properties.providers.patternProperties ?? {});
    delete provider?.required;
  }
  schema.properties.$schema = { type: 'string' };
  return schema;
}

/**
 * `home` is the data folder, absolute: it is chosen by TROUPE_HOME or --data, never by the file.
 */
export type Config = Loaded<typeof loadedSchema> & { readonly home: string };
export type AgentConfig = Config['agents']['agents'][number];
export type RemoteAgentConfig = Config['tools']['a2a']['agents'][string];
export type PluginConfig = Config['plugins']['entries'][string];
export type McpServerConfig = Config['mcp']['servers'][string];
export type ProviderConfig = Config['models']['providers'][string];
export type SandboxConfig = Config['agents']['defaults']['sandbox'];
