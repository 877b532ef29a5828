/**
 * The rules of the configuration: who may write to an account, and which session a message goes to.
 */
import type { InboundMessage } from '../../protocols/channel.ts';
import { admit, type Config, routeByTable, tenantConfig } from '../../runtime/config/index.ts';
import type { AccountSettings } from './account-settings.ts';
import type { ChannelRules } from './open-account.ts';

/** @param config returns the configuration in effect, for each message */
export const configuredRules = (config: () => Config): ChannelRules => {
  const byTable = (of: AccountSettings, message: InboundMessage) =>
    routeByTable(tenantConfig(config(), of.tenant), of, message);
  return {
    admit: (of, message, isApproved) => {
      const { requireMention } = byTable(of, message);
      return admit(message, of.settings, { isApproved, requireMention });
    },
    route: (of, message) => {
      const { requireMention: _, ...route } = byTable(of, message);
      return route;
    },
  };
};
