/**
 * The public keys of one issuer of tokens, from a file or a URL (JWKS, or one JWK).
 *
 * A file may be created later and may change: it is checked at most once a second. A URL is fetched
 * when a key is missing, at the earliest 30 s after the last success, and again after 10 minutes. A
 * failed fetch is not repeated for 5 s, whatever tokens arrive.
 *
 * Invariant: `epoch` rises with every change of the keys, so that no verification with a removed
 * key remains valid.
 */
import { readFileSync, statSync } from 'node:fs';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from 'jose';
import { TroupeError } from '../../../protocols/errors.ts';
import type { Clock } from '../../../runtime/index.ts';
import { type AnyJwk, jwksIn } from './key-file.ts';

export type KeySource = {
  /** Finds the key of a token. @throws TroupeError UNAVAILABLE, or an error of jose */
  readonly keyOf: JWTVerifyGetKey;
  epoch(): number;
};

type SourceOptions = {
  /** path of a file, or an http(s) URL */
  readonly jwks: string;
  readonly clock: Clock;
  /** receives warnings for operators: a file cannot be read */
  readonly warn: (what: string) => void;
};

const LOOK_MS = 1_000;
const FETCH_TIMEOUT_MS = 5_000;
const COOLDOWN_MS = 30_000;
const KEYS_AGE_MS = 600_000;
const QUIET_MS = 5_000;

/** @throws TroupeError INVALID_ARGUMENT for an invalid URL */
export function openKeySource(options: SourceOptions): KeySource {
  const { jwks } = options;
  if (!/^https?:\/\//i.test(jwks)) return fileSource(options);
  if (URL.canParse(jwks)) return urlSource(options);
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `the key source of an issuer is neither a file nor a valid URL: ${jwks}`,
  );
}

function fileSource({ jwks: path, clock, warn }: SourceOptions): KeySource {
  let lookedAt = -Infinity;
  let stamp = '';
  let epoch = 0;
  let keys = createLocalJWKSet({ keys: [] });
  const look = (): void => {
    const now = clock.monotonicMs();
    if (now - lookedAt < LOOK_MS) return;
    lookedAt = now;
    const found = stampOf(path);
    if (found === stamp) return;
    try {
      keys = createLocalJWKSet({ keys: found === '' ? [] : publicKeys(path) });
      epoch += 1;
    } catch (error) {
      // The last valid keys stay in use, because the file may be half written. Logged once per
      // change of the file.
      warn(
        `the keys of an issuer are not reloaded, the previous ones stay in use: ${(error as Error).message}`,
      );
    }
    stamp = found;
  };
  return {
    keyOf: (header, token) => (look(), keys(header, token)),
    epoch: () => (look(), epoch),
  };
}

/** A fingerprint that changes with the file; empty when there is no file. */
function stampOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats ? `${stats.ino}:${stats.size}:${stats.mtimeMs}:${stats.ctimeMs}` : '';
}

/** Drops the private parts, which a file of `troupe token` contains. */
const publicKeys = (path: string): JSONWebKeySet['keys'] =>
  jwksIn(readFileSync(path, 'utf8'), path)
    .filter(({ kty }) => kty !== 'oct')
    .map((jwk) => publicPartOf(jwk) as JSONWebKeySet['keys'][number]);

const PUBLIC = ['kty', 'crv', 'x', 'y', 'n', 'e', 'kid', 'use', 'alg', 'key_ops'];
/** The public members of a JWK. */
export const publicPartOf = (jwk: AnyJwk): AnyJwk =>
  Object.fromEntries(Object.entries(jwk).filter(([name]) => PUBLIC.includes(name)));

function urlSource({ jwks: url, clock }: SourceOptions): KeySource {
  const remote = createRemoteJWKSet(new URL(url), {
    timeoutDuration: FETCH_TIMEOUT_MS,
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: KEYS_AGE_MS,
  });
  let quietUntil = -Infinity;
  let epoch = 0;
  let known = '';
  const noteChange = (): void => {
    const text = JSON.stringify(remote.jwks() ?? null);
    if (text !== known) epoch += 1;
    known = text;
  };
  const keyOf: JWTVerifyGetKey = async (header, token) => {
    if (clock.monotonicMs() < quietUntil) return kept(header, token);
    try {
      return await remote(header, token);
    } catch (error) {
      if (isOfToken(error)) throw error;
      quietUntil = clock.monotonicMs() + QUIET_MS;
      return await kept(header, token);
    } finally {
      noteChange();
    }
  };
  /** While the URL does not answer, the cached keys are used until they are too old. */
  const kept: JWTVerifyGetKey = async (header, token) => {
    const set = remote.fresh ? remote.jwks() : undefined;
    if (!set) throw unavailable(url);
    try {
      return await createLocalJWKSet(set)(header, token);
    } catch (error) {
      // The key may be a new one that could not be fetched.
      throw error instanceof errors.JWKSNoMatchingKey ? unavailable(url) : error;
    }
  };
  return { keyOf, epoch: () => epoch };
}

/** None of the keys matches the token, or several do. */
const isOfToken = (error: unknown): boolean =>
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWKSMultipleMatchingKeys ||
  error instanceof errors.JOSENotSupported;

const unavailable = (url: string) =>
  new TroupeError(
    'UNAVAILABLE',
    `the keys of the token's issuer cannot be fetched from ${url} now: try again later`,
    {
      retryAfterMs: QUIET_MS,
    },
  );
