/**
 * Secret files: small texts such as keys, readable by their owner only.
 *
 * Invariant: a file is complete or absent, and is never replaced: processes that write one at the
 * same time end with the same text.
 */
import { randomBytes } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from '../blobs/durable-file.ts';
import { makeFolder } from '../make-folder.ts';

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;

/** undefined when there is none. @throws the error of the operating system */
export async function readSecretFile(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Makes the file, and its folder; false when there is one already, which stays.
 * @throws the error of the operating system
 */
export async function writeSecretFile(path: string, text: string): Promise<boolean> {
  makeFolder(dirname(path));
  const draft = `${path}.${randomBytes(8).toString('hex')}.new`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(`${text}\n`);
    await file.sync();
    // A link is created completely or not at all, and never over an existing one.
    await link(draft, path);
    await syncFolder(dirname(path));
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await file.close();
    await rm(draft, { force: true });
  }
}
