/** Opens the NATS entry point of a cluster gateway. */
import type { Edge } from '../channels/edge/edge.ts';
import type { NatsEntryPoint } from '../channels/nats/entry-point.ts';
import type { Config } from '../runtime/config/index.ts';
import { type Pubsub, type System, systemClock } from '../runtime/index.ts';
import { BearerGuesses, createAuthFailures } from '../channels/gateway/auth/bearer-guesses.ts';
import { AddressList } from '../channels/gateway/auth/client-address.ts';
import type { ProcessServices } from './process-services.ts';
import { liveOutstanding, liveRateLimit } from './live-limits.ts';
import { gatewayAuth } from '../channels/gateway/auth/configured-auth.ts';
import { tenancyOf } from '../channels/tenancy.ts';

/** What a process of a cluster has in addition to the parts of every process. */
export type ClusterBroker = {
  readonly pubsub: Pubsub;
  /** this process among `system.nodes()` */
  readonly node: string;
  /** of the cell */
  readonly shards: number;
};

export async function openNatsEntryPoint(
  config: Config,
  {
    system,
    processServices,
    edge,
  }: { system: System; processServices: ProcessServices; edge: Edge },
  { pubsub, node }: ClusterBroker,
): Promise<NatsEntryPoint> {
  const { startNatsEntryPoint } = await import('../channels/nats/entry-point.ts');
  const { live } = processServices;
  const auth = { ...gatewayAuth(config), rateLimit: liveRateLimit(live) };
  const secrets = { auth, tenancy: tenancyOf(config) };
  const failures = createAuthFailures(secrets, systemClock);
  return startNatsEntryPoint({
    guesses: new BearerGuesses({ ...secrets, failures, proxies: new AddressList() }),
    edge,
    system,
    pubsub,
    node,
    env: config.nats.env,
    outstanding: liveOutstanding(live),
    clock: systemClock,
    log: processServices.log,
  });
}
