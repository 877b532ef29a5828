/** Which devices a client may manage. Pure. */
import { TroupeError } from '../../../../protocols/errors.ts';
import type { Client } from '../../transport/connection.ts';

/**
 * Whether the client may manage the device without the admin scope. A client that authenticated
 * with the shared secret is not a device.
 */
export const isOwnOf = (client: Client, deviceId: string): boolean =>
  client.deviceId === undefined || client.deviceId === deviceId;

/** @throws TroupeError FORBIDDEN when the client is another device without the admin scope */
export const assertOwn = (client: Client | undefined, deviceId: string, what: string): void => {
  if (client === undefined || client.scopes.includes('operator.admin')) return;
  if (!isOwnOf(client, deviceId)) throw needsAdmin(what, 'of another device');
};

/** The error for `what`, which requires the admin scope. */
export const needsAdmin = (what: string, why: string): TroupeError =>
  new TroupeError('FORBIDDEN', `${what} denied: ${why} it needs the scope operator.admin`, {
    details: missingDetails('operator.admin'),
  });

export const missingDetails = (scope: string) => ({
  code: 'MISSING_SCOPE',
  missingScope: scope,
  requiredScopes: [scope],
});
