/** GatewayClient as programs import it: with the WebSocket of the platform. */
import { GatewayClient as Client, type GatewayClientOptions } from '../client/gateway-client.ts';
import type { ClientSocket } from '../client/gateway-connection.ts';
import { TroupeError } from '../protocols/errors.ts';

/**
 * A client of the gateway over one WebSocket, which reconnects after a loss. Subscribe to events
 * first; then call `connect`. On Node it uses the package `ws`, elsewhere the platform's WebSocket.
 *
 * @throws TroupeError INVALID_ARGUMENT where the platform has no WebSocket and `openSocket` is
 * absent
 * @example
 * ```ts
 * import { startTroupe } from 'troupe/agents';
 * import { connectParams, GatewayClient } from 'troupe/client';
 *
 * const troupe = await startTroupe({
 *   data: 'data',
 *   port: 0,
 *   settings: { log: { level: 'warn' } },
 * });
 * const token = troupe.token!;
 * const client = new GatewayClient({
 *   url: troupe.url.replace('http', 'ws'),
 *   introduce: () => connectParams({ token }),
 * });
 * client.connect();
 * await client.ready();
 * assert.equal(client.state.kind, 'open');
 * client.close();
 * await troupe.stop();
 * ```
 */
export class GatewayClient extends Client {
  constructor(options: GatewayClientOptions) {
    if (options.openSocket === undefined && typeof WebSocket === 'undefined')
      throw new TroupeError(
        'INVALID_ARGUMENT',
        'this platform has no WebSocket: pass one as openSocket, such as that of the package ws',
      );
    super({ openSocket: platformSocket, ...options });
  }
}

const platformSocket = (url: string): ClientSocket => new WebSocket(url);
