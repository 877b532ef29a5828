/**
 * Writes to the store of a folder as fast as it can, until it is killed: on each of SHARDS journals
 * a chain of appends, each with a mailbox entry and rows alongside. Prints `shard n` once append n
 * of a shard is answered.
 */
import { writeSync } from 'node:fs';
import { openLmdbStore } from '../../../runtime/log/lmdb.ts';

const [path = '', durability = 'process', shards = '4'] = process.argv.slice(2);
const store = await openLmdbStore({
  path,
  durability: durability === 'power' ? 'power' : 'process',
});

const write = async (shard: number): Promise<never> => {
  const journal = `jrn.test.${shard}`;
  for (let n = (await store.log.last(journal)) + 1; ; n++) {
    const record = Buffer.alloc(100 + ((n * 37) % 4000), n & 0xff);
    record.writeUInt32LE(n, 0);
    const answer = await store.log.append(journal, record, {
      expectedLast: n - 1,
      alongside: {
        entries: [{ subject: `mbx.test.${shard}.data`, bytes: record }],
        puts: [
          { shard, table: 'meta', key: 'position', value: record.subarray(0, 4) },
          { shard, table: 'turn', key: `${n}`, value: record },
        ],
      },
    });
    if (answer.kind !== 'stored' || answer.position !== n)
      throw new Error(`shard ${shard}: lost ${n}`);
    writeSync(1, `${shard} ${n}\n`);
  }
};

await Promise.all(Array.from({ length: Number(shards) }, (_, shard) => write(shard)));
