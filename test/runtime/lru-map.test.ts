import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LruMap } from '../../runtime/lru-map.ts';

it('LruMap evicts the entry that was read or written longest ago', () => {
  const map = new LruMap<string, number>(2);
  map.set('a', 1).set('b', 2);
  expect(map.get('a')).toBe(1);
  map.set('c', 3);
  expect([...map]).toEqual([
    ['a', 1],
    ['c', 3],
  ]);
});

it('LruMap keeps the most recently used keys, compared with a list, and never more than its bound', () => {
  const use = fc.record({ key: fc.nat(6), isRead: fc.boolean() });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.array(use), (entriesMax, uses) => {
      const map = new LruMap<number, number>(entriesMax);
      let model: number[] = [];
      for (const { key, isRead } of uses) {
        const isKnown = model.includes(key);
        if (isRead) expect(map.get(key)).toBe(isKnown ? key : undefined);
        else map.set(key, key);
        if (isRead && !isKnown) continue;
        model = [...model.filter((other) => other !== key), key].slice(-entriesMax);
      }
      expect([...map.keys()]).toEqual(model);
    }),
  );
});
