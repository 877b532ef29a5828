/** Opens the ports of a cluster node and loads the NATS client only then. */
import type { NatsPorts, OpenNatsOptions } from './nats-ports.ts';

/**
 * Waits for the server, for JetStream and for an import that is in progress. Only `signal` ends the
 * wait.
 * @throws TroupeError when the server, its streams or the credentials cannot be used
 */
export async function openNats(options: OpenNatsOptions): Promise<NatsPorts> {
  const { openNatsPorts } = await import('./nats-ports.ts');
  return openNatsPorts(options);
}
