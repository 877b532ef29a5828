/**
 * The gateway client of a program that runs in Node: WebSockets of `ws`, which Node 20 lacks, and
 * an operator's introduction with the name of this machine. The rest of this folder also runs in
 * browsers.
 */
import { hostname, platform } from 'node:os';
import { WebSocket } from 'ws';
import { connectParams, type Introduction } from './connect-params.ts';
import { type DeviceKey, deviceProof } from './device-proof.ts';
import { GatewayClient, type GatewayClientOptions } from './gateway-client.ts';
import type { ClientSocket } from './gateway-connection.ts';

export type OperatorOptions = Introduction &
  Omit<GatewayClientOptions, 'introduce'> & {
    /** the device whose key the client proves; default none */
    readonly identity?: DeviceKey;
  };

const FRAME_BYTES_MAX = 64 * 1024 * 1024;

export const openSocket = (url: string): ClientSocket =>
  new WebSocket(url, { maxPayload: FRAME_BYTES_MAX, perMessageDeflate: false });

/** Not connected yet, so that callers can subscribe to events before the first handshake. */
export function operatorClient(options: OperatorOptions): GatewayClient {
  const { identity } = options;
  const machine = { platform: platform(), displayName: hostname() };
  const params = connectParams({ ...options, client: { ...machine, ...options.client } });
  return new GatewayClient({
    openSocket,
    ...options,
    introduce: async (challenge) =>
      identity ? { ...params, device: await deviceProof(identity, params, challenge) } : params,
  });
}

/**
 * Resolves after the first handshake.
 * @throws TroupeError UNAVAILABLE (`details.connection`) when no gateway responds, UNAUTHORIZED
 *   when the gateway refuses, or another error of the gateway
 */
export async function connectOperator(options: OperatorOptions): Promise<GatewayClient> {
  const client = operatorClient(options);
  client.connect();
  await client.ready();
  return client;
}
