import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Assemblies, PARTS_BYTES_MAX, PARTS_WAIT_MS, partsOf } from '../../../runtime/bus/parts.ts';

it('reassembles any message from parts in any order, with duplicates', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 300 }),
      fc.integer({ min: 1, max: 50 }),
      fc.infiniteStream(fc.nat()),
      (bytes, partBytes, order) => {
        const parts = partsOf('id', bytes, partBytes);
        expect(parts.every((part) => part.bytes.length <= partBytes)).toBe(true);
        const shuffled = parts
          .flatMap((part) => [part, part])
          .map((part) => ({ part, at: order.next().value }))
          .sort((a, b) => a.at - b.at)
          .map(({ part }) => part);
        const assemblies = new Assemblies();
        const first = shuffled.map((part) => assemblies.add(1, part, 0)).find(Boolean);
        expect(Buffer.compare(first!, bytes)).toBe(0);
      },
    ),
  );
});

it('separates messages and receivers', () => {
  const assemblies = new Assemblies();
  const [a0, a1] = partsOf('a', Buffer.from('aA'), 1);
  const [b0, b1] = partsOf('b', Buffer.from('bB'), 1);
  const got = [a0, b0, b1, a1].map((part) => assemblies.add(1, part!, 0)?.toString());
  expect(got).toEqual([undefined, undefined, 'bB', 'aA']);
  assemblies.add(1, a0!, 0);
  expect(assemblies.add(2, a1!, 0)).toBeUndefined();
  expect(assemblies.add(2, a0!, 0)?.toString()).toBe('aA');
});

it('drops an incomplete message and frees its memory', () => {
  const assemblies = new Assemblies();
  const [a0, a1] = partsOf('a', Buffer.alloc(2000), 1000);
  assemblies.add(1, a0!, 0);
  expect(assemblies.bytes).toBe(1000);
  assemblies.drop(PARTS_WAIT_MS - 1);
  expect(assemblies.bytes).toBe(1000);
  expect(assemblies.add(1, a1!, PARTS_WAIT_MS)).toBeUndefined();
  expect(assemblies.bytes).toBe(1000);
  assemblies.drop(3 * PARTS_WAIT_MS);
  expect(assemblies.bytes).toBe(0);
});

it('drops the oldest messages beyond its bound', () => {
  const assemblies = new Assemblies();
  const mebibyte = Buffer.alloc(1024 * 1024);
  const half = (id: string) => ({ id, index: 0, count: 2, bytes: mebibyte });
  for (let n = 0; n < 70; n++) assemblies.add(1, half(`${n}`), 0);
  expect(assemblies.bytes).toBe(PARTS_BYTES_MAX);
  const other = (id: string) => ({ ...half(id), index: 1 });
  expect(assemblies.add(1, other('69'), 0)).toHaveLength(2 * mebibyte.length);
  expect(assemblies.add(1, other('0'), 0)).toBeUndefined();
});
