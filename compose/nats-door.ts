/** The door for other programs over NATS, of a gateway of a cluster. */
import type { Edge } from '../channels/edge/edge.ts';
import type { NatsDoor } from '../channels/nats/door.ts';
import type { Config } from '../runtime/config/index.ts';
import { type Pubsub, type System, systemClock } from '../runtime/index.ts';
import { BearerGuesses, failuresOf } from '../channels/gateway/auth/bearer-guesses.ts';
import { AddressList } from '../channels/gateway/auth/client-address.ts';
import type { ProcessServices } from './process-services.ts';
import { gatewayAuth } from './gateway-auth.ts';
import { tenancyOf } from './tenants.ts';

/** What a process of a cluster has beside what every process has. */
export type ClusterDoor = {
  readonly pubsub: Pubsub;
  /** this process among `system.nodes()` */
  readonly node: string;
};

export async function openNatsDoor(
  config: Config,
  {
    system,
    processServices,
    edge,
  }: { system: System; processServices: ProcessServices; edge: Edge },
  { pubsub, node }: ClusterDoor,
): Promise<NatsDoor> {
  const { startNatsDoor } = await import('../channels/nats/door.ts');
  const secrets = { auth: gatewayAuth(config), tenancy: tenancyOf(config) };
  const failures = failuresOf(secrets, systemClock);
  return startNatsDoor({
    guesses: new BearerGuesses({ ...secrets, failures, proxies: new AddressList() }),
    edge,
    system,
    pubsub,
    node,
    env: config.nats.env,
    outstanding: config.a2a.outstanding,
    clock: systemClock,
    log: processServices.log,
  });
}
