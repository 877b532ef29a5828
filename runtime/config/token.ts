/**
 * The gateway's token when the configuration names none: made once at random and kept in the data
 * folder, so that the URL stays the same over restarts.
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { makeFolder } from '../make-folder.ts';
import type { Config } from './schema/schema.ts';
import { Secret } from './secret.ts';

/** Bytes of randomness in a token that is made here. */
const tokenBytes = 32;

/** Where the token of a data folder is kept; only its owner can read it. */
export const tokenFile = (home: string): string => join(home, 'token');

/** The kept token, undefined when there is none yet. */
export function readToken(home: string): string | undefined {
  try {
    return readFileSync(tokenFile(home), 'utf8').trim() || undefined;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw new TroupeError('UNAVAILABLE', `the file ${tokenFile(home)} cannot be read`, {
      cause: error,
    });
  }
}

/**
 * The same configuration with a token in it, made and kept when the mode is `token` and none is
 * known. Two processes that start at once end with the same token.
 * @throws TroupeError INVALID_ARGUMENT when the data folder cannot be made; UNAVAILABLE when it
 * cannot
 *   be written
 */
export function ensureToken(config: Config): Config {
  const { auth } = config.gateway;
  if (auth.mode !== 'token' || auth.token) return config;
  const token = new Secret(keepToken(config.home));
  return { ...config, gateway: { ...config.gateway, auth: { ...auth, token } } };
}

function keepToken(home: string): string {
  makeFolder(home);
  const draft = join(home, `token.${process.pid}.new`);
  try {
    writeFileSync(draft, `${randomBytes(tokenBytes).toString('base64url')}\n`, { mode: 0o600 });
    chmodSync(draft, 0o600);
    try {
      // A link is made whole or not at all, and never over one that is there.
      linkSync(draft, tokenFile(home));
    } finally {
      rmSync(draft, { force: true });
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
      throw new TroupeError('UNAVAILABLE', `cannot write a token into the data folder ${home}`, {
        cause: error,
      });
    }
  }
  const kept = readToken(home);
  if (!kept)
    throw new TroupeError('UNAVAILABLE', `the file ${tokenFile(home)} is empty: remove it`);
  return kept;
}

const isMissing = (error: unknown) =>
  ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
