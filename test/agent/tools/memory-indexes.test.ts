/** How many indexes a process keeps. */
import { expect, it } from 'vitest';
import { MemoryIndexes } from '../../../agent/tools/memory/memory-indexes.ts';
import { CHUNKS_MAX, type MemoryIndex } from '../../../memory/index.ts';
import { address } from '../../../protocols/address.ts';

const ownerOf = (name: string) => address('default', 'agent', name);

it('the least recently used indexes are dropped when they have too many chunks together', async () => {
  const indexes = new MemoryIndexes();
  const sized = (name: string, size: number) =>
    indexes.use(ownerOf(name), async (index) => {
      Object.defineProperty(index, 'size', { value: size, configurable: true });
      return index;
    });
  const one = await sized('one', CHUNKS_MAX / 2 - 100);
  await sized('two', CHUNKS_MAX / 2 - 100);
  expect(indexes.owners).toEqual([ownerOf('one'), ownerOf('two')]);
  const again: MemoryIndex = await sized('one', CHUNKS_MAX / 2 - 100);
  expect(again).toBe(one);
  await sized('three', CHUNKS_MAX / 4);
  expect(indexes.owners).toEqual([ownerOf('one'), ownerOf('three')]);
  await sized('large', CHUNKS_MAX);
  expect(indexes.owners).toEqual([ownerOf('large')]);
});

it('an index is limited also after a search that fails', async () => {
  const indexes = new MemoryIndexes();
  const fails = () => Promise.reject(new Error('stopped'));
  await expect(indexes.use(ownerOf('one'), fails)).rejects.toThrow('stopped');
  expect(indexes.owners).toEqual([ownerOf('one')]);
});
