/**
 * Writes to the store of a folder as fast as it can, until it is killed: on each of SHARDS journals
 * a chain of appends, each with a mailbox entry alongside, and rows in State after it. Prints
 * `shard n` once append n of a shard is answered.
 */
import { writeSync } from 'node:fs';
import { openEmbeddedStore } from '../../../runtime/log/embedded-store.ts';

const [path = '', durability = 'process', shards = '4'] = process.argv.slice(2);
const store = await openEmbeddedStore({
  path,
  durability: durability === 'power' ? 'power' : 'process',
});

/** The rows of append n. */
const write = (shard: number, n: number, record: Uint8Array): Promise<void> =>
  store.state.write([
    { shard, table: 'meta', key: 'position', value: record.subarray(0, 4) },
    { shard, table: 'turn', key: `${n}`, value: record },
  ]);

/** The entries that a restart finds in the journal and not in State. */
const catchUp = async (shard: number): Promise<void> => {
  const position = store.state.get(shard, 'meta', 'position');
  const from = position === undefined ? 0 : Buffer.from(position).readUInt32LE(0);
  for (let next = from + 1; ; ) {
    const entries = await store.log.read(`jrn.test.${shard}`, next);
    for (const entry of entries) await write(shard, entry.position, entry.bytes);
    if (entries.length === 0) return;
    next = entries.at(-1)!.position + 1;
  }
};

const append = async (shard: number): Promise<never> => {
  const journal = `jrn.test.${shard}`;
  await catchUp(shard);
  for (let n = (await store.log.last(journal)) + 1; ; n++) {
    const record = Buffer.alloc(100 + ((n * 37) % 4000), n & 0xff);
    record.writeUInt32LE(n, 0);
    const answer = await store.log.append(journal, record, {
      expectedLast: n - 1,
      alongside: {
        entries: [{ subject: `mbx.test.${shard}.data`, bytes: record }],
      },
    });
    if (answer.kind !== 'stored' || answer.position !== n)
      throw new Error(`shard ${shard}: lost ${n}`);
    await write(shard, n, record);
    writeSync(1, `${shard} ${n}\n`);
  }
};

await Promise.all(Array.from({ length: Number(shards) }, (_, shard) => append(shard)));
