/** Damages one row of a closed store, and repairs it again. */
import { type Database, open } from 'lmdb';
import { decodeNumber, entryKey, subjectKey } from '../../../runtime/log/entry-row.ts';
import { stateKey } from '../../../runtime/state/row.ts';

const binary = { encoding: 'binary', keyEncoding: 'binary' } as const;

/** Inverts the last byte of the first value from a key on; a second call repairs it. */
async function flip(
  path: string,
  table: 'log' | 'state',
  keyOf: (meta: Database<Buffer, Buffer>) => Uint8Array,
): Promise<void> {
  const root = open<Buffer, Buffer>({ path, noSubdir: false, maxDbs: 8, ...binary });
  const meta = root.openDB<Buffer, Buffer>({ name: 'meta', ...binary });
  const rows = root.openDB<Buffer, Buffer>({ name: table, ...binary });
  const [key] = rows.getKeys({ start: keyOf(meta) as Buffer, limit: 1 });
  const value = key && rows.get(key);
  if (!value) throw new Error(`there is no such row in ${table}`);
  const damaged = Buffer.from(value);
  damaged[damaged.length - 1]! ^= 0xff;
  await rows.put(key, damaged);
  await root.close();
}

export const flipEntry = (path: string, subject: string, position: number): Promise<void> =>
  flip(path, 'log', (meta) => {
    const number = meta.get(subjectKey(subject) as Buffer);
    if (!number) throw new Error(`there is no subject ${subject}`);
    return entryKey(decodeNumber(number), position);
  });

/** @param key of the row, or its prefix */
export const flipRow = (path: string, shard: number, table: string, key: string): Promise<void> =>
  flip(path, 'state', () => stateKey(shard, table, key));
