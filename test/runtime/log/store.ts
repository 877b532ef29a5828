/** A fresh folder for one test, with stores on it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Durability, type LmdbStore, openLmdbStore } from '../../../runtime/log/lmdb.ts';
import type { LogUnderTest } from './contract.ts';

export const temporaryFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'troupe-store-'));

export const removeFolder = (path: string): Promise<void> =>
  rm(path, { recursive: true, force: true });

/** An LMDB store in its own folder, as the contract suites want it. */
export const lmdbUnderTest = async (
  durability: Durability,
): Promise<LogUnderTest & { store: LmdbStore }> => {
  const path = await temporaryFolder();
  const openAgain = async (): Promise<LogUnderTest & { store: LmdbStore }> => {
    const store = await openLmdbStore({ path, durability });
    return {
      store,
      log: store.log,
      state: store.state,
      async reopen() {
        await store.close();
        return openAgain();
      },
      async dispose() {
        await store.close();
        await removeFolder(path);
      },
    };
  };
  return openAgain();
};
