/**
 * The key that signs the URLs of a folder of artifacts. It is created at random once and stored in
 * the folder, so that every process on the folder accepts the URLs of the others, also after a
 * restart.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { readSecretFile, writeSecretFile } from '../secrets/secret-file.ts';

const KEY_BYTES = 32;

export const urlKeyFile = (folder: string): string => join(folder, 'signing-key');
export const newUrlKey = (): string => randomBytes(KEY_BYTES).toString('hex');

/**
 * The key of the folder, which must exist. Processes that start concurrently get the same key.
 * @throws TroupeError UNAVAILABLE when it cannot be read or written, or is damaged
 */
export async function keepSigningKey(folder: string): Promise<Buffer> {
  const path = urlKeyFile(folder);
  try {
    let text = await readSecretFile(path);
    if (text === undefined) {
      await writeSecretFile(path, newUrlKey());
      text = (await readSecretFile(path)) ?? '';
    }
    const key = Buffer.from(text.trim(), 'hex');
    if (key.length === KEY_BYTES) return key;
  } catch (cause) {
    throw unusable(path, 'cannot be read or written', cause);
  }
  throw unusable(path, 'is not a key: remove it; all signed URLs become invalid');
}

const unusable = (path: string, why: string, cause?: unknown) =>
  new TroupeError('UNAVAILABLE', `the key of the artifacts' URLs, ${path}, ${why}`, { cause });
