/**
 * Canonical JSON (RFC 8785) and the detached signature over it (RFC 7515, appendix F). Uses only
 * WebCrypto.
 */

/**
 * Canonical JSON (RFC 8785). JavaScript formats numbers and texts as it requires; keys are sorted
 * by UTF-16 units.
 *
 * @example
 * ```ts
 * import { canonical } from 'troupe/client';
 *
 * assert.equal(canonical({ b: 1, a: [true] }), '{"a":[true],"b":1}');
 * ```
 */
export const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${canonical(field)}`).join(',')}}`;
};

/** The fields of a JSON Web Key (RFC 8037) that a signature needs. */
export type PrivateJwk = {
  readonly kty?: string;
  readonly crv?: string;
  readonly x?: string;
  readonly d?: string;
};

/** An Ed25519 private key, or a function that signs with one (a key service). */
export type SigningKey = { readonly kid: string } & (
  | { readonly jwk: PrivateJwk }
  | { readonly sign: (data: Uint8Array<ArrayBuffer>) => Promise<Uint8Array> }
);

/** Signs the JSON texts of envelopes: returns the value of the header `x-jws-signature`. */
export const signerOf = (key: SigningKey): ((text: string) => Promise<string>) => {
  let imported: Promise<CryptoKey> | undefined;
  const sign = async (data: Uint8Array<ArrayBuffer>): Promise<Uint8Array> => {
    if ('sign' in key) return key.sign(data);
    imported ??= privateKeyOf(key.jwk);
    return new Uint8Array(await crypto.subtle.sign('Ed25519', await imported, data));
  };
  return async (text) => {
    const head = base64url(bytesOf(JSON.stringify({ alg: 'EdDSA', kid: key.kid })));
    // Signs the JSON text that is sent, so dates and omitted fields match what the server receives.
    const body = base64url(bytesOf(canonical(JSON.parse(text))));
    return `${head}..${base64url(await sign(bytesOf(`${head}.${body}`)))}`;
  };
};

/** Imports only the key itself; runtimes disagree on the names of its usages. */
const privateKeyOf = ({ kty, crv, x, d }: PrivateJwk): Promise<CryptoKey> => {
  const jwk = { kty, crv, x, d } as JsonWebKey;
  return crypto.subtle.importKey('jwk', jwk, { name: 'Ed25519' }, false, ['sign']);
};

const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

const base64url = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
