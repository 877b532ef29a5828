/** The gateway of a process, and the data about agents that it needs. */
import { DEFAULT_TENANT } from '../protocols/address.ts';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Gateway, startGateway, type TenantOptions } from '../channels/index.ts';
import { TRANSPORTS } from '../protocols/action.ts';
import { defined } from '../protocols/defined.ts';
import { bindHost, type Config } from '../runtime/config/index.ts';
import { type System, systemClock } from '../runtime/index.ts';
import type { Payloads } from '../channels/gateway/devices/node-payloads.ts';
import { whoisByTailscale } from '../channels/gateway/auth/tailscale.ts';
import { type A2a, openA2a } from './a2a.ts';
import { operationServices } from './operation-services.ts';
import { agentNames, type GatewayServices, partsFor } from './process-services.ts';
import { gatewayAuth } from './gateway-auth.ts';
import { messageHooks, withGatewayHooks } from './hooks.ts';
import { type ClusterBroker, openNatsEntryPoint } from './nats-entry-point.ts';
import { publishedBy } from '../installation/tailscale-publication.ts';
import type { TaskParts } from './task-parts.ts';
import { tenancyOf } from './tenants.ts';
import packageJson from '../package.json' with { type: 'json' };

/** The gateway with the entry point for other programs, which closes first. */
export async function openGateway(
  config: Config,
  system: System,
  processServices: GatewayServices,
  tasks: TaskParts,
  cluster?: ClusterBroker,
): Promise<Gateway> {
  processServices.metrics.watch(system, cluster?.node);
  const open = async (entry: Pick<A2a, 'routes'> & Partial<A2a>): Promise<Gateway> => {
    let gateway = await listen(config, system, processServices, entry, payloadFiles(tasks));
    for (const [tenant, { services }] of [
      [DEFAULT_TENANT, processServices] as const,
      ...processServices.tenants,
    ])
      if (tenant === DEFAULT_TENANT || services.hooks !== processServices.services.hooks)
        gateway = await withGatewayHooks(services.hooks, tenant, gateway);
    return publishedBy(config.gateway.tailscale, gateway, processServices.log);
  };
  if (!config.a2a.enabled) return open({ routes: [] });
  const transports = cluster ? TRANSPORTS : (['http'] as const);
  const a2a = openA2a({ config, system, processServices, tasks }, transports);
  try {
    const gateway = await open(a2a);
    tasks.onListen(gateway.url);
    const { edge } = a2a;
    const nats =
      cluster && (await openNatsEntryPoint(config, { system, processServices, edge }, cluster));
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

function listen(
  config: Config,
  system: System,
  processServices: GatewayServices,
  { routes, inspect }: Pick<A2a, 'routes'> & Partial<A2a>,
  payloads: Payloads,
): Promise<Gateway> {
  const home = faceOf(processServices, DEFAULT_TENANT);
  return startGateway({
    payloads,
    routes,
    operations: operationServices(system, processServices),
    ...defined({ inspect }),
    system,
    port: config.gateway.port,
    host: bindHost(config),
    auth: gatewayAuth(config),
    tenant: DEFAULT_TENANT,
    tenancy: tenancyOf(config),
    whois: whoisByTailscale(config.gateway.tailscale.binary, systemClock),
    ...home,
    // Not a spread, which would read the agents only once.
    get agents() {
      return home.agents;
    },
    ofTenant: (tenant) => (tenant === DEFAULT_TENANT ? home : faceOf(processServices, tenant)),
    version: packageJson.version,
    ...pageFolder(),
    log: processServices.log,
    clock: systemClock,
  });
}

/** The data and requests of the gateway for one tenant. */
function faceOf(processServices: GatewayServices, tenant: string): TenantOptions {
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

function blockSettings({ agents: { defaults } }: Config): NonNullable<TenantOptions['blocks']> {
  const { blockStreamingChunk: chunk, blockStreamingCoalesce: coalesce } = defaults;
  return {
    byDefault: defaults.blockStreamingDefault === 'on',
    chunk: {
      breakAt: defaults.blockStreamingBreak,
      charactersMin: chunk.minChars,
      charactersMax: chunk.maxChars,
      prefer: chunk.breakPreference,
    },
    coalesce: {
      charactersMin: coalesce.minChars,
      charactersMax: coalesce.maxChars,
      idleMs: coalesce.idleMs,
    },
  };
}

/** Long answers of nodes, in the same bucket as files of tasks. */
const payloadFiles = ({ services: { artifacts } }: TaskParts): Payloads => ({
  async put(tenant, text) {
    const contents = Buffer.from(text, 'utf8');
    const { hash } = await artifacts.put(tenant, contents, { contentType: 'application/json' });
    return hash;
  },
  async get(tenant, hash) {
    const { contents } = await artifacts.get(tenant, hash);
    return Buffer.from(contents).toString('utf8');
  },
});

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

/** Beside the bundle, or built by `npm run build` in a checkout. */
function pageFolder(): { webRoot?: string } {
  for (const folder of ['./web/', '../dist/web/']) {
    const path = fileURLToPath(new URL(folder, import.meta.url));
    if (existsSync(join(path, 'index.html')) && existsSync(join(path, 'main.js')))
      return { webRoot: path };
  }
  return {};
}
