/**
 * Pending erasures: those that a restored data folder has to repeat, because its backup is older.
 * They are applied at its first start, before an entry point opens.
 */
import { existsSync } from 'node:fs';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  erasureAddress,
  erasureKey,
  ERASURES_INDEX,
  type ErasureRow,
  type ErasureTarget,
  SCRUBBING,
} from '../../protocols/erasure.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { SYSTEM_PRINCIPAL } from '../../protocols/security/principals.ts';
import { askOrThrow, type System } from '../../runtime/index.ts';
import { type LedgerEntry, ledgerFile, noteErasure, pendingFile, readLedger } from './ledger.ts';

const SURVEY_MS = 600_000;
const POLL_MS = 100;
const LEDGER = 'erasures.jsonl';

/** Where the ledger is copied beside backups. */
export const ledgerBeside = (backups: string): string => join(backups, LEDGER);

/** Puts a copy of the ledger beside the backups; without a ledger there is nothing to copy. */
export async function copyLedger(home: string, backups: string): Promise<void> {
  if (existsSync(ledgerFile(home))) await copyFile(ledgerFile(home), ledgerBeside(backups));
}

/**
 * Notes in a restored folder the erasures that were requested since its backup was begun.
 * @returns how many
 */
export async function notePending(
  into: string,
  ledgers: readonly string[],
  since: number,
): Promise<number> {
  const newest = new Map<string, LedgerEntry>();
  for (const file of ledgers)
    for (const entry of await readLedger(file))
      if (entry.at >= since) newest.set(`${entry.tenant}/${erasureKey(entry)}`, entry);
  for (const entry of newest.values()) await noteErasure(pendingFile(into), entry);
  return newest.size;
}

/**
 * Repeats the pending erasures. @throws TroupeError when one of them cannot be done: do not serve
 */
export async function applyPending(
  system: Pick<System, 'ask' | 'index'>,
  home: string,
): Promise<void> {
  const pending = await readLedger(pendingFile(home));
  for (const entry of pending) await apply(system, entry);
  if (pending.length > 0) await rm(pendingFile(home), { force: true });
}

async function apply(
  system: Pick<System, 'ask' | 'index'>,
  { tenant, kind, id, who }: LedgerEntry,
): Promise<void> {
  const target = { tenant, kind, id };
  if (!(await hasBegun(system, target, who))) return;
  for (const deadline = Date.now() + SURVEY_MS; Date.now() < deadline; await sleep(POLL_MS)) {
    const row = system.index.get<ErasureRow>(ERASURES_INDEX, tenant, erasureKey(target));
    if (row?.state === 'done') return;
  }
  throw new TroupeError(
    'DEADLINE_EXCEEDED',
    `the erasure of ${kind} ${id}, which this backup is older than, has not ended`,
  );
}

/** Requests the erasure; false when the backup has nothing of it. */
async function hasBegun(
  system: Pick<System, 'ask'>,
  target: ErasureTarget,
  who: string,
): Promise<boolean> {
  const { kind, id } = target;
  for (const deadline = Date.now() + SURVEY_MS; ; await sleep(POLL_MS))
    try {
      const request = { type: 'erasure.request', kind, id, who };
      await askOrThrow(system, erasureAddress(target), request, {
        principal: SYSTEM_PRINCIPAL,
        timeoutMs: SURVEY_MS,
        timedOut: `the erasure of ${kind} ${id}, which this backup is older than, has not begun`,
      });
      return true;
    } catch (error) {
      const { code, details } = errorData(error);
      if (code === 'NOT_FOUND') return false;
      // The backup was made while the same target was erased.
      if (details?.['reason'] !== SCRUBBING || Date.now() > deadline) throw error;
    }
}
