/** The entry point for other programs: the Edge and its HTTP routes, by configuration. */
import { DEFAULT_TENANT } from '../protocols/address.ts';
import { withOpenedResults } from '../channels/edge/opened-results.ts';
import { createEdge } from '../channels/edge/create-edge.ts';
import { CONTROL_SPECS } from '../channels/edge/control.ts';
import type { Edge, Identity } from '../channels/edge/edge.ts';
import { configuredIdentity } from '../channels/edge/identity/configured-identity.ts';
import { localIssuerKeys } from '../channels/edge/identity/local-issuer.ts';
import {
  installationOperatorOf,
  type Operator,
  operatorOf,
} from '../channels/edge/identity/operator.ts';
import { observed } from '../channels/edge/observed.ts';
import { AuditedOperators } from '../channels/http/audited-operators.ts';
import type { Offers } from '../protocols/offers.ts';
import { metered, readLimits, TokenQuota } from '../channels/edge/quota.ts';
import { actorTurnRoutes } from '../channels/http/actor-turns.ts';
import { announcementRoutes } from '../channels/http/announcements.ts';
import { artifactRoutes } from '../channels/http/artifacts.ts';
import { capabilityRoutes } from '../channels/http/capabilities.ts';
import { envelopeRoutes } from '../channels/http/envelopes.ts';
import { EventStreams } from '../channels/http/event-streams.ts';
import { evidenceRoutes } from '../channels/http/evidence.ts';
import { functionRoutes } from '../channels/http/functions.ts';
import { openInspection } from '../channels/inspection/open-inspection.ts';
import type { OpenInspection } from '../channels/gateway/transport/inspection-sockets.ts';
import { jwksRoutes } from '../channels/http/jwks.ts';
import { mcpRoutes } from '../channels/mcp/route.ts';
import { metricsRoutes } from '../channels/http/metrics.ts';
import { registryRoutes } from '../channels/http/registry.ts';
import type { Route } from '../channels/http/route.ts';
import { taskRoutes } from '../channels/http/tasks.ts';
import type { Transport } from '../protocols/action.ts';
import { defined } from '../protocols/defined.ts';
import type { Config } from '../runtime/config/index.ts';
import { exportBare, type System, systemClock } from '../runtime/index.ts';
import { shippedSpecs } from './actions.ts';
import { sharedSkills, taskAppPage } from './mcp-parts.ts';
import { maskOf, operationServices } from './operation-services.ts';
import type { GatewayServices } from './process-services.ts';
import { createOffers } from '../actors/task/tenant-offers.ts';
import { localAgents, AgentRegistration } from '../actors/registry/agent-registration.ts';
import type { TaskParts } from './task-parts.ts';
import packageJson from '../package.json' with { type: 'json' };
import { openAgent2Agent } from './agent2agent.ts';
import { liveOutstanding } from './live-limits.ts';

export type A2a = {
  readonly edge: Edge;
  readonly identity: Identity;
  readonly offers: Offers;
  readonly routes: readonly Route[];
  /** loads the others, whose paths differ */
  readonly laterRoutes: () => Promise<readonly Route[]>;
  readonly inspect: OpenInspection;
  /** Ends every wait and stream; accepted work continues. */
  close(): Promise<void>;
};

type Parts = {
  readonly config: Config;
  readonly system: System;
  readonly processServices: GatewayServices;
  readonly tasks: TaskParts;
};

/** @param transports by which this process receives envelopes */
export function openA2a(parts: Parts, transports: readonly Transport[]): A2a {
  const { config, system, processServices, tasks } = parts;
  const { log, live } = processServices;
  const identity = configuredIdentity(config, system, (what) => log.warn(what));
  const registration = createAgentRegistration(parts);
  const offers = createOffers({
    catalog: tasks.services.actions,
    system,
    controls: CONTROL_SPECS,
    onTenant: (tenant) => registration.registerWith(tenant),
  });
  const taken = new TokenQuota(() => live.now.a2a.quota, system, systemClock);
  const reads = new TokenQuota(() => readLimits(live.now.a2a.quota), system, systemClock);
  const edge = openEdge({ ...parts, identity, offers, quota: taken, reads });
  const audit = new AuditedOperators({ system, clock: systemClock, log });
  const operator = audit.audited(operatorOf(identity, DEFAULT_TENANT));
  const installation = audit.audited(installationOperatorOf(identity, DEFAULT_TENANT));
  const writer = { authenticate: metered(identity, taken, 'call') };
  const reader = { authenticate: metered(identity, reads, 'readTasks') };
  const streams = new EventStreams();
  const all = { ...parts, transports, edge, identity, offers, operator, installation, streams };
  const mcp = openMcp({ ...parts, edge, identity, offers, audit });
  const served = { ...all, writer, reader };
  const routes = [...routesOf(served), ...mcp.routes];
  const laterRoutes = () => laterRoutesOf(served);
  const close = async () => {
    registration.close();
    edge.close();
    await mcp.close();
    await audit.close();
  };
  registration.registerWith(DEFAULT_TENANT);
  const maskSecrets = maskOf(processServices);
  const chartOf = (name: string) => {
    const found = processServices.options.actors.find((actor) => actor.name === name);
    return found && exportBare(found.machine);
  };
  const inspect = openInspection({ system, chartOf, maskSecrets, operator });
  return { edge, identity, offers, routes, laterRoutes, inspect, close };
}

type EdgeParts = Parts &
  Pick<A2a, 'identity' | 'offers'> & { readonly quota: TokenQuota; readonly reads: TokenQuota };

function openEdge({
  config,
  system,
  processServices,
  tasks,
  identity,
  offers,
  quota,
  reads,
}: EdgeParts): Edge {
  const { locality, localities } = config.a2a;
  const { artifactsLocality } = tasks.services;
  const { log, metrics } = processServices;
  const served = createEdge({
    system,
    offers,
    identity,
    quota,
    reads,
    clock: systemClock,
    ...defined({ locality, artifactsLocality }),
    localities,
    outstanding: liveOutstanding(processServices.live),
    tasksMax: () => processServices.live.now.a2a.quota.tasksMax,
    open: (envelope) => tasks.sealer.open(envelope),
    artifacts: tasks.services.artifacts,
    fits: async (schema, value) => {
      const { compileSchema } = await import('../runtime/json-schema/compile-schema.ts');
      return compileSchema(schema)(value);
    },
    log,
    onRequest: observed(metrics, systemClock),
  });
  return withOpenedResults(served, (view) => tasks.sealer.openResult(view));
}

/** `/mcp`: actions, operations, sessions and tasks for MCP clients. */
const openMcp = ({
  config,
  system,
  processServices,
  tasks,
  audit,
  ...parts
}: Parts & Pick<A2a, 'edge' | 'identity' | 'offers'> & { readonly audit: AuditedOperators }) =>
  mcpRoutes({
    identity: parts.identity,
    home: DEFAULT_TENANT,
    authMode: config.gateway.auth.mode,
    publicUrl: tasks.publicUrl,
    issuers: config.a2a.issuers.map(({ issuer }) => issuer),
    info: { name: 'troupe', version: packageJson.version },
    clock: systemClock,
    log: processServices.log,
    loadCatalog: async () => {
      const [{ gatewayCatalog }, skillsOf] = await Promise.all([
        import('../channels/mcp/gateway-catalog.ts'),
        sharedSkills(processServices),
      ]);
      return gatewayCatalog({
        edge: parts.edge,
        offers: parts.offers,
        which: config.mcp.operations,
        services: operationServices(system, processServices),
        audit: (caller, what) => audit.record(caller, `MCP ${what}`, caller.remoteAddress),
        evidence: {
          index: system.index,
          offers: parts.offers,
          artifacts: tasks.services.artifacts,
        },
        skills: { skillsFor: config.mcp.skills, skillsOf },
        taskApp: config.mcp.apps ? taskAppPage() : undefined,
      });
    },
  });

/** Registers the agents of this build with the tenants that this process serves. */
export const createAgentRegistration = ({
  system,
  processServices,
  tasks,
}: Omit<Parts, 'config'>): AgentRegistration =>
  new AgentRegistration({
    system,
    agents: localAgents(tasks.services.actions, packageJson.version, { task: CONTROL_SPECS }),
    log: processServices.log,
  });

type Served = Parts & {
  readonly transports: readonly Transport[];
  readonly edge: Edge;
  readonly identity: Identity;
  /** the same, counting each call against the quota of envelopes or of reads */
  readonly writer: Pick<Identity, 'authenticate'>;
  readonly reader: Pick<Identity, 'authenticate'>;
  readonly offers: Offers;
  /** operators of a tenant, and of the whole installation */
  readonly operator: Operator;
  /** operators of the whole installation only */
  readonly installation: Operator;
  readonly streams: EventStreams;
};

/** Tasks, announcements and turns of actors: their event streams are counted together. */
function streamingRoutes({
  edge,
  identity,
  reader,
  system,
  operator,
  processServices,
  streams,
}: Pick<
  Served,
  'edge' | 'identity' | 'reader' | 'system' | 'operator' | 'processServices' | 'streams'
>): readonly Route[] {
  return [
    ...taskRoutes({ edge, identity, streams }),
    ...announcementRoutes({ system, identity: reader, streams, clock: systemClock }),
    ...actorTurnRoutes({ system, operator, streams, maskSecrets: maskOf(processServices) }),
  ];
}

/** Every route of the entry point for programs. */
const routesOf = (served: Served): readonly Route[] => {
  const { system, tasks, transports, edge, writer, reader, offers } = served;
  return [
    ...envelopeRoutes(edge),
    ...streamingRoutes(served),
    ...evidenceRoutes({
      index: system.index,
      offers,
      identity: reader,
      artifacts: tasks.services.artifacts,
    }),
    ...artifactRoutes({
      artifacts: tasks.services.artifacts,
      authenticate: async (credentials) => {
        const caller = await writer.authenticate(credentials);
        served.processServices.disks.assertRoom();
        return caller;
      },
      authenticateReader: reader.authenticate,
      publicUrl: tasks.publicUrl,
    }),
    ...capabilityRoutes({ offers, index: system.index, identity: reader, transports }),
    ...registryRoutes({ offers, index: system.index, identity: reader }),
    ...functionRoutes({ edge, offers, identity: reader }),
    ...openAgent2Agent(served),
    ...operatorRoutes(served),
  ];
};

/** Operations, and the documents that describe this entry point. */
const laterRoutesOf = async (served: Served): Promise<readonly Route[]> => {
  const { config, system, processServices, tasks, offers, reader, operator, installation } = served;
  const { lateRoutes } = await import('./late-routes.ts');
  return lateRoutes(
    { ...operationServices(system, processServices), operator, installation },
    {
      specs: shippedSpecs(config.a2a.agents, config.a2a.messagesFrom),
      offers,
      identity: reader,
      version: packageJson.version,
      env: config.nats.env,
      publicUrl: tasks.publicUrl,
    },
  );
};

/** Routes for operators, and the public keys of the installation. */
const operatorRoutes = ({
  config,
  processServices,
  tasks,
  installation,
}: Served): readonly Route[] => {
  const { metrics } = processServices;
  return [
    ...metricsRoutes({ metrics, operator: installation }),
    ...jwksRoutes(async () => [
      tasks.sealer.publicJwk,
      ...tasks.signer.publicJwks,
      ...(await localIssuerKeys(config.home)),
    ]),
  ];
};
