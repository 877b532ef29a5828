/** What an operator's client says in its hello, unless it says something else. */
import { hostname, platform } from 'node:os';
import type { ConnectParams, PROTOCOL_VERSION } from '../../protocols/gateway/index.ts';

/** Compared by the compiler only: importing the value would load every schema. */
const protocolVersion: typeof PROTOCOL_VERSION = 4;

/** Who connects, and by which secret. */
export type Introduction = {
  readonly token?: string;
  readonly password?: string;
  /** instead of a token or password; counts only with the signature of its device */
  readonly deviceToken?: string;
  /** how the client calls itself; default id `cli`, mode `cli` */
  readonly client?: Partial<ConnectParams['client']>;
  /** default all that this client can show: tool events */
  readonly caps?: readonly string[];
};

export function connectParams(options: Introduction): ConnectParams {
  const { client, caps, token, password, deviceToken } = options;
  return {
    minProtocol: protocolVersion,
    maxProtocol: protocolVersion,
    client: {
      id: 'cli',
      version: '0.0.0',
      platform: platform(),
      mode: 'cli',
      displayName: hostname(),
      ...client,
    },
    role: 'operator',
    caps: [...(caps ?? ['tool-events'])],
    auth: {
      ...(token && { token }),
      ...(password && { password }),
      ...(deviceToken && { deviceToken }),
    },
  };
}
