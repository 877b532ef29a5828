/**
 * The configuration as one tenant has it.
 *
 * One rule: a section under `tenants.NAME` replaces the section of the installation as a whole; a
 * section that is left out is inherited. Everything that is made for a tenant (agents, models,
 * tools, hooks, skills, workspaces) is made from `tenantConfig` and from nothing else.
 */
import { join } from 'node:path';
import { defined } from '../../protocols/defined.ts';
import type { Config } from './schema/schema.ts';

/** Sections that a tenant may have for itself under the same name. */
export const tenantSections = [
  'agents',
  'models',
  'memory',
  'tools',
  'messages',
  'budget',
  'hooks',
  'skills',
  'mcp',
] as const;
export type TenantSection = (typeof tenantSections)[number];

const tenantOf = ({ tenants }: Config, tenant: string) =>
  Object.hasOwn(tenants, tenant) ? tenants[tenant] : undefined;

/** Sections that the tenant does not inherit; none for `default`, which is the installation. */
export function ownSections(config: Config, tenant: string): readonly TenantSection[] {
  const own = tenantOf(config, tenant);
  return own === undefined ? [] : tenantSections.filter((name) => own[name] !== undefined);
}

/** Tenants with anything of their own, in the file's order. */
export const tenantsWithOwn = (config: Config): readonly string[] =>
  Object.keys(config.tenants).filter(
    (tenant) =>
      ownSections(config, tenant).length > 0 || config.tenants[tenant]?.workspaces !== undefined,
  );

/** The whole configuration as the tenant has it; the same object where all is inherited. */
export function tenantConfig(config: Config, tenant: string): Config {
  const own = tenantOf(config, tenant);
  if (own === undefined) return config;
  const { agents, models, memory, tools, messages, budget, hooks, skills, mcp, workspaces } = own;
  const folder = join(config.home, 'tenants', tenant);
  const { runtime } = config;
  return {
    ...config,
    ...defined({ agents, models, memory, tools, messages, budget }),
    ...(hooks && { hooks: { folder: join(folder, 'hooks'), ...hooks } }),
    ...(skills && { skills: { folder: join(folder, 'skills'), ...skills } }),
    ...(mcp && { mcp: { ...config.mcp, ...mcp } }),
    ...(workspaces && {
      runtime: { ...runtime, workspaces: { ...runtime.workspaces, ...workspaces } },
    }),
  };
}
