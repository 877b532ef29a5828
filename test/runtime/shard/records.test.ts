/**
 * Decoding returns what a shard encoded, and never a different value for damaged bytes.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Address } from '../../../protocols/address.ts';
import { encode } from '../../../protocols/codec.ts';
import { CorruptRecord, formatNeeded } from '../../../runtime/shard/commit/record-format.ts';
import {
  decodeKept,
  decodeMail,
  decodeOut,
  decodeRecord,
  encodeKept,
  encodeMail,
  encodeOut,
  encodeRecord,
} from '../../../runtime/shard/commit/records.ts';
import { encodeIntent, srcOf } from '../../../runtime/shard/turn/intents.ts';
import { journalRecord, mailEntry, outItem } from './arbitrary.ts';

const REST = { cls: 'once', state: 'open', attempt: 1, epoch: 7, at: 1, input: { n: 1 } } as const;

describe('decodes to the encoded value', () => {
  it('the effect of an intent, of any length, without its input', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.nat(70_000).map((n) => 'x'.repeat(n)),
    );
    fc.assert(
      fc.property(fc.tuple(text, text, text, text, text), ([actor, machine, job, key, src]) => {
        const intent = { actor: actor as Address, machine, job, key, src, ...REST };
        expect(srcOf(encodeIntent(intent))).toBe(src);
      }),
    );
  });

  it('a journal record of every type', () => {
    fc.assert(
      fc.property(journalRecord, (record) => {
        expect(decodeRecord(encodeRecord(record))).toEqual(record);
      }),
    );
  });

  it('a mailbox entry of every kind', () => {
    fc.assert(
      fc.property(mailEntry, (entry) => {
        expect(decodeMail(encodeMail(entry))).toEqual(entry);
      }),
    );
  });

  it('an item in a log without an owner and in the outbox', () => {
    fc.assert(
      fc.property(outItem, fc.integer({ min: 1 }), (item, n) => {
        expect(decodeKept(encodeKept(item))).toEqual(item);
        const out = { target: 'dlq' as const, lane: 'data' as const, n, item };
        expect(decodeOut(encodeOut('dlq', 'data', n, item))).toEqual(out);
      }),
    );
  });
});

describe('is corrupt', () => {
  it('a journal record with any bit inverted', () => {
    fc.assert(
      fc.property(journalRecord, fc.nat(), fc.nat(7), (record, at, bit) => {
        const bytes = encodeRecord(record);
        bytes[at % bytes.length]! ^= 1 << bit;
        expect(() => decodeRecord(bytes)).toThrow(CorruptRecord);
      }),
    );
  });

  it('a journal record that is truncated anywhere', () => {
    fc.assert(
      fc.property(journalRecord, fc.nat(), (record, at) => {
        const bytes = encodeRecord(record);
        expect(() => decodeRecord(bytes.subarray(0, at % bytes.length))).toThrow(CorruptRecord);
      }),
    );
  });

  const junk: [what: string, bytes: Uint8Array][] = [
    ['nothing', Buffer.alloc(0)],
    ['no array', encode({ kind: 'links' })],
    ['an unknown kind', encode(['x', 'cell'])],
    ['the name of a property of every object', encode(['constructor', 'cell'])],
    ['a link without its items', encode(['l', 'cell', 0, 'data', 1])],
    ['a link with no item, which would block the floor', encode(['l', 'cell', 0, 'data', 1, []])],
    [
      'a link whose item has no address',
      encode(['l', 'cell', 0, 'data', 1, [['nowhere', 'i', { type: 'a' }, 0]]]),
    ],
    ['a message without a type', encode(['c', 'cell', ['t/a/k', 'i', {}, 0], null, '', 1, 1])],
    ['an outcome of no kind', encode(['o', 'cell', 'i', 1, {}])],
  ];
  it.each(junk)('a mailbox entry that is %s', (_, bytes) => {
    expect(() => decodeMail(bytes)).toThrow(CorruptRecord);
  });

  it('any bytes in a mailbox are decoded as an entry, as corrupt, or as of a newer format', () => {
    const value = fc.array(fc.oneof(fc.constantFrom('l', 'c', 'o', 'cell', null), fc.jsonValue()));
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), value.map(encode)), (bytes) => {
        try {
          expect(decodeMail(bytes).cell).toEqual(expect.any(String));
        } catch (error) {
          if (formatNeeded(error) === undefined) expect(error).toBeInstanceOf(CorruptRecord);
          else expect(bytes[0]).toBe(0xc1);
        }
      }),
      { numRuns: 500 },
    );
  });
});
