/**
 * Key files: private keys of an installation (JWK, one or a set) in its data folder, created at the
 * first use and readable by their owner only.
 *
 * Invariant: a file is complete or absent, and is never replaced: processes that start at the same
 * time end with the same key.
 */
import { join } from 'node:path';
import { TroupeError } from '../../../protocols/errors.ts';
import { readSecretFile, writeSecretFile } from '../../../runtime/config/index.ts';

export type AnyJwk = Readonly<Record<string, unknown>>;

/** What an installation signs tokens with (`troupe token`). */
export const issuerKeyFile = (home: string): string => join(home, 'a2a', 'issuer.jwk');
/** What payloads are sealed to, unless the configuration names another file. */
export const sealingKeyFile = (home: string): string => join(home, 'a2a', 'sealing.jwk');
/**
 * What envelopes to agents outside are signed with, unless the configuration names another file.
 */
export const signingKeyFile = (home: string): string => join(home, 'a2a', 'signing.jwk');

/** The keys in a text that is a JWK or a JWKS. @throws TroupeError INVALID_ARGUMENT */
export function jwksIn(text: string, where: string): readonly AnyJwk[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // said below; the parser's own words could show a piece of a private key
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

/** The keys of the file, which is made with a new one when there is none. @throws as readKeyFile */
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

/** A new file. @throws TroupeError CONFLICT when there is one of that name, UNAVAILABLE */
export async function writeKeyFile(path: string, key: AnyJwk): Promise<void> {
  let made: boolean;
  try {
    made = await writeSecretFile(path, JSON.stringify(key));
  } catch (cause) {
    if (cause instanceof TroupeError) throw cause;
    throw new TroupeError('UNAVAILABLE', `cannot write the key file ${path}`, { cause });
  }
  if (!made) throw new TroupeError('CONFLICT', `the file ${path} is there already`);
}
