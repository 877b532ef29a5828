/** The gateway of a process, and the data about agents that it needs. */

import { whoisByTailscale } from '../channels/gateway/auth/tailscale.ts';
import { gatewayAuth } from '../channels/gateway/auth/configured-auth.ts';
import { payloadsIn } from '../channels/gateway/devices/node-payloads.ts';
import { blockSettings } from '../channels/gateway/streams/block-settings.ts';
import {
  type Gateway,
  type GatewayOptions,
  startGateway,
  type TenantOptions,
} from '../channels/index.ts';
import type { ChannelHost } from '../channels/messengers/channel-host.ts';
import { webhookRoutes } from '../channels/messengers/webhook-route.ts';
import { tenancyOf } from '../channels/tenancy.ts';
import { agentNames } from '../installation/agent-names.ts';
import { watchCell } from '../installation/cell-gauges.ts';
import { gatewayCertificate } from '../installation/certificate-watch.ts';
import { messageHooks, withGatewayHooks } from '../installation/gateway-hooks.ts';
import { pageFolder } from '../installation/page-folder.ts';
import { watchRetention } from '../installation/retention/retention-gauges.ts';
import { warningsOf } from '../installation/start-rules.ts';
import { publishedBy } from '../installation/tailscale-publication.ts';
import { partsFor } from '../installation/tenant-parts.ts';
import { TRANSPORTS } from '../protocols/action.ts';
import { DEFAULT_TENANT } from '../protocols/address.ts';
import { defined } from '../protocols/defined.ts';
import { bindHost, type Config } from '../runtime/config/index.ts';
import { type System, systemClock } from '../runtime/index.ts';
import packageJson from '../package.json' with { type: 'json' };
import { type A2a, openA2a } from './a2a.ts';
import { type ClusterBroker, openNatsEntryPoint } from './nats-entry-point.ts';
import { operationServices } from './operation-services.ts';
import type { GatewayServices } from './process-services.ts';
import type { TaskParts } from './task-parts.ts';
import { liveRateLimit } from './live-limits.ts';

/** The gateway with the entry point for other programs, which closes first. */
export async function openGateway(
  config: Config,
  system: System,
  processServices: GatewayServices,
  { tasks, channels }: EntryPointParts,
  cluster?: ClusterBroker,
): Promise<Gateway> {
  processServices.metrics.watch(system, cluster);
  watchCell(processServices, system);
  watchRetention(processServices.metrics, system, config);
  const webhooks = webhookRoutes(channels);
  if (!config.a2a.enabled)
    return openClients(config, system, processServices, { routes: webhooks });
  const transports = cluster ? TRANSPORTS : (['http'] as const);
  const a2a = openA2a({ config, system, processServices, tasks }, transports);
  try {
    const routes = [...a2a.routes, ...webhooks];
    const gateway = await openClients(config, system, processServices, { ...a2a, routes });
    tasks.onListen(gateway.url);
    const parts = { system, processServices, edge: a2a.edge };
    const nats = cluster && (await openNatsEntryPoint(config, parts, cluster));
    return {
      ...gateway,
      async close(options) {
        await nats?.close();
        await a2a.close();
        return gateway.close(options);
      },
    };
  } catch (error) {
    await a2a.close();
    throw error;
  }
}

type EntryPointParts = { readonly tasks: TaskParts; readonly channels: ChannelHost };
type OwnRoutes = Pick<A2a, 'routes'> & Partial<Pick<A2a, 'inspect' | 'laterRoutes'>>;
type Listening = OwnRoutes & Pick<GatewayOptions, 'tls'>;

/** The gateway with its hooks, and its publication by Tailscale. */
async function openClients(
  config: Config,
  system: System,
  processServices: GatewayServices,
  own: OwnRoutes,
): Promise<Gateway> {
  const { services, tenants, log } = processServices;
  for (const { path, value, message } of warningsOf(config))
    log.warn({ key: path }, `${path} = ${value}: ${message}`);
  const tls = await gatewayCertificate(config, processServices);
  const listening = await listen(config, system, processServices, { ...own, ...defined({ tls }) });
  const hooks = [...tenants].map(([tenant, parts]) => [tenant, parts.services.hooks] as const);
  const gateway = await withGatewayHooks([[DEFAULT_TENANT, services.hooks], ...hooks], listening);
  return publishedBy(config.gateway.tailscale, gateway, log);
}

function listen(
  config: Config,
  system: System,
  processServices: GatewayServices,
  { routes, laterRoutes, inspect, tls }: Listening,
): Promise<Gateway> {
  const home = tenantOptions(processServices, DEFAULT_TENANT);
  return startGateway({
    payloads: payloadsIn(processServices.bucket.value),
    routes,
    operations: operationServices(system, processServices),
    ...defined({ laterRoutes, inspect, tls, webRoot: pageFolder() }),
    ...defined({ onConnection: processServices.onConnection }),
    system,
    port: config.gateway.port,
    host: bindHost(config),
    auth: { ...gatewayAuth(config), rateLimit: liveRateLimit(processServices.live) },
    tenant: DEFAULT_TENANT,
    tenancy: tenancyOf(config),
    whois: whoisByTailscale(config.gateway.tailscale.binary, systemClock),
    ...home,
    // Not a spread, which would read the agents only once.
    get agents() {
      return home.agents;
    },
    ofTenant: (tenant) =>
      tenant === DEFAULT_TENANT ? home : tenantOptions(processServices, tenant),
    diskFault: processServices.disks.fault,
    clockJump: processServices.clockJumps.fault,
    version: packageJson.version,
    log: processServices.log,
    clock: systemClock,
  });
}

/** The data and requests of the gateway for one tenant. */
function tenantOptions(processServices: GatewayServices, tenant: string): TenantOptions {
  const { config, services } = partsFor(processServices, tenant);
  const setup = processServices.setup?.(tenant);
  const names = agentNames(processServices, tenant);
  return {
    defaultAgentId: names.defaultAgentId,
    mainKey: names.mainKey,
    models: services.catalog,
    blocks: blockSettings(config),
    // Not a spread, which would read the agents only once.
    get agents() {
      return names.agents;
    },
    ...defined({ setup }),
    ...messageHooks(services.hooks, tenant),
  };
}

/** First closes the entry points, then the parts that they use. */
export async function closeAll(gateway: Gateway, stopSystem: () => Promise<void>): Promise<void> {
  await gateway.close({ reason: 'troupe stops' });
  await stopSystem();
}

/** Returns the same promise to every caller. */
export function once(stop: () => Promise<void>): () => Promise<void> {
  let stopping: Promise<void> | undefined;
  return () => (stopping ??= stop());
}
