/**
 * Connects with the secret alone, or as a device if the gateway requires one
 * (`gateway.auth.deviceIdentity`). The device's key is stored in the data folder, beside the token.
 * It is created when a gateway requires it for the first time.
 */
import type { GatewayClient } from '../../client/gateway-client.ts';
import {
  connectOperator,
  operatorClient,
  type OperatorOptions,
} from '../../client/operator-client.ts';
import type { TroupeError } from '../../protocols/errors.ts';
import { Identity } from './device-identity.ts';

/** @throws TroupeError as connectOperator does */
export async function connectAsRequired(
  gateway: OperatorOptions,
  home: string,
): Promise<GatewayClient> {
  const known = Identity.ifIn(home);
  if (known?.knows(gateway.url) !== true) {
    return connectOperator(gateway).catch((error: unknown) => {
      if (codeOf(error) !== 'DEVICE_IDENTITY_REQUIRED') throw error;
      return connectAs(Identity.in(home), gateway);
    });
  }
  return connectAs(known, gateway).catch((refused: unknown) => {
    if (codeOf(refused) !== 'PAIRING_REQUIRED') throw refused;
    // The device was removed. The gateway may no longer require one.
    return connectOperator(gateway).catch((error: unknown) => {
      throw codeOf(error) === 'DEVICE_IDENTITY_REQUIRED' ? refused : error;
    });
  });
}

async function connectAs(identity: Identity, gateway: OperatorOptions): Promise<GatewayClient> {
  const { url, token, password } = gateway;
  const own = token === undefined && password === undefined ? identity.tokenFor(url) : undefined;
  const deviceToken = own === undefined ? {} : { deviceToken: own };
  const client = operatorClient({ ...gateway, ...deviceToken, identity });
  client.watch((state) => {
    if (state.kind !== 'open') return;
    identity.keepToken(url, state.hello.auth.deviceToken ?? identity.tokenFor(url));
  });
  client.connect();
  try {
    await client.ready();
  } catch (error) {
    if (codeOf(error) === 'AUTH_DEVICE_TOKEN_MISMATCH') identity.keepToken(url, undefined);
    throw error;
  }
  return client;
}

/** The specific error code of a refused handshake. */
const codeOf = (error: unknown): unknown => (error as Partial<TroupeError>).details?.['code'];
