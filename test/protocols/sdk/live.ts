/** A whole installation on a local port, for programs that use the SDKs. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { issueToken, newSigningKey } from '../../../channels/edge/identity/local-issuer.ts';
import { startTroupe } from '../../../main.ts';
import { type Ed25519PrivateJwk, kidOf } from '../../../protocols/security/signature.ts';
import { ensureToken, loadConfig } from '../../../runtime/config/index.ts';

export type Live = {
  /** as http://127.0.0.1:12345 */
  readonly url: string;
  readonly port: number;
  /** tenant: default `conformance`, whose actions the SDKs try; roles: default `writer` */
  token(
    sub: string,
    options?: { external?: boolean; roles?: readonly string[]; tenant?: string },
  ): Promise<string>;
  /** A key that `sub` signs with from now on. */
  key(sub: string): Promise<{ kid: string; jwk: Ed25519PrivateJwk }>;
  stop(): Promise<void>;
};

export async function startLive(): Promise<Live> {
  const home = mkdtempSync(join(tmpdir(), 'troupe-sdk-'));
  const loaded = loadConfig({ env: {}, home, flags: { data: home, port: '0' } });
  const config = ensureToken(loaded.config);
  const troupe = await startTroupe({ ...config, log: { ...config.log, level: 'error' } });
  const url = new URL(troupe.url).origin;
  const operator = config.gateway.auth.token!.reveal();
  return {
    url,
    port: Number(new URL(url).port),
    token: (sub, { external = false, roles = ['writer'], tenant = 'conformance' } = {}) =>
      issueToken(
        config.home,
        {
          sub,
          tenant,
          roles,
          resource: config.a2a.resource,
          ttlSec: 600,
          external,
        },
        Date.now(),
      ),
    key: async (sub) => {
      const jwk = newSigningKey();
      const { kty, crv, x } = jwk;
      const answer = await fetch(`${url}/v1/keys`, {
        method: 'POST',
        headers: { authorization: `Bearer ${operator}`, 'content-type': 'application/json' },
        body: JSON.stringify({ tenant: 'conformance', sub, public_jwk: { kty, crv, x } }),
      });
      if (answer.status !== 201) throw new Error(await answer.text());
      return { kid: kidOf(jwk), jwk };
    },
    stop: async () => {
      await troupe.stop();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
