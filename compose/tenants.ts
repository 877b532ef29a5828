/** The tenants of a configuration, in the form that entry points use. */
import { Tenancy } from '../channels/tenancy.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { Config } from '../runtime/config/index.ts';

/** @throws TroupeError INVALID_ARGUMENT when two tenants have the same name or token */
export function tenancyOf({ tenants, gateway }: Pick<Config, 'tenants' | 'gateway'>): Tenancy {
  const { token, password } = gateway.auth;
  const entries = Object.entries(tenants).map(([tenant, entry]) => ({
    tenant,
    tokens: entry.token === undefined ? [] : [entry.token.reveal()],
    principals: entry.principals,
    channelAccounts: entry.channelAccounts,
  }));
  const tenancy = new Tenancy(entries);
  for (const own of [token, password]) {
    const taken = own && tenancy.ofToken(own.reveal());
    if (taken)
      throw new TroupeError(
        'INVALID_ARGUMENT',
        `tenants.${taken}.token is the secret of the gateway itself: use a separate one for the tenant`,
      );
  }
  return tenancy;
}
