/**
 * Writes to a state cache as fast as possible until it is killed: write n stores a separate row and
 * a row that contains n. Prints n after each acknowledged write. Prints `full` when a write is
 * refused; then it continues when a line arrives on standard input, and ends after 20 more writes.
 */
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { openStateCache } from '../../../runtime/state/lmdb-cache.ts';

const [path = '', bytesMax = '4000'] = process.argv.slice(2);
const cache = await openStateCache({ path, cell: 'cell' });
const said = cache.get(0, 'meta', 'n');
let n = said === undefined ? 0 : Buffer.from(said).readUInt32LE(0);

const write = async (): Promise<void> => {
  const value = Buffer.alloc(100 + (((n + 1) * 37) % Number(bytesMax)), (n + 1) & 0xff);
  value.writeUInt32LE(n + 1, 0);
  await cache.write([
    { shard: 0, table: 'row', key: `${n + 1}`, value },
    { shard: 0, table: 'meta', key: 'n', value: value.subarray(0, 4) },
  ]);
  n += 1;
};

for (;;) {
  try {
    await write();
    writeSync(1, `${n}\n`);
  } catch (error) {
    writeSync(1, `full ${(error as { code: string }).code} ${cache.count(0, 'row')} ${n}\n`);
    await once(process.stdin, 'data');
    for (const end = n + 20; n < end; ) {
      await write().catch(() => new Promise((resolve) => setTimeout(resolve, 50)));
    }
    writeSync(1, `again ${cache.count(0, 'row')} ${n}\n`);
    await cache.close();
    process.exit(0);
  }
  await new Promise((resolve) => setImmediate(resolve));
}
