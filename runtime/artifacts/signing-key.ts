/**
 * The key that signs the URLs of a folder of artifacts: made once at random and kept in the folder,
 * so that every process on the folder, and the same one after a restart, knows the others' URLs.
 */
import { randomBytes } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { syncFolder } from '../blobs/durable-file.ts';

const KEY_BYTES = 32;
const FILE = 'signing-key';

/**
 * The key of the folder, which must be there. Processes that start at once end with the same one.
 * @throws TroupeError UNAVAILABLE when it can not be read or written, or is damaged
 */
export async function keepSigningKey(folder: string): Promise<Buffer> {
  const path = join(folder, FILE);
  try {
    const text = (await read(path)) ?? (await make(folder, path));
    const key = Buffer.from(text.trim(), 'hex');
    if (key.length === KEY_BYTES) return key;
  } catch (cause) {
    throw unusable(path, 'can not be read or written', cause);
  }
  throw unusable(path, 'is no key; remove it, and URLs that were signed before are void');
}

async function make(folder: string, path: string): Promise<string> {
  const draft = `${path}.${randomBytes(8).toString('hex')}`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(`${randomBytes(KEY_BYTES).toString('hex')}\n`);
    await file.sync();
    // A link is made whole or not at all, and never over one that is there.
    await link(draft, path);
    await syncFolder(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await file.close();
    await rm(draft, { force: true });
  }
  return readFile(path, 'utf8');
}

async function read(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

const unusable = (path: string, why: string, cause?: unknown) =>
  new TroupeError('UNAVAILABLE', `the key of the artifacts' URLs, ${path}, ${why}`, { cause });
