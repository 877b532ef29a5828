/** An erased row or entry must leave every file of the store, not only the answers of reads. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { type EmbeddedStore, openEmbeddedStore } from '../../../runtime/log/embedded-store.ts';

const CANARY = 'canary-of-the-erased-session';
const KEPT = 'canary-of-another-session';
let path: string;
beforeEach(() => void (path = mkdtempSync(join(tmpdir(), 'troupe-scrub-'))));
afterEach(() => rmSync(path, { recursive: true, force: true }));

const files = (folder: string): string[] =>
  readdirSync(folder).flatMap((name) => {
    const file = join(folder, name);
    return statSync(file).isDirectory() ? files(file) : [file];
  });
const filesWith = (text: string) => files(path).filter((file) => readFileSync(file).includes(text));

const bytes = (text: string) => Buffer.from(text.repeat(20));

async function fill(store: EmbeddedStore): Promise<void> {
  for (let i = 0; i < 200; i++) {
    await store.log.append('erased', bytes(`${CANARY}${i}`));
    await store.log.append('kept', bytes(`${KEPT}${i}`));
    await store.state.write([
      { shard: 1, table: 'actor', key: `erased${i}`, value: bytes(CANARY) },
      { shard: 1, table: 'actor', key: `kept${i}`, value: bytes(KEPT) },
    ]);
  }
}

async function remove({ log, state }: EmbeddedStore): Promise<void> {
  const last = await log.append('erased', Buffer.from('nothing'));
  if (last.kind !== 'stored') throw new Error('not stored');
  await log.trim('erased', last.position - 1);
  for (let i = 0; i < 200; i++)
    await state.write([{ shard: 1, table: 'actor', key: `erased${i}`, value: null }]);
}

test('what was trimmed and removed is in no file after a scrub, and the rest is whole', async () => {
  const store = await openEmbeddedStore({ path, durability: 'process' });
  await fill(store);
  await remove(store);
  expect(filesWith(CANARY)).not.toEqual([]);
  await store.scrub();
  expect(filesWith(CANARY)).toEqual([]);
  expect(await store.log.read('kept', 1)).toHaveLength(200);
  expect(store.state.range(1, 'actor')).toHaveLength(200);
  await store.close();
  const again = await openEmbeddedStore({ path, durability: 'process' });
  expect(again.cell).toBe(store.cell);
  expect(await again.log.read('kept', 1)).toHaveLength(200);
  expect(await again.log.last('erased')).toBe(201);
  await again.close();
});

test('appends and writes continue during scrubs, and nothing of them is lost', async () => {
  const store = await openEmbeddedStore({ path, durability: 'process' });
  await fill(store);
  let isDone = false;
  const scrubs = Promise.all([store.scrub(), store.scrub(), store.scrub()]).then(() => {
    isDone = true;
  });
  let appended = 0;
  while (!isDone) {
    await store.log.append('during', Buffer.from(`${appended}`));
    await store.state.write([
      { shard: 2, table: 'actor', key: `${appended}`, value: Buffer.from('x') },
    ]);
    appended++;
  }
  await scrubs;
  await store.close();
  const again = await openEmbeddedStore({ path, durability: 'process' });
  expect(await again.log.last('during')).toBe(appended);
  expect(again.state.count(2, 'actor')).toBe(appended);
  expect(readdirSync(path).filter((name) => name.startsWith('rewrite-'))).toEqual([]);
  await again.close();
});

// Bug: it read, and wrote, the data file of a store that was closed.
test('a scrub ends when the store is closed', async () => {
  for (let ticks = 0; ticks < 40; ticks++) {
    const store = await openEmbeddedStore({ path, durability: 'process' });
    await store.log.append('kept', bytes(KEPT));
    const ended = store.scrub().catch((error: unknown) => String(error));
    for (let tick = 0; tick < ticks; tick++) await new Promise((next) => setImmediate(next));
    await store.close();
    expect((await ended) ?? 'it is closed').toMatch(/is closed$/);
    expect(readdirSync(path).filter((name) => name.startsWith('rewrite-'))).toEqual([]);
  }
});

// Bug: the close waited ten seconds, the time limit, for the next row of a dump that is not read.
test('a close during a scrub does not wait for a dump that was left without its end', {
  timeout: 10_000,
}, async () => {
  const store = await openEmbeddedStore({ path, durability: 'process' });
  await fill(store);
  // So that the next dump has rows of the data file.
  await store.scrub();
  const left = store.state.dump(1)[Symbol.iterator]();
  left.next();
  const ended = store.scrub().catch((error: unknown) => String(error));
  await eventually(() =>
    expect(readdirSync(path).some((name) => name.startsWith('rewrite-'))).toBe(true),
  );
  await store.close();
  expect((await ended) ?? 'it is closed').toMatch(/is closed$/);
  const rest = () => {
    while (left.next().done !== true);
  };
  expect(rest).toThrow('the state is closed');
  const again = await openEmbeddedStore({ path, durability: 'process' });
  expect(again.state.count(1, 'actor')).toBe(400);
  await again.close();
});
