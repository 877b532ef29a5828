/** The identity of an installation: its own issuer and token, and those of its configuration. */
import { DEFAULT_TENANT } from '../../../protocols/address.ts';
import { type KeyRow, KEYS_INDEX } from '../../../protocols/security/keyring.ts';
import type { Config } from '../../../runtime/config/index.ts';
import { type System, systemClock } from '../../../runtime/index.ts';
import { tenancyOf } from '../../tenancy.ts';
import type { Identity } from '../edge.ts';
import { createIdentity } from './create-identity.ts';
import { localIssuer } from './local-issuer.ts';

/** @throws TroupeError INVALID_ARGUMENT as tenancyOf */
export function configuredIdentity(
  config: Config,
  { index }: Pick<System, 'index'>,
  warn: (what: string) => void,
): Identity {
  const { a2a, gateway, home } = config;
  const { mode, token, password } = gateway.auth;
  const tenancy = tenancyOf(config);
  const secret = mode === 'token' ? token : mode === 'password' ? password : undefined;
  return createIdentity({
    issuers: [localIssuer(home), ...a2a.issuers],
    resource: a2a.resource,
    tenant: DEFAULT_TENANT,
    gatewayToken: secret?.reveal(),
    tenantOfToken: (shown) => tenancy.ofToken(shown),
    open: mode === 'none',
    keys: (tenant, kid) => index.get<KeyRow>(KEYS_INDEX, tenant, kid),
    clock: systemClock,
    warn,
  });
}
