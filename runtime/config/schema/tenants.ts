/**
 * The configuration's section for tenants: who belongs to which, and what a tenant has for itself.
 *
 * Boundary: shape only. How a tenant's sections replace the installation's is in tenants.ts.
 */
import { type TObject, type TProperties, Type } from '@sinclair/typebox';
import { record, sameAs, secret, section } from './fields.ts';
import { agentsSection } from './agents.ts';
import { mcpServers } from './mcp.ts';
import { memorySection } from './memory.ts';
import { modelsSection } from './models.ts';
import { tenantRetention } from './retention.ts';
import { budgetSection, messagesSection } from './runs.ts';
import { hooksSection, skillsSection, toolsSection } from './tools.ts';

const names = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { default: [], description });

/** A section of the installation for one tenant: absent unless it is written. */
const own = <P extends TProperties>(
  name: string,
  { default: _, ...schema }: TObject<P>,
  description: string,
) => Type.Optional(sameAs(name, { ...schema, description }));

const tenant = section('one tenant: its sessions, files, devices, jobs and budgets are its own', {
  token: Type.Optional(
    secret('who shows it to a gateway is an operator of this tenant, and of no other'),
  ),
  principals: names(
    'users and devices as a gateway authenticates them: `tailscale:LOGIN`, `proxy:USER`, `device:ID`',
  ),
  channelAccounts: names('accounts of channels, as `telegram:NAME`'),
  agents: own('agents', agentsSection, 'its agents instead of those of the installation'),
  models: own(
    'models',
    modelsSection,
    'its providers and keys. With this section it cannot use the providers of the installation, ' +
      'nor keys from the environment',
  ),
  memory: own('memory', memorySection, 'how its agents find their notes'),
  tools: own('tools', toolsSection, 'its tool policy and exec patterns'),
  messages: own('messages', messagesSection, 'its message queues'),
  budget: own('budget', budgetSection, 'ceilings of all its agents together'),
  hooks: own(
    'hooks',
    hooksSection,
    'its hooks, which run for this tenant only. Default `folder`: `tenants/NAME/hooks` in the data folder',
  ),
  skills: own(
    'skills',
    skillsSection,
    'its shared skills. Default `folder`: `tenants/NAME/skills` in the data folder',
  ),
  mcp: Type.Optional(
    record('its MCP servers', {
      servers: sameAs('mcp.servers', {
        ...mcpServers,
        description: 'its MCP servers instead of those of the installation',
      }),
    }),
  ),
  retention: tenantRetention,
  workspaces: Type.Optional(
    record('where the files of its agents are stored', {
      path: Type.String({
        minLength: 1,
        description: 'instead of `runtime.workspaces.path`; the provider is the same',
      }),
    }),
  ),
});

/** The tenant `default` always exists: it has every name that no tenant lists. */
export const tenantsSection = Type.Record(
  Type.String({ pattern: '^(?!default$)[a-z0-9][a-z0-9_-]{0,62}$' }),
  tenant,
  {
    default: {},
    additionalProperties: false,
    description:
      'tenants in addition to `default`, by name; principals that none of them names belong to `default`. A section that ' +
      'a tenant has replaces the one of the installation as a whole; a section that it leaves out is ' +
      'the one of the installation',
  },
);
