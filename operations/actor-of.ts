/** The actor that a request names. */
import { type Address, isAddress, parseAddress } from '../protocols/address.ts';
import { TroupeError } from '../protocols/errors.ts';

/**
 * The address that a request names. @throws TroupeError INVALID_ARGUMENT, NOT_FOUND for an actor of
 * another tenant
 */
export function actorOf(tenant: string, text: string): Address {
  if (!isAddress(text))
    throw new TroupeError('INVALID_ARGUMENT', `${text} is not an address: write tenant/type/key`);
  if (parseAddress(text).tenant === tenant) return text;
  throw new TroupeError(
    'NOT_FOUND',
    `actor ${text} is not of the tenant ${tenant}: name its tenant`,
  );
}
