/**
 * Ledger: the erasures of a data folder, one JSON line each: target and time, no content. It is not
 * part of a backup, so that a restore can apply what was erased after the backup was made.
 */
import { appendFile, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ERASURE_KINDS, type ErasureTarget } from '../../protocols/erasure.ts';
import { TroupeError } from '../../protocols/errors.ts';

export type LedgerEntry = ErasureTarget & { readonly at: number; readonly who: string };

export const ledgerFile = (home: string): string => join(home, 'erasures.jsonl');
/** Of a restored folder: what its next start has to erase before it accepts clients. */
export const pendingFile = (home: string): string => join(home, 'erasures-pending.jsonl');

/** On the disk when it resolves. The same entry twice is no error. */
export async function noteErasure(file: string, entry: LedgerEntry): Promise<void> {
  const { tenant, kind, id, at, who } = entry;
  const line = `${JSON.stringify({ tenant, kind, id, at, who })}\n`;
  if ((await readFile(file, 'utf8').catch(() => '')).includes(line)) return;
  await appendFile(file, line, { mode: 0o600 });
  const handle = await open(file, 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** [] without a file. @throws TroupeError INVALID_ARGUMENT for a line that cannot be read */
export async function readLedger(file: string): Promise<readonly LedgerEntry[]> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line, at) => entryOf(line, `${file}, line ${at + 1}`));
}

function entryOf(line: string, place: string): LedgerEntry {
  let entry: Partial<LedgerEntry> | null = null;
  try {
    entry = JSON.parse(line) as Partial<LedgerEntry> | null;
  } catch {
    // reported below
  }
  const { tenant, kind, id, at, who } = entry ?? {};
  if (
    typeof tenant === 'string' &&
    ERASURE_KINDS.some((each) => each === kind) &&
    typeof id === 'string' &&
    typeof at === 'number' &&
    typeof who === 'string'
  )
    return { tenant, kind: kind!, id, at, who };
  throw new TroupeError('INVALID_ARGUMENT', `${place} is no entry of a ledger of erasures`);
}
