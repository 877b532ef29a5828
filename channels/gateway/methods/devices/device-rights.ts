/** Whose devices a client may manage (GW3). Pure. */
import { TroupeError } from '../../../../protocols/errors.ts';
import type { Client } from '../../transport/connection.ts';

/** May it manage devices beside itself? Who came by the shared secret is no device. */
export const isOwnOf = (client: Client, deviceId: string): boolean =>
  client.deviceId === undefined || client.deviceId === deviceId;

/** @throws TroupeError FORBIDDEN when the client is another device and no admin */
export const assertOwn = (client: Client | undefined, deviceId: string, what: string): void => {
  if (client === undefined || client.scopes.includes('operator.admin')) return;
  if (!isOwnOf(client, deviceId)) throw needsAdmin(what, 'of another device');
};

/** `what` is denied, unless an admin asks for it. */
export const needsAdmin = (what: string, why: string): TroupeError =>
  new TroupeError('FORBIDDEN', `${what} denied: ${why} it needs the scope operator.admin`, {
    details: missingDetails('operator.admin'),
  });

export const missingDetails = (scope: string) => ({
  code: 'MISSING_SCOPE',
  missingScope: scope,
  requiredScopes: [scope],
});
