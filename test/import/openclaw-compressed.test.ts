/** Transcripts that OpenClaw compressed: files, events of a database, cold storage. */
import { createHash } from 'node:crypto';
import * as zlib from 'node:zlib';
import { expect, it } from 'vitest';
import { decompressed, NeedsNewerNode } from '../../installation/openclaw/compressed.ts';
import { coldEvents } from '../../installation/openclaw/stored-archives.ts';

type Zstd = { readonly zstdCompressSync?: (data: Uint8Array) => Buffer };
const { zstdCompressSync: compress } = zlib as Zstd;
/** `hello hello hello` with zstd 1.5, for versions of Node without it. */
const HELLO = Buffer.from('28b52ffd00586500003068656c6c6f200100314a11', 'hex');

it.skipIf(compress !== undefined)(
  'an older Node says what it needs, and nothing is damaged',
  () => {
    const read = () => decompressed(HELLO, 'here', 100);
    expect(read).toThrow(NeedsNewerNode);
    expect(read).toThrow('needs Node 22.15 or newer');
  },
);

it.skipIf(compress === undefined)('refuses a text over its limit, and damaged data', () => {
  const data = compress!(Buffer.from('hello '.repeat(1_000)));
  expect(decompressed(data, 'here', 6_000)).toHaveLength(6_000);
  expect(() => decompressed(data, 'here', 5_999)).toThrow('here cannot be decompressed');
  expect(() => decompressed(data.subarray(9), 'here', 6_000)).toThrow(
    'here cannot be decompressed',
  );
  const invalid = compress!(Buffer.from([0xff]));
  expect(() => decompressed(invalid, 'here', 10)).toThrow('here cannot be decompressed');
});

const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');
const archive_name = `${'a'.repeat(64)}.jsonl.zst`;

it.skipIf(compress === undefined)('reads a session of cold storage', () => {
  const event = { type: 'message', id: 'a', message: { role: 'user', content: 'Hi.' } };
  const lines = [
    { kind: 'header', version: 1, sessionId: 's' },
    { kind: 'event', row: { seq: 0, event_json: JSON.stringify(event) } },
    { kind: 'fts', row: { text: 'Hi.' } },
  ];
  const archive_blob = compress!(Buffer.from(lines.map((line) => JSON.stringify(line)).join('\n')));
  const row = { archive_name, archive_blob, archive_sha256: sha256(archive_blob) };
  expect(coldEvents(row, '/none', '/none').events).toEqual([event]);
});

it('refuses cold storage that is missing, damaged, or elsewhere', () => {
  const read = (row: object) => () => coldEvents({ archive_name, ...row }, '/none', '/none');
  expect(read({ archive_blob: null, archive_sha256: '' })).toThrow('is missing');
  expect(read({ archive_blob: Buffer.from('x'), archive_sha256: sha256(HELLO) })).toThrow(
    'damaged',
  );
  expect(read({ archive_name: '../../secret' })).toThrow('is no cold archive');
});
