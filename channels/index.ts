/** Public interface of channels. */
export type { OnCommand } from './gateway/tenant/chat-commands.ts';
export type { GatewayAuth } from './gateway/auth/access.ts';
export { type Gateway, startGateway } from './gateway/gateway.ts';
export type { CertificatePair, GatewayTls } from './gateway/transport/server.ts';
export type { GatewayOptions, TenantOptions } from './gateway/options.ts';
export type {
  AgentCard,
  AgentSetup,
  Catalogs,
  ConfigSetup,
  ModelProviderState,
  RemovedFiles,
  Setup,
} from './gateway/setup.ts';
