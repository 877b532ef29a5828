/**
 * A damaged store is refused with its path and a remedy. It never ends the process, and its content
 * is never guessed.
 */
import { randomBytes } from 'node:crypto';
import { copyFile, open, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TroupeError } from '../../../protocols/errors.ts';
import {
  DATA_FILE,
  type EmbeddedStore,
  openEmbeddedStore,
  STORE_FILE,
} from '../../../runtime/log/embedded-store.ts';
import { removeFolder, temporaryFolder } from './store.ts';

let path: string;
let data: string;
const marker = Buffer.from('a text that occurs only once in the file');

beforeEach(async () => {
  path = await temporaryFolder();
  data = join(path, DATA_FILE);
  const store = await openEmbeddedStore({ path, durability: 'power' });
  await Promise.all(
    Array.from({ length: 200 }, (_, i) => store.log.append('s', Buffer.alloc(1500, i))),
  );
  const puts = [
    { shard: 0, table: 'actor', key: 'k', value: Buffer.from('a row that occurs only once') },
  ];
  await store.log.append('s', marker);
  await store.state.write(puts);
  await store.close();
});
afterEach(() => removeFolder(path));

const refusal = async (): Promise<TroupeError> => {
  try {
    const store = await openEmbeddedStore({ path, durability: 'process' });
    await store.close();
  } catch (error) {
    expect(error).toBeInstanceOf(TroupeError);
    return error as TroupeError;
  }
  throw new Error('the damaged store was opened');
};

/** Why the store was refused; the message names the path and the backup. */
const refusedFor = async (): Promise<unknown> => {
  const error = await refusal();
  expect(error.code).toBe('INTERNAL');
  expect(error.message).toContain(path);
  expect(error.message).toMatch(/backup/);
  return error.details?.['reason'];
};

const overwrite = async (at: number, bytes: Uint8Array): Promise<void> => {
  const file = await open(data, 'r+');
  await file.write(bytes, 0, bytes.length, at);
  await file.close();
};

describe('a store whose data file', () => {
  it('is another file is refused', async () => {
    await writeFile(data, 'this is not a database, it is a letter\n'.repeat(1000));
    expect(await refusedFor()).toBe('CORRUPT');
  });

  it('is shorter than its headers is refused', async () => {
    await truncate(data, 5000);
    expect(await refusedFor()).toBe('CORRUPT');
  });

  it('is empty or missing is refused, and not treated as a new store', async () => {
    await truncate(data, 0);
    expect(await refusedFor()).toBe('CORRUPT');
    await rm(data);
    expect(await refusedFor()).toBe('CORRUPT');
  });

  it('has a damaged second header is refused', async () => {
    await overwrite(4096, Buffer.alloc(100, 0xee));
    expect(await refusedFor()).toBe('CORRUPT');
  });

  // LMDB maps the file. Reading beyond its end raises SIGBUS, which no handler can survive.
  it.each([0.9, 0.5, 0.1])(
    'was truncated to %d of its length is refused, and the process survives',
    async (part) => {
      const { size } = await stat(data);
      await truncate(data, Math.max(16_384, Math.floor((size * part) / 4096) * 4096));
      expect(await refusedFor()).toBe('CORRUPT');
      expect(await refusedFor()).toBe('CORRUPT');
    },
  );

  // LMDB would end the process by an assertion, or read from anywhere.
  it('has garbage in place of its pages is refused, wherever the garbage begins', async () => {
    const good = await readFile(data);
    const last = Math.floor(good.length / 4096);
    let refused = 0;
    for (let page = 2; page < last; page += 7) {
      await writeFile(data, good);
      await overwrite(page * 4096, randomBytes(4096));
      const opened = await openEmbeddedStore({ path, durability: 'process' }).catch(
        (error: unknown) => error,
      );
      if (opened instanceof TroupeError) refused += 1;
      else await (opened as EmbeddedStore).close(); // a page that is free or holds only data
    }
    expect(refused).toBeGreaterThan(0);
  });

  it('belongs to another store is refused', async () => {
    const other = await temporaryFolder();
    await (await openEmbeddedStore({ path: other, durability: 'process' })).close();
    await copyFile(join(other, DATA_FILE), data);
    expect(await refusedFor()).toBe('CORRUPT');
    await removeFolder(other);
  });
});

it('opens again after a refusal once the damage is undone', async () => {
  const good = await readFile(data);
  await truncate(data, 5000);
  expect(await refusedFor()).toBe('CORRUPT');
  await writeFile(data, good);
  const store = await openEmbeddedStore({ path, durability: 'process' });
  expect(await store.log.last('s')).toBe(201);
  await store.close();
});

it('reports a damaged entry with its subject and position, and returns the entries before it', async () => {
  const at = (await readFile(data)).indexOf(marker);
  await overwrite(at, Buffer.from('A'));
  const store = await openEmbeddedStore({ path, durability: 'process' });
  await expect(store.log.read('s', 201)).rejects.toMatchObject({
    code: 'INTERNAL',
    details: { reason: 'CORRUPT', subject: 's', position: 201 },
  });
  await expect(store.log.readLast('s')).rejects.toBeInstanceOf(TroupeError);
  expect(await store.log.read('s', 1, { limit: 200 })).toHaveLength(200);
  await store.close();
});

it('reports a damaged row with its table and key', async () => {
  const at = (await readFile(data)).indexOf('a row that occurs only once');
  await overwrite(at, Buffer.from('A'));
  const store = await openEmbeddedStore({ path, durability: 'process' });
  expect(() => store.state.get(0, 'actor', 'k')).toThrow(
    expect.objectContaining({ details: { reason: 'CORRUPT', shard: 0, table: 'actor', key: 'k' } }),
  );
  await store.close();
});

describe('the store file', () => {
  it('of a newer format is refused with both versions', async () => {
    await writeFile(join(path, STORE_FILE), JSON.stringify({ cell: 'a', formatVersion: 99 }));
    const error = await refusal();
    expect(error.details).toMatchObject({ reason: 'FORMAT', formatVersion: 99 });
  });

  it.each(['', '{', '{"cell":7}', 'null'])('that reads %j is refused', async (text) => {
    await writeFile(join(path, STORE_FILE), text);
    expect(await refusedFor()).toBe('CORRUPT');
  });

  it('that is missing, as after a crash of the first start, is created again with the same cell', async () => {
    const { cell } = JSON.parse(await readFile(join(path, STORE_FILE), 'utf8')) as { cell: string };
    await rm(join(path, STORE_FILE));
    const store = await openEmbeddedStore({ path, durability: 'process' });
    expect(store.cell).toBe(cell);
    await store.close();
    expect(await readFile(join(path, STORE_FILE), 'utf8')).toContain(cell);
  });
});

it('reports a path that is no folder', async () => {
  const error = await openEmbeddedStore({ path: data, durability: 'process' }).catch(
    (caught: unknown) => caught,
  );
  expect(error).toMatchObject({
    code: 'UNAVAILABLE',
    details: { reason: 'UNREADABLE', path: data },
  });
});
