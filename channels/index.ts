/** Public door of channels. */
export type { OnCommand } from './gateway/command-desk.ts';
export type { OnMessage } from './gateway/door.ts';
export type { GatewayAuth } from './gateway/access.ts';
export {
  type CloseOptions,
  type Gateway,
  startGateway,
} from './gateway/gateway.ts';
export type { Logger as GatewayLog } from './gateway/log.ts';
export type { GatewayOptions, TenantFace } from './gateway/options.ts';
export type {
  AgentCard,
  AgentSetup,
  Catalogs,
  ConfigSetup,
  ModelProviderState,
  RemovedFiles,
  Setup,
} from './gateway/setup.ts';
