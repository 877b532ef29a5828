/** Names and errors that the providers share. */
import { createHash } from 'node:crypto';
import type { Address } from '../../protocols/address.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { escapeToken } from '../../protocols/subjects.ts';

const READABLE_CHARACTERS_MAX = 100;
const HASH_CHARACTERS = 32;

/**
 * An actor's name as a folder name and a token of a blob's name: letters, digits, `_`, `-`, `.`, at
 * most 133 characters, never `.` or `..`. It starts with readable text; 128 bits of SHA-256
 * distinguish names that are too long, or that differ only in case on a file system that ignores
 * case.
 */
export const folderNameOf = (actor: Address): string => {
  const readable = blobToken(actor).slice(0, READABLE_CHARACTERS_MAX);
  return `${readable}.${nameHash(actor)}`;
};

/** 128 bits of SHA-256, hexadecimal. */
export const nameHash = (text: string): string =>
  createHash('sha256').update(text, 'utf8').digest('hex').slice(0, HASH_CHARACTERS);

/** Any text as one token of a blob's name: an escaped subject token holds no `.`, so it is free. */
export const blobToken = (text: string): string => escapeToken(text).replaceAll('%', '.');

/**
 * Runs the work. Errors of the file system or the store become UNAVAILABLE; a TroupeError is
 * rethrown, and after an abort the signal's reason is thrown.
 */
export const reaching = async <T>(
  what: string,
  work: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    if (error instanceof TroupeError) throw error;
    const { message } = error as Error;
    throw new TroupeError('UNAVAILABLE', `${what} cannot be reached: ${message}`, {
      cause: error,
    });
  }
};
