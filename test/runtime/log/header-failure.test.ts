/**
 * LMDB that cannot write its header refuses every read until it is opened again; a range is empty
 * for lmdb-js then. The store opens it again by itself: no read is empty, and nothing is lost.
 */
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DATA_FILE, openEmbeddedStore } from '../../../runtime/log/embedded-store.ts';
import { fillHeader } from './full-header.ts';
import { removeFolder, temporaryFolder } from './store.ts';

const NEVER = { checkpointEveryMs: 3_600_000, checkpointBytes: 2 ** 30 };
const key = (n: number) => `k${n}`;

const openStore = async (path: string, alarms: string[] = []) => {
  const store = await openEmbeddedStore({
    path,
    durability: 'process',
    ...NEVER,
    onAlarm: (what) => alarms.push(what),
  });
  onTestFinished(() => store.close());
  return {
    ...store,
    /** One entry and one row. */
    async change(n: number): Promise<void> {
      await store.log.append('s', Buffer.from(`entry ${n}`));
      await store.state.write([{ shard: 0, table: 't', key: key(n), value: Buffer.from([n]) }]);
    },
    /** The same, then a checkpoint with an answer. */
    async checkpoint(n: number): Promise<void> {
      await this.change(n);
      await store.scrub();
    },
    async seen() {
      const entries = await store.log.read('s', 1);
      return {
        entries: entries.map(({ bytes }) => Buffer.from(bytes).toString()),
        rows: store.state.range(0, 't').map((row) => row.value[0]),
        row: store.state.get(0, 't', key(1))?.[0],
        count: store.state.count(0, 't'),
        dump: [...store.state.dump(0)].length,
        subjects: [...store.subjects('s')].filter((name) => name === 's'),
      };
    },
  };
};

const all = (count: number) => {
  const numbers = Array.from({ length: count }, (_, i) => i + 1);
  return {
    entries: numbers.map((n) => `entry ${n}`),
    rows: numbers,
    row: 1,
    count,
    dump: count,
    subjects: ['s'],
  };
};

describe.skipIf(process.platform !== 'linux')(
  'a header of the data file that cannot be written',
  () => {
    test('is refused, every read sees all that was stored, and the next checkpoint succeeds', async () => {
      const path = await temporaryFolder();
      onTestFinished(() => removeFolder(path));
      const alarms: string[] = [];
      const store = await openStore(path, alarms);
      for (const n of [1, 2, 3]) await store.checkpoint(n);
      fillHeader(path);
      await store.change(4);
      let isOver = false;
      const answered = store
        .scrub()
        .then(
          () => 'written',
          (error: unknown) => (error as { code: string }).code,
        )
        .finally(() => (isOver = true));
      // These reads are before the commit, during it and after it.
      do {
        expect(await store.seen()).toEqual(all(4));
        await new Promise(setImmediate);
      } while (!isOver);
      expect(await answered).toBe('UNAVAILABLE');
      expect(await store.seen()).toEqual(all(4));
      await store.checkpoint(5);
      expect(await store.seen()).toEqual(all(5));
      expect(alarms).toEqual([
        expect.stringContaining('cannot be written: Error: No space left'),
        'the data file can be written again',
      ]);
      await store.close();
      const again = await openStore(path);
      expect(await again.seen()).toEqual(all(5));
    });

    // Bug: lmdb-js gave the transaction of the dump to the look for a panic, so LMDB was not opened
    // again, and did not answer the next commit.
    test('ends a dump that is under way, and the next checkpoint succeeds', async () => {
      const path = await temporaryFolder();
      onTestFinished(() => removeFolder(path));
      const store = await openStore(path);
      for (const n of [1, 2, 3]) await store.checkpoint(n);
      const dump = store.state.dump(0)[Symbol.iterator]();
      dump.next();
      fillHeader(path);
      await expect(store.checkpoint(4)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      expect(() => dump.next()).toThrow('read them again');
      await store.checkpoint(5);
      expect(await store.seen()).toEqual(all(5));
    });

    test('costs nothing that a kill right after it would lose', async () => {
      const path = await temporaryFolder();
      onTestFinished(() => removeFolder(path));
      const store = await openStore(path);
      await store.checkpoint(1);
      fillHeader(path);
      await expect(store.checkpoint(2)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      fillHeader(path);
      // The last checkpoint of the program fails, too.
      await store.close();
      const again = await openStore(path);
      // Rows of State are there again when the journal is folded.
      expect((await again.seen()).entries).toEqual(['entry 1', 'entry 2']);
    });

    test('ends the store with an alarm when the file is another one then', async () => {
      const path = await temporaryFolder();
      onTestFinished(() => removeFolder(path));
      const alarms: string[] = [];
      const store = await openStore(path, alarms);
      await store.checkpoint(1);
      fillHeader(path);
      renameSync(join(path, DATA_FILE), join(path, 'moved.mdb'));
      await expect(store.checkpoint(2)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      const broken = { code: 'UNAVAILABLE', details: { reason: 'STORE_BROKEN' } };
      await expect(store.log.read('s', 1)).rejects.toMatchObject(broken);
      await expect(store.log.append('s', Buffer.from('more'))).rejects.toMatchObject(broken);
      expect(() => store.state.get(0, 't', key(1))).toThrow('start the program again');
      expect(alarms[0]).toMatch(
        /^the store failed and must be restarted .* could not be opened again/,
      );
    });
  },
);
