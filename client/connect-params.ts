/** The parameters of an operator client's `connect` request. */
import type { ConnectParams, PROTOCOL_VERSION } from '../protocols/gateway/index.ts';

/** Only the compiler compares them: importing the value would load every schema. */
const protocolVersion: typeof PROTOCOL_VERSION = 4;

/** The first fields of every `connect` request of this client. */
export const PROTOCOL = { minProtocol: protocolVersion, maxProtocol: protocolVersion } as const;

/** The identity and the secret of a client. */
export type Introduction = {
  readonly token?: string;
  readonly password?: string;
  /** instead of a token or password; valid only with the signature of its device */
  readonly deviceToken?: string;
  /** the client's id and mode; default id `cli`, mode `cli` */
  readonly client?: Partial<ConnectParams['client']>;
  /** default: everything that this client can show, which is tool events */
  readonly caps?: readonly string[];
};

/**
 * The parameters of an operator's connect: `introduce` of a GatewayClient returns them.
 *
 * @example
 * ```ts
 * import { connectParams } from 'troupe/client';
 *
 * assert.equal(connectParams({ token: 'secret' }).role, 'operator');
 * ```
 */
export function connectParams(options: Introduction): ConnectParams {
  const { client, caps, token, password, deviceToken } = options;
  return {
    ...PROTOCOL,
    client: { id: 'cli', version: '0.0.0', platform: 'unknown', mode: 'cli', ...client },
    role: 'operator',
    caps: [...(caps ?? ['tool-events'])],
    auth: {
      ...(token && { token }),
      ...(password && { password }),
      ...(deviceToken && { deviceToken }),
    },
  };
}
