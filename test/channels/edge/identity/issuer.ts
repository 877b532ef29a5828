/**
 * Issuers of tokens for tests: real keys, a real JWKS server on loopback, a clock of the test's
 * own.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import { expect, onTestFinished } from 'vitest';
import {
  createIdentity,
  type IdentityOptions,
} from '../../../../channels/edge/identity/create-identity.ts';
import type { Clock } from '../../../../runtime/index.ts';

export const NOW = Date.parse('2026-01-01T00:00:00Z');
export const RESOURCE = 'urn:troupe:a2a';

export type TestClock = Clock & { wind(ms: number): void };
export const clockAt = (start = NOW): TestClock => {
  let now = start;
  return {
    wallMs: () => now,
    monotonicMs: () => now,
    after: () => () => {},
    wind: (ms) => void (now += ms),
  };
};

export type Issuer = {
  readonly publicJwk: JWK;
  /** a token with valid claims except the given ones; undefined removes a claim */
  token(claims?: JWTPayload, header?: Record<string, unknown>): Promise<string>;
};

export async function issuerWith(alg: string, kid: string, issuer = 'https://id.test') {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const made: Issuer = {
    publicJwk: { ...(await exportJWK(publicKey)), kid, alg },
    token: (claims = {}, header = {}) =>
      new SignJWT({
        iss: issuer,
        sub: 'ann',
        aud: RESOURCE,
        exp: NOW / 1_000 + 3_600,
        tenant: 'default',
        roles: ['writer', 'reader'],
        ...claims,
      })
        .setProtectedHeader({ alg, kid, ...header })
        .sign(privateKey),
  };
  return made;
}

export type JwksServer = {
  readonly url: string;
  /** the document that the server sends */
  keys: readonly JWK[];
  /** the status of its answers */
  status: number;
  /** requests so far */
  asked: number;
};

export async function serveJwks(...keys: readonly JWK[]): Promise<JwksServer> {
  const served: JwksServer = { url: '', keys, status: 200, asked: 0 };
  const server = createServer((_, response) => {
    served.asked += 1;
    response.writeHead(served.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ keys: served.keys }));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return Object.assign(served, { url: `http://127.0.0.1:${port}/jwks` });
}

/** An identity of the tenant `default` that accepts only the given issuers. */
export const identityOf = (options: Partial<IdentityOptions> = {}) =>
  createIdentity({
    issuers: [],
    resource: RESOURCE,
    tenant: 'default',
    keys: () => undefined,
    clock: clockAt(),
    ...options,
  });
export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
export const refusal = (what: RegExp) => ({
  code: 'UNAUTHORIZED',
  message: expect.stringMatching(what),
});
