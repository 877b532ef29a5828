/** Lists of numbers in bytes: beside arrays, which do the same. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PackedLists } from '../../../memory/text/packed-lists.ts';

const list = fc.nat(6);
const number = fc.oneof(fc.nat(127), fc.nat(20_000), fc.nat(2 ** 31 - 1));
const change = fc.oneof(
  { weight: 6, arbitrary: fc.record({ list, append: fc.array(number, { maxLength: 40 }) }) },
  { weight: 3, arbitrary: fc.record({ list, remove: fc.nat(40) }) },
  { weight: 1, arbitrary: fc.record({ list, clear: fc.constant(true) }) },
);

test('lists have what arrays have after any changes', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 200 }), (changes) => {
      const packed = new PackedLists();
      const arrays = Array.from({ length: 7 }, (): number[] => []);
      for (const one of changes) {
        const own = arrays[one.list]!;
        if ('append' in one) {
          packed.append(one.list, one.append);
          own.push(...one.append);
        } else if ('remove' in one) {
          const value = own[one.remove] ?? 77;
          const at = own.indexOf(value);
          if (at >= 0) own.splice(at, 1);
          expect(packed.remove(one.list, value)).toBe(own.length > 0);
        } else {
          packed.clear(one.list);
          own.length = 0;
        }
      }
      expect(arrays.map((_, at) => packed.numbers(at))).toEqual(arrays);
    }),
  );
});

test('a list that is larger than a block stays whole', () => {
  const packed = new PackedLists();
  const numbers = Array.from({ length: 300_000 }, (_, n) => n * 7);
  for (const one of numbers) packed.append(3, [one]);
  packed.append(4, [1, 2, 3]);
  expect(packed.numbers(3)).toEqual(numbers);
  expect(packed.numbers(4)).toEqual([1, 2, 3]);
});

test('a place that a list has left is used by others', () => {
  const packed = new PackedLists();
  packed.append(0, [1, 2, 3, 4]);
  const { byteOffset } = packed.bytes(0);
  packed.append(0, [5, 6, 7, 8]);
  packed.append(1, [9]);
  expect(packed.bytes(1).byteOffset).toBe(byteOffset);
  packed.clear(0);
  packed.append(2, [1, 2, 3, 4, 5, 6, 7, 8]);
  expect([packed.numbers(0), packed.numbers(1)]).toEqual([[], [9]]);
});

test('of bytes that are cleared nothing remains in the place that is left', () => {
  const packed = new PackedLists();
  const word = Buffer.from('a secret word');
  packed.appendBytes(0, word, 2, 8);
  expect(packed.isBytes(0, word, 2, 8)).toBe(true);
  expect(packed.isBytes(0, word, 3, 9)).toBe(false);
  const place = packed.bytes(0);
  expect(Buffer.from(place).toString()).toBe('secret');
  packed.clear(0);
  expect([...place]).toEqual([0, 0, 0, 0, 0, 0]);
});
