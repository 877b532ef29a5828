/**
 * The record of a cell: programs without record formats cannot open a cell that a newer program has
 * opened.
 */
import { beforeEach, expect, it } from 'vitest';
import { decode, encode } from '../../protocols/codec.ts';
import { MemoryBlobs } from '../../runtime/blobs/memory.ts';
import { InProcessBus } from '../../runtime/bus/in-process.ts';
import { decodeCell, encodeCell } from '../../runtime/cell-record.ts';
import { createSystem, systemClock } from '../../runtime/index.ts';
import { createMemoryStore, type MemoryStore } from '../../runtime/log/memory.ts';

let store: MemoryStore;
beforeEach(() => {
  store = createMemoryStore({ clock: systemClock });
});
const open = async () => {
  const ports = {
    store: { ...store, close: async () => {} },
    bus: new InProcessBus(),
    blobs: new MemoryBlobs(),
  };
  const system = await createSystem({ ...ports, actors: [], shards: 2 });
  await system.stop();
};
const stored = () => store.log.read('cell.local', 1);

it('a record of an older program is read, and written once more for newer programs only', async () => {
  const record = { shards: 2, createdAt: 7 };
  await store.log.append('cell.local', encode(record));
  for (let time = 0; time < 2; time++) {
    await open();
    const [, renewed, ...more] = await stored();
    expect(more).toEqual([]);
    expect(decodeCell(renewed!)).toEqual(record);
    // As an older program reads it.
    expect(() => decode(renewed!.bytes)).toThrow(/not a MessagePack value/);
  }
});

it('a record that only newer programs may open is refused with the reason', async () => {
  const bytes = encodeCell({ shards: 2, createdAt: 7 });
  bytes.set([3, 2], 1);
  await store.log.append('cell.local', bytes);
  await expect(open()).rejects.toMatchObject({
    message: expect.stringMatching(/record of the cell.*has format 3/) as string,
    details: { reason: 'NEWER_FORMAT', formatNeeded: 2 },
  });
  expect(await stored()).toHaveLength(1);
});
