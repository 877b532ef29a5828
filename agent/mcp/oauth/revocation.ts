/** Revocation of tokens (RFC 7009). */
import type { GuardedFetch } from '../../net/guarded-fetch.ts';
import type { StoredLogin } from './login-store.ts';

type Supported = {
  readonly revocation_endpoint?: string;
  readonly revocation_endpoint_auth_methods_supported?: string[];
  readonly token_endpoint_auth_methods_supported?: string[];
};

/** Whether the authorization server has revoked the tokens; false when it has no such endpoint. */
export async function revoke(
  { tokens, metadata, client }: StoredLogin,
  fetch: GuardedFetch,
): Promise<boolean> {
  const { revocation_endpoint: endpoint, ...supported } = (metadata ?? {}) as Supported;
  if (typeof endpoint !== 'string' || !tokens) return false;
  const { selectClientAuthMethod } = await import('@modelcontextprotocol/client');
  const own = supported.revocation_endpoint_auth_methods_supported;
  const methods = own ?? supported.token_endpoint_auth_methods_supported ?? [];
  const method = selectClientAuthMethod(client, methods);
  const { client_id: id, client_secret: secret = '' } = client;
  const { refresh_token: refreshToken, access_token: accessToken } = tokens;
  // Servers end the access tokens of a refresh token with it (section 2.1).
  const body = new URLSearchParams({ token: refreshToken ?? accessToken });
  if (method !== 'client_secret_basic') body.set('client_id', id);
  if (method === 'client_secret_post') body.set('client_secret', secret);
  const basic = Buffer.from(`${id}:${secret}`).toString('base64');
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    ...(method === 'client_secret_basic' && { authorization: `Basic ${basic}` }),
  };
  try {
    const response = await fetch(endpoint, { method: 'POST', headers, body: body.toString() });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
