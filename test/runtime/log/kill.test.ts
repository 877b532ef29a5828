/** kill -9 during writes: no acknowledged append is lost, and no write is stored partially. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EmbeddedStore, openEmbeddedStore } from '../../../runtime/log/embedded-store.ts';
import { eventually } from '../eventually.ts';
import { bundle, type Program } from './child.ts';
import { removeFolder, temporaryFolder } from './store.ts';

const ROUNDS = Number(process.env['TROUPE_KILL_ROUNDS'] ?? 30);
const SHARDS = 4;

let program: Program;
beforeAll(async () => {
  program = await bundle(join(import.meta.dirname, 'writer.program.ts'));
});
afterAll(() => program.remove());

/**
 * Checks every append of the shard with its additional entries; the rows of State belong to an
 * earlier append. Returns the last append.
 */
const audit = async (store: EmbeddedStore, shard: number): Promise<number> => {
  const last = await store.log.last(`jrn.test.${shard}`);
  const [journal, mail] = await Promise.all(
    [`jrn.test.${shard}`, `mbx.test.${shard}.data`].map((subject) =>
      store.log.read(subject, 1, { limit: last + 10, bytesMax: Number.MAX_SAFE_INTEGER }),
    ),
  );
  const numbers = (entries: typeof journal) =>
    entries!.map(({ bytes }) => Buffer.from(bytes).readUInt32LE(0));
  const wanted = Array.from({ length: last }, (_, i) => i + 1);
  expect(numbers(journal)).toEqual(wanted);
  expect(numbers(mail)).toEqual(wanted);
  const stored = store.state.get(shard, 'meta', 'position');
  const position = stored === undefined ? 0 : Buffer.from(stored).readUInt32LE(0);
  expect(position).toBeLessThanOrEqual(last);
  expect(store.state.count(shard, 'turn')).toBe(position);
  return last;
};

describe.each(['process', 'power'] as const)('a store at durability %s', (durability) => {
  const rounds = durability === 'process' ? ROUNDS : Math.ceil(ROUNDS / 6);
  it(`keeps every acknowledged append with its additional entries, and no partial one, over ${rounds} kills`, async () => {
    const path = await temporaryFolder();
    let written = 0;
    for (let round = 0; round < rounds; round++) {
      const child = program.start([path, durability, `${SHARDS}`]);
      const wanted = 1 + Math.floor(Math.random() * 200);
      await eventually(() => expect(child.lines().length).toBeGreaterThanOrEqual(wanted));
      child.process.kill('SIGKILL');
      expect(await child.ended).toBe('SIGKILL');
      const store = await openEmbeddedStore({ path, durability });
      for (let shard = 0; shard < SHARDS; shard++) {
        const last = await audit(store, shard);
        written += last;
        const answered = child.lines().filter((line) => line.startsWith(`${shard} `));
        const lastAnswered = Number(answered.at(-1)?.split(' ')[1] ?? 0);
        expect(last).toBeGreaterThanOrEqual(lastAnswered);
      }
      await store.close();
    }
    expect(written).toBeGreaterThan(rounds);
    await removeFolder(path);
  }, 300_000);
});
