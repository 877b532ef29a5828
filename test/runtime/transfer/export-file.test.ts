/**
 * The file of an export is complete or absent, readable by its owner only, and any change is
 * detected.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkExportFile,
  readExportFile,
  writeExportFile,
} from '../../../runtime/transfer/export-file.ts';
import { type ExportHeader, FORMAT, type Frame } from '../../../runtime/transfer/frames.ts';
import { scratch } from './carried.ts';

const header: ExportHeader = {
  format: FORMAT,
  cell: 'c',
  env: 'local',
  shards: 2,
  createdAt: 1,
  exportedAt: 2,
  program: 'test',
};
const counts = {
  shards: 2,
  actors: 0,
  entries: 0,
  transcripts: 0,
  letters: 0,
  blobs: 0,
  artifacts: 0,
  history: 0,
};
const end: Frame = ['end', counts];
const blob = (name: string, bytes: Uint8Array): Frame => ['blob', name, bytes];

async function* all(...frames: readonly Frame[]): AsyncGenerator<Frame> {
  yield* frames;
}

const written = async (...frames: readonly Frame[]) => {
  const path = join(await scratch(), 'file');
  return { path, ...(await writeExportFile(path, all(['header', header], ...frames))) };
};

const read = async (path: string) => {
  const frames: Frame[] = [];
  for await (const frame of readExportFile(path)) frames.push(frame);
  return frames;
};

describe('a file of an export', () => {
  it('returns the written frames, of any size', async () => {
    const sizes = [0, 1, 1_000, 262_144, 5_000_000];
    const blobs = sizes.map((size) => blob(`b${size}`, Buffer.alloc(size, `${size}`)));
    const { path, bytes, sha256 } = await written(...blobs, end);
    expect(await checkExportFile(path)).toEqual({ bytes, sha256, header });
    expect(statSync(path)).toMatchObject({ size: bytes });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const frames = await read(path);
    expect(frames.map(([kind]) => kind)).toEqual(['header', ...blobs.map(() => 'blob'), 'end']);
    for (const [i, frame] of frames.slice(1, -1).entries()) {
      expect(frame[1]).toBe(`b${sizes[i]}`);
      expect(Buffer.compare(frame[2] as Uint8Array, blobs[i]![2] as Uint8Array)).toBe(0);
    }
  });

  it('is refused when one of its bytes is changed or its end is missing', async () => {
    const { path } = await written(blob('b', Buffer.from('x'.repeat(2_000))), end);
    const whole = readFileSync(path);
    const place = fc.integer({ min: 0, max: whole.length - 1 });
    await fc.assert(
      fc.asyncProperty(place, fc.integer({ min: 1, max: 255 }), async (at, change) => {
        const damaged = Buffer.from(whole);
        damaged[at] = damaged[at]! ^ change;
        writeFileSync(path, damaged);
        await expect(checkExportFile(path)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
        writeFileSync(path, whole.subarray(0, at));
        await expect(checkExportFile(path)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
      }),
      { numRuns: 30 },
    );
  });

  it('is refused with the name of the program that can read it when its format is newer', async () => {
    const path = join(await scratch(), 'file');
    await writeExportFile(
      path,
      all(['header', { ...header, format: FORMAT + 1, program: '9.9' }], end),
    );
    await expect(checkExportFile(path)).rejects.toThrow(/format 4, written by troupe 9\.9/);
  });

  it('is refused when it has no end, and when it is another kind of file', async () => {
    const { path } = await written();
    await expect(read(path)).rejects.toThrow('it has no end');
    writeFileSync(path, 'a'.repeat(100));
    await expect(checkExportFile(path)).rejects.toThrow('was not written by troupe export');
    await expect(checkExportFile(`${path}x`)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('replaces an existing file only on request, and leaves no part of a failed one', async () => {
    const { path, sha256 } = await written(end);
    const again = () => writeExportFile(path, all(['header', header], end));
    await expect(again()).rejects.toMatchObject({ code: 'CONFLICT' });
    async function* failing(): AsyncGenerator<Frame> {
      yield ['header', header];
      throw new Error('no more');
    }
    await expect(writeExportFile(path, failing(), { force: true })).rejects.toThrow('no more');
    expect((await checkExportFile(path)).sha256).toBe(sha256);
    expect(readdirSync(join(path, '..'))).toEqual(['file']);
    await writeExportFile(path, all(['header', { ...header, cell: 'd' }], end), { force: true });
    expect((await checkExportFile(path)).header.cell).toBe('d');
  });
});

const hostile: readonly [string, unknown][] = [
  ['a header without shards', ['header', { ...header, shards: -1 }]],
  ['a header with too many shards', ['header', { ...header, shards: 1e9 }]],
  ['a header whose sealingKids is a number', ['header', { ...header, sealingKids: 5 }]],
  ['an unknown frame', ['surprise', 1]],
  ['a frame that is no list', { header }],
  ['mail of an unknown lane', ['mail', 'both', []]],
  ['mail without bytes', ['mail', 'data', [[1, 1, 'text']]]],
  ['rows of numbers', ['rows', [1, 2, 3]]],
  ['a row without its value', ['rows', ['actor', 'key']]],
  ['an artifact of text', ['artifact', 'acme', 'text/plain', 'text']],
  ['a blob without a name', ['blob', '', Buffer.alloc(1)]],
  ['an end without counts', ['end']],
];

it.each(hostile)('a file with %s and a right checksum is refused as damaged', async (_, frame) => {
  const path = join(await scratch(), 'file');
  const isHeader = Array.isArray(frame) && frame[0] === 'header';
  const frames = isHeader ? [frame, end] : [['header', header], frame, end];
  await writeExportFile(path, all(...(frames as Frame[])));
  const reading = async () => {
    await checkExportFile(path);
    await read(path);
  };
  await expect(reading()).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringMatching(/^[^\n]*is damaged: [^\n]+ Export again\.$/) as string,
  });
});
