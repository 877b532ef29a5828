/** `gateway.auth` of a configuration, as the gateway takes it; secrets are revealed here. */
import type { GatewayAuth } from '../channels/index.ts';
import type { Config } from '../runtime/config/index.ts';

export function gatewayAuth({ gateway }: Config): GatewayAuth {
  const { token, password, trustedProxy, ...rest } = gateway.auth;
  return {
    ...rest,
    ...(token ? { token: token.reveal() } : {}),
    ...(password ? { password: password.reveal() } : {}),
    ...(trustedProxy ? { trustedProxy } : {}),
  };
}
