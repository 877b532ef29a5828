/** The routes of the Agent2Agent protocol, by configuration. */
import type { Edge, Identity } from '../channels/edge/edge.ts';
import { ServedAgents } from '../channels/agent2agent/agents.ts';
import { agent2agentRoutes } from '../channels/agent2agent/route.ts';
import type { EventStreams } from '../channels/http/event-streams.ts';
import type { Route } from '../channels/http/route.ts';
import { localAgents } from '../actors/registry/agent-registration.ts';
import { agentNames } from '../installation/agent-names.ts';
import { DEFAULT_TENANT } from '../protocols/address.ts';
import { defined } from '../protocols/defined.ts';
import type { Offers } from '../protocols/offers.ts';
import type { Config } from '../runtime/config/index.ts';
import type { System } from '../runtime/index.ts';
import packageJson from '../package.json' with { type: 'json' };
import { maskOf } from './operation-services.ts';
import type { GatewayServices } from './process-services.ts';
import type { TaskParts } from './task-parts.ts';

type Parts = {
  readonly config: Config;
  readonly system: System;
  readonly processServices: GatewayServices;
  readonly tasks: TaskParts;
  readonly edge: Edge;
  readonly identity: Identity;
  /** counts each call against the quota of reads */
  readonly reader: Pick<Identity, 'authenticate'>;
  readonly offers: Offers;
  readonly streams: EventStreams;
};

export function openAgent2Agent(parts: Parts): readonly Route[] {
  const { config, system, processServices, tasks, offers } = parts;
  const { defaultAgent, publicCards, legacy } = config.agent2agent;
  const agents = new ServedAgents({
    offers,
    index: system.index,
    own: localAgents(tasks.services.actions, packageJson.version),
    chat: (tenant) => {
      const names = agentNames(processServices, tenant);
      return { ids: names.agents.map(({ id }) => id), defaultId: names.defaultAgentId };
    },
    version: packageJson.version,
    home: DEFAULT_TENANT,
  });
  return agent2agentRoutes({
    ...parts,
    agents,
    signer: tasks.signer,
    sealer: tasks.sealer,
    publicUrl: tasks.publicUrl,
    issuers: config.a2a.issuers.map(({ issuer }) => issuer),
    log: processServices.log,
    maskSecrets: maskOf(processServices),
    home: DEFAULT_TENANT,
    authMode: config.gateway.auth.mode,
    publicCards,
    legacy,
    ...defined({ defaultAgent }),
  });
}
