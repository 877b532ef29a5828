/** Adds the hooks of the configuration and of plugins to the parts of an installation. */
import type { Logger } from 'pino';
import type { Hooks } from '../agent/hooks/hooks.ts';
import { openHooks } from '../agent/hooks/open-hooks.ts';
import type { Plugins } from '../agent/plugins/open-plugins.ts';
import { type Config, ownSections } from '../runtime/config/index.ts';
import type { InstallationParts, TenantParts } from './tenant-parts.ts';

export type HookSources = {
  readonly plugins: Plugins;
  readonly log: Logger;
  /** called each time that a hook throws, times out or returns an invalid value */
  readonly onFailure: () => void;
};

/**
 * Adds the hooks of the configuration, and of each tenant that has its own. Hooks of plugins belong
 * to all tenants.
 * @throws TroupeError as `openHooks`
 */
export async function withHooks<Parts extends InstallationParts>(
  config: Config,
  parts: Parts,
  { plugins, ...reports }: HookSources,
): Promise<Parts> {
  const shared = { ...reports, plugins: plugins.hooks };
  const hooks = await openHooks(config, shared);
  const ofTenant = async ([tenant, own]: readonly [string, TenantParts]) => {
    const isOwn = ownSections(config, tenant).includes('hooks');
    const ownHooks = isOwn ? await openHooks(own.config, { ...shared, tenant }) : hooks;
    return [tenant, hooked(own, ownHooks)] as const;
  };
  const tenants = new Map(await Promise.all([...parts.tenants].map(ofTenant)));
  return { ...hooked(parts, hooks), tenants };
}

const hooked = <Parts extends TenantParts>(parts: Parts, hooks: Hooks | undefined): Parts =>
  hooks === undefined ? parts : { ...parts, services: { ...parts.services, hooks } };
