/**
 * Writes a file that is complete or absent after a crash. Once the write is answered, the file
 * survives power loss.
 */
import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Marks files that were being written when the process died. */
export const TEMPORARY_PREFIX = '~';

/**
 * Writes a draft, flushes it, renames it over the target, and flushes the folder. Replaces an
 * existing file.
 * @param bytes all bytes, or parts that are written in sequence
 * @param drafts folder on the same file system for the draft
 */
export const writeFileDurably = async (
  path: string,
  bytes: Uint8Array | Generator<Uint8Array>,
  drafts: string = dirname(path),
): Promise<void> => {
  const folder = dirname(path);
  const temporary = `${drafts}/${TEMPORARY_PREFIX}${randomBytes(12).toString('hex')}`;
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      // Each part continues where the previous one ended.
      for (const part of bytes instanceof Uint8Array ? [bytes] : bytes) await file.writeFile(part);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(folder);
};

/** Makes names in the folder durable. Windows has no such call and does it automatically. */
export const syncFolder = async (folder: string): Promise<void> => {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};
