/** A fresh folder for one test, with stores on it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type EmbeddedStore,
  type EmbeddedStoreOptions,
  openEmbeddedStore,
} from '../../../runtime/log/embedded-store.ts';
import type { Durability } from '../../../runtime/log/wal-store.ts';
import type { LogUnderTest } from './contract.ts';

export const temporaryFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'troupe-store-'));

export const removeFolder = (path: string): Promise<void> =>
  rm(path, { recursive: true, force: true });

export type EmbeddedUnderTest = Omit<LogUnderTest, 'reopen'> & {
  readonly store: EmbeddedStore;
  readonly reopen: () => Promise<EmbeddedUnderTest>;
};

/** An embedded store in its own folder, as the contract suites want it. */
export const embeddedUnderTest = async (
  durability: Durability,
  options: Partial<EmbeddedStoreOptions> = {},
): Promise<EmbeddedUnderTest> => {
  const path = await temporaryFolder();
  const openAgain = async (): Promise<EmbeddedUnderTest> => {
    const store = await openEmbeddedStore({ path, durability, ...options });
    return {
      store,
      log: store.log,
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
