/** The accounts of messengers in a process. */
import { ADAPTERS } from '../channels/messengers/adapters.ts';
import { accountSettings } from '../channels/messengers/account-settings.ts';
import { ChannelHost } from '../channels/messengers/channel-host.ts';
import { configuredRules } from '../channels/messengers/configured-rules.ts';
import { tenancyOf } from '../channels/tenancy.ts';
import { pluginAdapters } from '../installation/plugin-channels.ts';
import { partsFor } from '../installation/tenant-parts.ts';
import { defined } from '../protocols/defined.ts';
import { type Config, resolveAgents } from '../runtime/config/index.ts';
import { type System, systemClock } from '../runtime/index.ts';
import type { ProcessServices } from './process-services.ts';

export const createChannelHost = (
  config: Config,
  processServices: ProcessServices,
  system: () => Promise<System>,
): ChannelHost =>
  new ChannelHost({
    accounts: accountSettings(config),
    tenants: tenancyOf(config).tenants,
    adapters: { ...pluginAdapters(processServices.plugins.channels), ...ADAPTERS },
    system,
    rules: configuredRules(() => processServices.live.now),
    messageHooks: (tenant) => {
      const { hooks } = partsFor(processServices, tenant).services;
      return {
        received: hooks.has('message_received') || hooks.has('routeMessage'),
        sending: hooks.has('message_sending'),
        sent: hooks.has('message_sent'),
      };
    },
    models: (tenant, agentId) => {
      const { config: own, services } = partsFor(processServices, tenant);
      const model = resolveAgents(own).find(({ id }) => id === agentId)?.model;
      return { models: services.catalog, ...defined({ model }) };
    },
    files: processServices.bucket.value,
    clock: systemClock,
    log: processServices.log,
  });
