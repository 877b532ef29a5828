/**
 * A real gateway on a free port for the tests of the command line. The test itself is the model of
 * its sessions, so that it controls when an answer continues.
 */
import { onTestFinished } from 'vitest';
import type { Gateway } from '../../channels/index.ts';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { connectOperator, type OperatorOptions } from '../../client/operator-client.ts';
import { gatewayOn, TOKEN } from '../channels/gateway/client.ts';
import { FakeCell, FakeSessionSystem } from '../channels/gateway/fake-session-system.ts';
import { reservePort } from '../servers/reserve-port.ts';

export { TOKEN };

export type Running = {
  readonly gateway: Gateway;
  readonly system: FakeSessionSystem;
  /** `ws://127.0.0.1:port` */
  readonly url: string;
};

/** `cell` is what survives a restart; `port` is that of the previous gateway, default a new one. */
export async function runGateway(
  options: { cell?: FakeCell; echo?: boolean; port?: number } = {},
): Promise<Running> {
  const { cell = new FakeCell(), echo = false, port = await reservePort() } = options;
  const system = new FakeSessionSystem(cell, { echo });
  const gateway = await gatewayOn(system, { port });
  onTestFinished(() => gateway.close());
  return { gateway, system, url: `ws://127.0.0.1:${gateway.port}` };
}

/** A client with short delays between retries. */
export async function clientOf(
  url: string,
  options: Partial<OperatorOptions> = {},
): Promise<GatewayClient> {
  const client = await connectOperator({
    url,
    token: TOKEN,
    backoffMs: { first: 5, most: 20 },
    ...options,
  });
  onTestFinished(() => client.close());
  return client;
}
