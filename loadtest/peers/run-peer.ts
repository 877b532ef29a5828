/**
 * Systems whose unit of work is a run of an agent, to be measured on the same machine: troupe, and
 * OpenClaw where it is installed in a folder that the user names.
 *
 * The work: a message to a session of an agent, the call of a model, and the answer, from the
 * request `agent` over the gateway's WebSocket to its final response. 8 sessions at once, each with
 * the same number of runs, so that the transcripts that models read have the same length.
 *
 * What is equal for both: one client, which speaks version 4 of the gateway's protocol, on one
 * connection; one scripted model on loopback, in the process of the client, without a latency and
 * with 20 tokens; the same message; the gateway is a process of its own, with its own storage,
 * tools and system prompt as after an installation. Each driver says how this is configured.
 */
import { randomBytes } from 'node:crypto';
import { connectParams } from '../../client/connect-params.ts';
import { GatewayClient } from '../../client/gateway-client.ts';
import { openSocket } from '../../client/operator-client.ts';
import type { PeerPlace } from './peer.ts';

/** A running gateway. */
export type RunPeer = {
  /** `ws://127.0.0.1:port` */
  readonly url: string;
  readonly token: string;
  /** process id of the gateway */
  readonly pid: number;
  readonly stop: () => Promise<void>;
};

export type RunPeerDriver = {
  readonly name: string;
  /** one sentence: what happens to a run when the gateway is killed in the middle */
  readonly guarantee: string;
  /**
   * @param place with the address of the model, which ends in `/v1`
   * @throws TroupeError NOT_FOUND when a package is missing, or this Node is too old for it
   */
  readonly start: (place: PeerPlace & { readonly modelUrl: string }) => Promise<RunPeer>;
};

/** Sessions at once. */
export const SESSIONS = 8;
export const MESSAGE = 'Say hello.';

export const newToken = (): string => randomBytes(24).toString('base64url');

/** As a program on this machine with the gateway's token. @throws TroupeError as `ready` */
export async function connectTo({ url, token }: RunPeer): Promise<GatewayClient> {
  const client = { id: 'gateway-client', mode: 'backend', platform: 'linux' } as const;
  const params = {
    ...connectParams({ token, client, caps: [] }),
    scopes: ['operator.read', 'operator.write', 'operator.admin'],
  };
  const gateway = new GatewayClient({ url, openSocket, introduce: () => params, reconnect: false });
  gateway.connect();
  await gateway.ready();
  return gateway;
}
