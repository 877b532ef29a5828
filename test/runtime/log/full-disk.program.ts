/**
 * Appends until the disk is full, prints that, and continues when a line arrives on standard input.
 * Exits with 0 if every append was either acknowledged and is readable, or rejected and is absent.
 * With a second argument `close` it closes the store when the disk is full.
 */
import { once } from 'node:events';
import { TroupeError } from '../../../protocols/errors.ts';
import { openEmbeddedStore } from '../../../runtime/log/embedded-store.ts';

const store = await openEmbeddedStore({ path: process.argv[2] ?? '', durability: 'process' });
const answered: number[] = [];
let rejected = 0;
let next = 0;

const append = async (): Promise<void> => {
  const n = next++;
  const bytes = Buffer.alloc(20_000, n & 0xff);
  bytes.writeUInt32LE(n, 0);
  try {
    await store.log.append('s', bytes);
    await store.state.write([{ shard: 0, table: 'turn', key: `${n}`, value: bytes }]);
    answered.push(n);
  } catch (error) {
    const { code, details } = error as TroupeError;
    if (!(error instanceof TroupeError) || code !== 'UNAVAILABLE') throw error;
    if (details?.['reason'] !== 'STORE_WRITE_FAILED') throw error;
    rejected += 1;
  }
};

while (rejected < 5) await Promise.all([append(), append(), append()]);
const before = answered.length;
console.log(`full ${before}`);
if (process.argv[3] === 'close') {
  await store.close();
  process.exit(0);
}
await once(process.stdin, 'data');
for (let i = 0; i < 20; i++) await append();

const entries = await store.log.read('s', 1, { limit: 100_000, bytesMax: Number.MAX_SAFE_INTEGER });
const read = entries.map(({ bytes }) => Buffer.from(bytes).readUInt32LE(0));
if (JSON.stringify(read) !== JSON.stringify(answered))
  throw new Error('the stored entries differ from the acknowledged ones');
if (store.state.count(0, 'turn') !== answered.length)
  throw new Error('rows are missing or too many');
if (answered.length !== before + 20) throw new Error('did not continue when there was space again');
await store.close();
console.log('done');
process.exit(0);
