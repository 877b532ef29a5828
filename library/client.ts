/**
 * `import ... from 'troupe/client'`: clients of a running installation, for browsers and Node. The
 * gateway client holds a WebSocket; the envelope client sends signed requests over HTTP.
 *
 * Boundary: nothing here imports a module of Node. client-node.ts is the variant for Node.
 */
export { connectParams, type Introduction } from '../client/connect-params.ts';
export { type DeviceKey, deviceProof } from '../client/device-proof.ts';
export {
  type Backoff,
  type ClientState,
  type GatewayClientOptions,
} from '../client/gateway-client.ts';
export { GatewayClient } from './gateway-client.ts';
export type { ClientSocket } from '../client/gateway-connection.ts';
export type { RequestOptions } from '../client/gateway-request.ts';
export { type ErrorCode, type ErrorData, TroupeError } from '../protocols/errors.ts';
export {
  type CallOptions,
  canonical,
  type ClientOptions,
  type Payload,
  type SigningKey,
  TroupeClient,
  TroupeRefusal,
} from '../protocols/sdk/typescript/client.ts';
export type { Envelope, Task, TaskEvent } from '../protocols/sdk/typescript/types.ts';
