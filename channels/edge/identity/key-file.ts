/**
 * Private keys of an installation (JWK, one or a set) as files in its data folder. They are created
 * at the first use and readable only by their owner.
 *
 * Invariant: a file is complete or absent, and is never replaced. Processes that start at the same
 * time use the same key.
 */
import { join } from 'node:path';
import { TroupeError } from '../../../protocols/errors.ts';
import { readSecretFile, writeSecretFile } from '../../../runtime/config/index.ts';

export type AnyJwk = Readonly<Record<string, unknown>>;

/** Signs tokens (`troupe token`). */
export const issuerKeyFile = (home: string): string => join(home, 'a2a', 'issuer.jwk');
/** Decrypts sealed payloads, unless the configuration names another file. */
export const sealingKeyFile = (home: string): string => join(home, 'a2a', 'sealing.jwk');
/** Signs envelopes to external agents, unless the configuration names another file. */
export const signingKeyFile = (home: string): string => join(home, 'a2a', 'signing.jwk');

/** Parses a JWK or a JWKS. @throws TroupeError INVALID_ARGUMENT */
export function jwksIn(text: string, where: string): readonly AnyJwk[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // refused below; the parser's own message could contain a part of a private key
  }
  const { keys = [value] } = (value ?? {}) as { keys?: unknown };
  if (Array.isArray(keys) && keys.length > 0 && keys.every(isJwk)) return keys;
  throw new TroupeError('INVALID_ARGUMENT', `${where} holds no key: it must be a JWK or a JWKS`);
}

const isJwk = (value: unknown): value is AnyJwk =>
  typeof value === 'object' && value !== null && typeof (value as AnyJwk)['kty'] === 'string';

/** @throws TroupeError NOT_FOUND, UNAVAILABLE, INVALID_ARGUMENT */
export async function readKeyFile(path: string): Promise<readonly AnyJwk[]> {
  let text: string | undefined;
  try {
    text = await readSecretFile(path);
  } catch (cause) {
    throw new TroupeError('UNAVAILABLE', `the key file ${path} cannot be read`, { cause });
  }
  if (text === undefined) throw new TroupeError('NOT_FOUND', `there is no key file ${path}`);
  return jwksIn(text, path);
}

/** The keys of the file; creates it with a new key if it does not exist. @throws as readKeyFile */
export async function keepKeyFile(
  path: string,
  newKey: () => Promise<AnyJwk>,
): Promise<readonly AnyJwk[]> {
  try {
    return await readKeyFile(path);
  } catch (error) {
    if (!(error instanceof TroupeError) || error.code !== 'NOT_FOUND') throw error;
  }
  try {
    await writeKeyFile(path, await newKey());
  } catch (error) {
    if (!(error instanceof TroupeError) || error.code !== 'CONFLICT') throw error;
  }
  return readKeyFile(path);
}

/** Creates a file. @throws TroupeError CONFLICT when it exists, UNAVAILABLE */
export async function writeKeyFile(path: string, key: AnyJwk): Promise<void> {
  let made: boolean;
  try {
    made = await writeSecretFile(path, JSON.stringify(key));
  } catch (cause) {
    if (cause instanceof TroupeError) throw cause;
    throw new TroupeError('UNAVAILABLE', `cannot write the key file ${path}`, { cause });
  }
  if (!made) throw new TroupeError('CONFLICT', `the file ${path} already exists`);
}
