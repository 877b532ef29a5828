/** Which tenant a caller's operation concerns: one rule for the gateway's WebSocket and MCP. */
import { address } from '../protocols/address.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { Operation } from './operation.ts';

/**
 * @param named the tenant that the request names; default the caller's own
 * @throws TroupeError FORBIDDEN when the caller's tenant may not; INVALID_ARGUMENT for an invalid
 *   name
 */
export const tenantOfOperation = (
  { scope }: Pick<Operation, 'scope'>,
  { tenant: own, isHome }: { readonly tenant: string; readonly isHome: boolean },
  named = own,
): string => {
  // Validates the tenant's name.
  address(named, 'tenant', 'any');
  if (isHome || (scope === 'tenant' && named === own)) return named;
  throw new TroupeError(
    'FORBIDDEN',
    scope === 'tenant'
      ? `clients of the tenant ${own} reach no other tenant`
      : `installation-wide: clients of the tenant ${own} may not use it`,
  );
};
