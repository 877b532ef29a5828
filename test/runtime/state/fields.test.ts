import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decode, encode } from '../../../protocols/codec.ts';
import { fieldReader } from '../../../runtime/state/fields.ts';

const value = fc.letrec((tie) => ({
  any: fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.integer(),
    fc.integer({ min: -(2 ** 31), max: 2 ** 31 }),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true }),
    fc.boolean(),
    fc.constantFrom(null, undefined),
    fc.uint8Array({ maxLength: 300 }),
    fc.array(tie('any'), { maxLength: 20 }),
    fc.dictionary(fc.string({ unit: 'binary' }), tie('any'), { maxKeys: 20 }),
  ),
})).any;
const rows = fc.dictionary(
  fc.oneof(fc.constantFrom('status', 'label', 'updatedAt'), fc.string({ unit: 'binary' })),
  value,
  { maxKeys: 40 },
);

describe('a reader of fields', () => {
  it('returns the same fields as a complete decode, for any row', () => {
    const fields = ['label', 'status', 'updatedAt', '__proto__', ''];
    const read = fieldReader(fields);
    const same = fc.property(rows, (row) => {
      const bytes = encode(row);
      const whole = decode<Record<string, unknown>>(bytes);
      for (const field of fields.filter((name) => name !== '__proto__'))
        expect(read(bytes)[field]).toEqual(whole[field]);
    });
    fc.assert(same, { numRuns: 500 });
  });

  it('reads texts, lists and maps of every size', () => {
    const read = fieldReader(['last']);
    for (const size of [0, 15, 16, 31, 32, 255, 256, 65_535, 65_536]) {
      const row = {
        text: 'é'.repeat(size),
        list: Array.from({ length: size }, (_, n) => n),
        map: Object.fromEntries(Array.from({ length: size }, (_, n) => [`k${n}`, n])),
        bytes: new Uint8Array(size),
        last: 'x'.repeat(size),
      };
      expect(read(encode(row))).toEqual({ last: row.last });
    }
  });

  it('finds fields in a large map, and omits missing ones', () => {
    const many = Object.fromEntries(Array.from({ length: 70_000 }, (_, n) => [`k${n}`, n]));
    expect(fieldReader(['k69999', 'k70000'])(encode(many))).toEqual({ k69999: 69_999 });
  });

  it('skips values of other MessagePack encoders', () => {
    // Extensions of every size, an integer of 64 bits and a float of 32.
    const heads = ['d401', 'd501', 'd601', 'd701', 'd801', 'c70301', 'c8000301', 'c90000000301'];
    const bodies = [1, 2, 4, 8, 16, 3, 3, 3].map((size) => '00'.repeat(size));
    const values = heads.map((head, at) => head + bodies[at]!);
    values.push('cf0000000000000001', 'd3ffffffffffffffff', 'ca3f800000', 'c0', 'c2', 'c3');
    const parts = values.map((hex, at) => `a1${Buffer.from([0x61 + at]).toString('hex')}${hex}`);
    const count = (parts.length + 1).toString(16).padStart(4, '0');
    const bytes = Buffer.from(`de${count}${parts.join('')}a13107`, 'hex');
    expect(fieldReader(['1'])(bytes)).toEqual({ '1': 7 });
  });

  it('refuses bytes that are no map, truncated bytes, and a map whose keys are no texts', () => {
    const read = fieldReader(['b']);
    const whole = encode({ a: 'text of some length', b: 1 });
    for (const bytes of [encode([1]), encode('b'), Buffer.alloc(0), whole.subarray(0, 9)])
      expect(() => read(bytes)).toThrow(/not a MessagePack map/);
    expect(() => read(Buffer.from('820102a16203', 'hex'))).toThrow(/not a MessagePack map/);
    expect(() => read(Buffer.from('81de00', 'hex'))).toThrow(/not a MessagePack map/);
    expect(() => read(Buffer.from('81a161d9', 'hex'))).toThrow(/cut/);
    expect(() => read(Buffer.from('81a161de00', 'hex'))).toThrow(/cut/);
  });
});
