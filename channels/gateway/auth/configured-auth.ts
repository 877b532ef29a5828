/** Maps `gateway.auth` of a configuration to the gateway's options; secrets are revealed here. */
import { defined } from '../../../protocols/defined.ts';
import type { GatewayAuth } from '../../index.ts';
import type { Config } from '../../../runtime/config/index.ts';

/** Tailscale forwards from this machine and identifies the client. */
const TAILSCALE = ['127.0.0.1', '::1'];

export function gatewayAuth({ gateway }: Config): GatewayAuth {
  const { token, password, ...rest } = gateway.auth;
  const trustedProxy = proxyOf(gateway);
  return {
    ...rest,
    ...(token ? { token: token.reveal() } : {}),
    ...(password ? { password: password.reveal() } : {}),
    ...defined({ trustedProxy }),
  };
}

/**
 * Where Tailscale publishes the gateway, the forwarded addresses distinguish clients. Not in mode
 * `trusted-proxy`: there a proxy also identifies users, which Tailscale does not.
 */
function proxyOf({ auth, tailscale }: Config['gateway']): GatewayAuth['trustedProxy'] {
  const { mode, trustedProxy } = auth;
  if (tailscale.mode === 'off' || mode === 'trusted-proxy') return trustedProxy;
  return { ...trustedProxy, proxies: [...(trustedProxy?.proxies ?? []), ...TAILSCALE] };
}
