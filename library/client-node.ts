/**
 * `troupe/client` as Node imports it (the condition `node` in package.json): the same, but that a
 * GatewayClient has WebSockets of `ws`, which every version of Node can use.
 */
import type { GatewayClientOptions } from '../client/gateway-client.ts';
import { openSocket } from '../client/operator-client.ts';
import { GatewayClient as Client } from './gateway-client.ts';

export * from './client.ts';

export class GatewayClient extends Client {
  constructor(options: GatewayClientOptions) {
    super({ openSocket, ...options });
  }
}
