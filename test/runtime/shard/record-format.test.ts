/**
 * Records of other formats: records without a header, captured from the program of commit 57c77f54,
 * records of newer programs, and invalid headers.
 */
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Address } from '../../../protocols/address.ts';
import { encode } from '../../../protocols/codec.ts';
import {
  bodyStart,
  CorruptRecord,
  encodeEntry,
  FORMAT,
  formatNeeded,
  HEADER_BYTES,
} from '../../../runtime/shard/commit/record-format.ts';
import {
  decodeKept,
  decodeMail,
  decodeRecord,
  encodeKept,
  encodeMail,
  encodeRecord,
  type JournalRecord,
  type MailEntry,
  type OutItem,
} from '../../../runtime/shard/commit/records.ts';
import { journalRecord, mailEntry, outItem } from './arbitrary.ts';

const to = 't/session/k' as Address;
const other = 't/session/a' as Address;
const item: OutItem = {
  to,
  id: 'm-0-7',
  event: { type: 'do', n: 1, blob: Buffer.from([1, 2, 3]) },
  hops: 2,
  from: other,
  reply: { id: 'r-1', actor: other },
  principal: { sub: 'ada', roles: ['user'] },
  traceId: 'trace',
  deadline: 1_700_000_000_000,
  supervise: true,
};
const small: OutItem = { to, id: 'm-0-8', event: { type: 'do' }, hops: 0 };
const cell = 'cell';
const times = { notAfter: 1_700_000_003_600, ttlMs: 300_000 };
const head = { cell, recId: 'rec-1', epoch: 3, prev: 4, now: 1_700_000_000_001 };

type Stored<T> = readonly [what: string, written: T, base64: string];
const oldMail: readonly Stored<MailEntry>[] = [
  [
    'links',
    { kind: 'links', cell, src: 1, lane: 'data', n: 5, items: [item, small] },
    'lqFspGNlbGwBpGRhdGEFkpqrdC9zZXNzaW9uL2ulbS0wLTeDpHR5cGWiZG+hbgGkYmxvYsQDAQIDAqt0L3Nlc3' +
      'Npb24vYYKiaWSjci0xpWFjdG9yq3Qvc2Vzc2lvbi9hgqNzdWKjYWRhpXJvbGVzkaR1c2VypXRyYWNly0J4vP5W' +
      'gAAAw5SrdC9zZXNzaW9uL2ulbS0wLTiBpHR5cGWiZG8A',
  ],
  [
    'client',
    { kind: 'client', cell, item, key: 'key-1', payloadHash: 'hash', ...times },
    'l6FjpGNlbGyaq3Qvc2Vzc2lvbi9rpW0tMC03g6R0eXBlomRvoW4BpGJsb2LEAwECAwKrdC9zZXNzaW9uL2GCom' +
      'lko3ItMaVhY3Rvcqt0L3Nlc3Npb24vYYKjc3Vio2FkYaVyb2xlc5GkdXNlcqV0cmFjZctCeLz+VoAAAMOla2V5' +
      'LTGkaGFzaMtCeLz+V2EAAM4ABJPg',
  ],
  [
    'client, moved from another log',
    {
      kind: 'client',
      cell,
      item: small,
      payloadHash: 'hash',
      ...times,
      acceptedAt: 1_600_000_000_000,
    },
    'mKFjpGNlbGyUq3Qvc2Vzc2lvbi9rpW0tMC04gaR0eXBlomRvAMCkaGFzaMtCeLz+V2EAAM4ABJPgy0J3SHboAAAA',
  ],
  [
    'outcome',
    {
      kind: 'outcome',
      cell,
      intent: 't/session/k|i1',
      attempt: 2,
      outcome: { kind: 'done', output: { text: 'answer' } },
    },
    'laFvpGNlbGyudC9zZXNzaW9uL2t8aTECgqRraW5kpGRvbmWmb3V0cHV0gaR0ZXh0pmFuc3dlcg==',
  ],
];
const oldRecords: readonly Stored<JournalRecord>[] = [
  [
    'EPOCH',
    { t: 'EPOCH', ...head, worker: 'w1' },
    'l6VFUE9DSKRjZWxspXJlYy0xAwTLQni8/laAEACidzHLRb55',
  ],
  [
    'TURNS',
    {
      t: 'TURNS',
      ...head,
      mailFloor: 12,
      ctlFloor: 2,
      keyNow: 1_700_000_000_002,
      turns: [
        {
          turnNo: 9,
          input: 'm12.0',
          actor: to,
          machine: 'session@1',
          result: 'applied',
          why: 'because',
          puts: [
            ['actor', to, Buffer.from([7, 8])],
            ['timer', 'x', null],
          ],
          out: [
            [0, 'data', 6, small],
            ['transcript', 'data', 1, item],
          ],
        },
      ],
      puts: [['key', 'a', Buffer.from([9])]],
      linkIn: [['1/data', 5]],
      outFloor: [['0/data', 5]],
    },
    'naVUVVJOU6RjZWxspXJlYy0xAwTLQni8/laAEAAMAstCeLz+VoAgAJGYCaVtMTIuMKt0L3Nlc3Npb24va6lzZX' +
      'NzaW9uQDGnYXBwbGllZKdiZWNhdXNlkpOlYWN0b3KrdC9zZXNzaW9uL2vEAgcIk6V0aW1lcqF4wJKUAKRkYXRh' +
      'BpSrdC9zZXNzaW9uL2ulbS0wLTiBpHR5cGWiZG8AlKp0cmFuc2NyaXB0pGRhdGEBmqt0L3Nlc3Npb24va6VtLT' +
      'AtN4OkdHlwZaJkb6FuAaRibG9ixAMBAgMCq3Qvc2Vzc2lvbi9hgqJpZKNyLTGlYWN0b3KrdC9zZXNzaW9uL2GC' +
      'o3N1YqNhZGGlcm9sZXORpHVzZXKldHJhY2XLQni8/laAAADDkZOja2V5oWHEAQmRkqYxL2RhdGEFkZKmMC9kYX' +
      'RhBZ6cFgA=',
  ],
  [
    'TRY',
    { t: 'TRY', ...head, input: 'm12.0' },
    'l6NUUlmkY2VsbKVyZWMtMQMEy0J4vP5WgBAApW0xMi4wjNimiQ==',
  ],
  [
    'SNAPSHOT',
    {
      t: 'SNAPSHOT',
      ...head,
      covers: 4,
      blob: 'snap/cell/0/4-3',
      sha256: 'ab'.repeat(32),
      bytes: 512,
    },
    'mqhTTkFQU0hPVKRjZWxspXJlYy0xAwTLQni8/laAEAAEr3NuYXAvY2VsbC8wLzQtM9lAYWJhYmFiYWJhYmFiYW' +
      'JhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYs0CAJM6MUE=',
  ],
  [
    'HANDOFF',
    { t: 'HANDOFF', ...head, to: 'w2' },
    'l6dIQU5ET0ZGpGNlbGylcmVjLTEDBMtCeLz+VoAQAKJ3MooeZHY=',
  ],
];
const oldKept =
  'mqt0L3Nlc3Npb24va6VtLTAtN4OkdHlwZaJkb6FuAaRibG9ixAMBAgMCq3Qvc2Vzc2lvbi9hgqJpZKNyLTGlYW' +
  'N0b3KrdC9zZXNzaW9uL2GCo3N1YqNhZGGlcm9sZXORpHVzZXKldHJhY2XLQni8/laAAADD';

const bytesOf = (base64: string) => Buffer.from(base64, 'base64');

describe('records that were stored without a header are read', () => {
  it.each(oldMail)('mailbox entry: %s', (_, written, base64) => {
    expect(decodeMail(bytesOf(base64))).toEqual(written);
  });

  it.each(oldRecords)('journal record: %s', (_, written, base64) => {
    expect(decodeRecord(bytesOf(base64))).toEqual(written);
  });

  it.each(oldRecords)('and damage in them is detected: %s', (_, _written, base64) => {
    const bytes = bytesOf(base64);
    for (let at = 0; at < bytes.length; at++) {
      bytes[at]! ^= 1;
      expect(() => decodeRecord(bytes)).toThrow(CorruptRecord);
      bytes[at]! ^= 1;
    }
  });

  it('an entry of a transcript or of dead letters', () => {
    expect(decodeKept(bytesOf(oldKept))).toEqual(item);
  });

  it('with a body other than the current one, which has a header of seven bytes', () => {
    for (const [, written, base64] of oldMail)
      expect(encodeMail(written).subarray(HEADER_BYTES)).toEqual(bytesOf(base64));
    expect(encodeKept(item).subarray(HEADER_BYTES)).toEqual(bytesOf(oldKept));
  });
});

/** A kind of entry: random values, and its encoding and decoding. */
type Kind = {
  readonly any: fc.Arbitrary<unknown>;
  readonly write: (value: never) => Buffer;
  readonly read: (bytes: Uint8Array, position?: number) => unknown;
  /** after the bytes were changed on purpose */
  readonly finish: (bytes: Buffer) => Buffer;
};
const asIs = (bytes: Buffer): Buffer => bytes;
const withChecksum = (bytes: Buffer): Buffer => {
  const at = bytes.length - 4;
  bytes.writeUInt32BE(crc32(bytes.subarray(0, at)) >>> 0, at);
  return bytes;
};
const kinds: readonly (readonly [string, Kind])[] = [
  ['a mailbox entry', { any: mailEntry, write: encodeMail, read: decodeMail, finish: asIs }],
  [
    'a journal record',
    { any: journalRecord, write: encodeRecord, read: decodeRecord, finish: withChecksum },
  ],
  ['a stored message', { any: outItem, write: encodeKept, read: decodeKept, finish: asIs }],
];

const withHeader = (bytes: Buffer, format: number, oldestReader: number, keyId = 0): Buffer => {
  const changed = Buffer.from(bytes);
  changed[1] = format;
  changed[2] = oldestReader;
  changed.writeUInt32BE(keyId, 3);
  return changed;
};

const thrownBy = (call: () => unknown): unknown => {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error('it was read');
};

describe.each(kinds)('%s', (what, { any, write, read, finish }) => {
  const each = (check: (value: unknown, bytes: Buffer) => void) =>
    fc.assert(fc.property(any, (value) => check(value, write(value as never))));

  it('begins with its format, its oldest reader and no key', () => {
    each((_, bytes) => {
      expect([...bytes.subarray(0, HEADER_BYTES)]).toEqual([0xc1, FORMAT, 1, 0, 0, 0, 0]);
    });
  });

  it('of a newer format that this program may read is read', () => {
    fc.assert(
      fc.property(any, fc.integer({ min: FORMAT, max: 255 }), (value, format) => {
        const bytes = finish(withHeader(write(value as never), format, FORMAT));
        expect(read(bytes)).toEqual(value);
      }),
    );
  });

  it('that only a newer program can read is reported as such, and not as damaged', () => {
    const formats = fc
      .integer({ min: FORMAT + 1, max: 255 })
      .chain((oldest) => fc.tuple(fc.integer({ min: oldest, max: 255 }), fc.constant(oldest)));
    fc.assert(
      fc.property(
        any,
        formats,
        fc.uint8Array({ minLength: 1 }),
        (value, [format, oldest], body) => {
          const bytes = write(value as never);
          const strange = Buffer.concat([bytes.subarray(0, HEADER_BYTES), body, Buffer.alloc(4)]);
          for (const stored of [bytes, strange]) {
            const error = thrownBy(() => read(finish(withHeader(stored, format, oldest)), 17));
            expect(error).toMatchObject({
              code: 'INTERNAL',
              details: { reason: 'NEWER_FORMAT', formatNeeded: oldest },
            });
            expect((error as Error).message).toMatch(
              `${what} (position 17) has format ${format}, for programs that know format ${oldest}`,
            );
          }
        },
      ),
    );
  });

  it('that is encrypted needs a newer program, regardless of its body', () => {
    fc.assert(
      fc.property(any, fc.integer({ min: 1, max: 2 ** 32 - 1 }), (value, keyId) => {
        const bytes = finish(withHeader(write(value as never), FORMAT, FORMAT, keyId));
        const error = thrownBy(() => read(bytes));
        expect(formatNeeded(error)).toBe(FORMAT + 1);
        expect((error as Error).message).toContain(`encrypted with key ${keyId}`);
      }),
    );
  });

  it('with an invalid header is corrupt', () => {
    each((_, bytes) => {
      for (const [format, oldest] of [
        [FORMAT, 0],
        [0, 0],
        [FORMAT, FORMAT + 1],
      ] as const) {
        const read1 = () => read(finish(withHeader(bytes, format, oldest)));
        expect(read1).toThrow(CorruptRecord);
      }
    });
  });

  it('that is truncated in its header is corrupt', () => {
    each((_, bytes) => {
      for (let length = 1; length <= HEADER_BYTES; length++)
        expect(() => read(bytes.subarray(0, length))).toThrow(CorruptRecord);
    });
  });

  it('that is truncated anywhere is never read as another value', () => {
    fc.assert(
      fc.property(any, fc.nat(), (value, at) => {
        const bytes = write(value as never);
        const error = thrownBy(() => read(bytes.subarray(0, at % bytes.length)));
        expect(formatNeeded(error)).toBeUndefined();
      }),
    );
  });
});

describe('fields that a newer format appends are ignored', () => {
  const behind = (body: readonly unknown[]) => withHeader(encodeEntry(body), FORMAT + 3, FORMAT);
  const newItem = ['t/session/k', 'm-0-8', { type: 'do' }, 0, ...Array.from({ length: 6 }), 'new'];

  it('to a mailbox entry and to a message', () => {
    const bytes = behind(['l', cell, 1, 'data', 5, [newItem], 'new', { also: 'new' }]);
    expect(decodeMail(bytes)).toEqual({
      kind: 'links',
      cell,
      src: 1,
      lane: 'data',
      n: 5,
      items: [small],
    });
    expect(decodeKept(behind(newItem))).toEqual(small);
  });

  it('to a journal record and to a turn', () => {
    const turn = [9, 'm12.0', to, 'session@1', 'applied', null, [], [[0, 'data', 6, newItem]], 'x'];
    const fields = [1, 2, 3, [turn], [], [], [], 'new', ['also new']];
    const bytes = behind(['TURNS', cell, 'r', 3, 4, 5, ...fields, 0xffff_ffff]);
    expect(decodeRecord(withChecksum(bytes))).toMatchObject({
      mailFloor: 1,
      turns: [{ turnNo: 9, out: [[0, 'data', 6, small]] }],
    });
  });
});

it('no value that was stored without a header begins like a header', () => {
  fc.assert(
    fc.property(fc.anything(), (value) => {
      expect(bodyStart(encode(value), 'a value')).toBe(0);
    }),
  );
});
