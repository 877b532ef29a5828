/** The contract of State, run on every adapter. */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TroupeError } from '../../../protocols/errors.ts';
import { type Put, type State, STATE_KEY_BYTES_MAX } from '../../../runtime/state/state.ts';

export type StateUnderTest = {
  readonly state: State;
  /** closes the state and opens another one on the same data; absent for a state in memory */
  readonly reopen?: () => Promise<StateUnderTest>;
  readonly dispose: () => Promise<void>;
};

const bytes = (text: string): Uint8Array => Buffer.from(text);
const text = (value: Uint8Array | undefined): string | undefined =>
  value && Buffer.from(value).toString();
const row = (key: string, value = key, table = 'actor', shard = 1): Put => ({
  shard,
  table,
  key,
  value: bytes(value),
});

export const stateContract = (name: string, make: () => Promise<StateUnderTest>): void => {
  describe(`State contract: ${name}`, () => {
    let under: StateUnderTest;
    let state: State;
    beforeEach(async () => {
      under = await make();
      state = under.state;
    });
    afterEach(() => under.dispose());
    const keys = (options = {}): string[] => state.range(1, 'actor', options).map(({ key }) => key);

    it('shows a write at once when it is answered, and the newest of several', async () => {
      await state.write([row('k', 'first')]);
      expect(text(state.get(1, 'actor', 'k'))).toBe('first');
      await state.write([row('k', 'second'), row('k', 'third')]);
      expect(text(state.get(1, 'actor', 'k'))).toBe('third');
      expect(state.get(1, 'actor', 'absent')).toBeUndefined();
    });

    it('removes a row by a null put, also a missing one', async () => {
      await state.write([row('a'), row('b')]);
      await state.write([
        { shard: 1, table: 'actor', key: 'a', value: null },
        { shard: 1, table: 'actor', key: 'nothing', value: null },
      ]);
      expect(keys()).toEqual(['b']);
      expect(state.get(1, 'actor', 'a')).toBeUndefined();
    });

    it('visits a range in pieces without copies, and returns the key to continue from', async () => {
      await state.write(['f', 'e', 'd', 'c', 'b', 'a'].map((key) => row(key)));
      await state.write([row('x', 'large '.repeat(40_000), 'large'), row('x', 'x', 'actor', 2)]);
      const seen = (options = {}, table = 'actor') => {
        const values: string[] = [];
        const last = state.scan(1, table, options, (value) => values.push(text(value)!));
        return { values: values.join(''), last };
      };
      expect(seen()).toEqual({ values: 'abcdef', last: undefined });
      expect(seen({ limit: 4 })).toEqual({ values: 'abcd', last: 'd' });
      expect(seen({ from: 'd\0', limit: 4 })).toEqual({ values: 'ef', last: undefined });
      expect(seen({ from: 'b', to: 'd', limit: 2 })).toEqual({ values: 'bc', last: 'c' });
      expect(seen({}, 'large').values).toHaveLength(240_000);
      expect(seen({}, 'absent')).toEqual({ values: '', last: undefined });
      await state.write([row('a', 'A'), { ...row('b'), value: null }]);
      expect(seen()).toEqual({ values: 'Acdef', last: undefined });
    });

    it('separates shards, tables and keys, also where their names join to the same text', async () => {
      await state.write([
        row('c', '1', 'ab'),
        row('bc', '2', 'a'),
        row('c', '3', 'ab', 2),
        row('', '4', 'ab'),
        row('\0c', '5', 'a'),
        row('x', '6', 'ix:runs'),
      ]);
      expect(text(state.get(1, 'ab', 'c'))).toBe('1');
      expect(text(state.get(1, 'a', 'bc'))).toBe('2');
      expect(text(state.get(2, 'ab', 'c'))).toBe('3');
      expect(state.range(1, 'ab').map(({ key }) => key)).toEqual(['', 'c']);
      expect(state.range(1, 'a').map(({ key }) => key)).toEqual(['\0c', 'bc']);
      expect(state.count(1, 'ab')).toBe(2);
      expect(state.count(1, 'absent')).toBe(0);
    });

    it('keeps values exactly, also empty and large ones', async () => {
      const large = Buffer.alloc(200_000, 7);
      const value = Buffer.from('value');
      await state.write([
        { shard: 1, table: 'actor', key: 'empty', value: new Uint8Array(0) },
        { shard: 1, table: 'actor', key: 'large', value: large },
        { shard: 1, table: 'actor', key: 'value', value },
      ]);
      expect(state.get(1, 'actor', 'empty')).toHaveLength(0);
      expect(Buffer.from(state.get(1, 'actor', 'large')!).equals(large)).toBe(true);
      expect(text(state.get(1, 'actor', 'value'))).toBe('value');
    });

    it('ranges from inclusive to exclusive, limited, in either direction', async () => {
      await state.write(['a', 'b', 'c', 'd', 'e'].map((key) => row(key)));
      await state.write([row('z', 'z', 'actos'), row('0', '0', 'acto')]);
      expect(keys()).toEqual(['a', 'b', 'c', 'd', 'e']);
      expect(keys({ from: 'b', to: 'd' })).toEqual(['b', 'c']);
      expect(keys({ from: 'bb' })).toEqual(['c', 'd', 'e']);
      expect(keys({ limit: 2 })).toEqual(['a', 'b']);
      expect(keys({ reverse: true })).toEqual(['e', 'd', 'c', 'b', 'a']);
      expect(keys({ from: 'b', to: 'd', reverse: true })).toEqual(['c', 'b']);
      expect(keys({ from: 'b', limit: 2, reverse: true })).toEqual(['e', 'd']);
      expect(keys({ to: 'c', limit: 1, reverse: true })).toEqual(['b']);
      expect(keys({ from: 'd', to: 'b' })).toEqual([]);
      expect(keys({ limit: 0 })).toEqual([]);
    });

    it('returns 1,000 rows by default, and counts them all', async () => {
      const all = Array.from({ length: 1005 }, (_, i) => `k${String(i).padStart(5, '0')}`);
      await state.write(all.map((key) => row(key)));
      expect(keys()).toEqual(all.slice(0, 1000));
      expect(keys({ limit: 2000 })).toEqual(all);
      expect(state.count(1, 'actor')).toBe(1005);
    });

    // JavaScript sorts by UTF-16 units, which puts an emoji before U+FF5E; UTF-8 and LMDB do not.
    it('sorts keys by their UTF-8 bytes', async () => {
      const words = [
        '～',
        '😀',
        'é',
        'z',
        'Z',
        '',
        '\u{10ffff}',
        '\ud7ff',
        '\ue000',
        'zz',
        '\0',
        '~',
      ];
      await state.write(words.map((key) => row(key)));
      expect(keys()).toEqual(
        [...words].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
      );
    });

    it('ranges like a sorted list, for any keys and bounds', async () => {
      const key = fc.string({ unit: 'grapheme', maxLength: 6 });
      const options = fc.record(
        { from: key, to: key, limit: fc.nat({ max: 8 }), reverse: fc.boolean() },
        { requiredKeys: [] },
      );
      let shard = 10;
      const ranges = fc.asyncProperty(
        fc.uniqueArray(key, { maxLength: 12 }),
        options,
        async (all, asked) => {
          shard += 1;
          await state.write(all.map((one) => row(one, one, 'actor', shard)));
          const compare = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
          const wanted = all
            .filter((one) => asked.from === undefined || compare(one, asked.from) >= 0)
            .filter((one) => asked.to === undefined || compare(one, asked.to) < 0)
            .sort(compare);
          if (asked.reverse === true) wanted.reverse();
          expect(state.range(shard, 'actor', asked).map((found) => found.key)).toEqual(
            wanted.slice(0, asked.limit ?? 1000),
          );
        },
      );
      await fc.assert(ranges, { numRuns: 100 });
    });

    it('accepts keys of STATE_KEY_BYTES_MAX bytes, and refuses longer ones without storing them', async () => {
      const longest = 'é'.repeat(STATE_KEY_BYTES_MAX / 2);
      const table = 't'.repeat(200);
      await state.write([row(longest, 'long', table)]);
      expect(text(state.get(1, table, longest))).toBe('long');
      expect(state.range(1, table)[0]?.key).toBe(longest);
      const refused = state.write([row('fine'), row(`${longest}x`)]);
      await expect(refused).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
      expect(state.get(1, 'actor', 'fine')).toBeUndefined();
    });

    it('refuses ambiguous addresses', async () => {
      const bad = [
        row('k', 'v', ''),
        row('k', 'v', 'a\0b'),
        row('\ud800'),
        row('k', 'v', 'a', -1),
        row('k', 'v', 'a', 65_536),
      ];
      for (const put of bad) {
        await expect(state.write([put])).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
      }
    });

    it('dumps every row of one shard, table by table in key order', async () => {
      await state.write([
        row('b'),
        row('a'),
        row('x', 'x', 'timer'),
        row('m', 'm', 'meta'),
        row('o', 'o', 'actor', 2),
      ]);
      const dumped = [...state.dump(1)].map(({ table, key, value }) => [table, key, text(value)]);
      expect(dumped).toEqual([
        ['actor', 'a', 'a'],
        ['actor', 'b', 'b'],
        ['meta', 'm', 'm'],
        ['timer', 'x', 'x'],
      ]);
      expect([...state.dump(9)]).toEqual([]);
    });

    // A snapshot takes many ticks while the shard continues to write.
    it('dumps the rows of its first step, regardless of later writes', async () => {
      const all = Array.from({ length: 700 }, (_, i) =>
        row(`k${String(i).padStart(3, '0')}`, 'old'),
      );
      await state.write(all);
      expect(state.count(1, 'actor')).toBe(700);
      await state.write([row('k001', 'newer')]);
      const dumped: (string | undefined)[] = [];
      for (const { value } of state.dump(1)) {
        dumped.push(text(value));
        if (dumped.length === 1)
          await state.write([row('k002', 'new'), row('k699', 'new'), row('l')]);
        if (dumped.length === 300) await state.clear(1);
        if (dumped.length % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      expect(dumped).toEqual(all.map(({ key }) => (key === 'k001' ? 'newer' : 'old')));
      expect(keys()).toEqual([]);
    });

    it('ends a dump with an error when it is closed', async () => {
      await state.write([row('a'), row('b')]);
      const rows = state.dump(1)[Symbol.iterator]();
      expect(rows.next().done).toBe(false);
      await state.close();
      expect(() => rows.next()).toThrow(TroupeError);
    });

    it('clears one shard and no other, also the last one', async () => {
      await state.write([
        row('a'),
        row('b', 'b', 'timer'),
        row('c', 'c', 'actor', 0),
        row('d', 'd', 'actor', 2),
      ]);
      await state.write([
        row('e', 'e', 'actor', 65_535),
        row('f', 'f', 'actor', 255),
        row('g', 'g', 'actor', 256),
      ]);
      await state.clear(1);
      await state.clear(255);
      await state.clear(65_535);
      await state.clear(77);
      expect([state.count(1, 'actor'), state.count(1, 'timer'), state.count(255, 'actor')]).toEqual(
        [0, 0, 0],
      );
      expect(state.count(65_535, 'actor')).toBe(0);
      expect([text(state.get(0, 'actor', 'c')), text(state.get(2, 'actor', 'd'))]).toEqual([
        'c',
        'd',
      ]);
      expect(text(state.get(256, 'actor', 'g'))).toBe('g');
    });

    it('clears rows written directly before, and keeps rows written directly after', async () => {
      await Promise.all([
        state.write([row('before')]),
        state.clear(1),
        state.write([row('after')]),
      ]);
      expect(keys()).toEqual(['after']);
    });

    it('refuses everything after close', async () => {
      await state.close();
      expect(() => state.get(1, 'actor', 'k')).toThrow(TroupeError);
      expect(() => state.range(1, 'actor')).toThrow(TroupeError);
      expect(() => state.count(1, 'actor')).toThrow(TroupeError);
      expect(() => [...state.dump(1)]).toThrow(TroupeError);
      await expect(state.write([row('k')])).rejects.toBeInstanceOf(TroupeError);
      await expect(state.clear(1)).rejects.toBeInstanceOf(TroupeError);
    });

    it('keeps its rows when it is closed and opened again', async (context) => {
      if (under.reopen === undefined) return context.skip('nothing outlives this state');
      await state.write([row('a'), row('b')]);
      under = await under.reopen();
      state = under.state;
      expect(keys()).toEqual(['a', 'b']);
    });
  });
};
