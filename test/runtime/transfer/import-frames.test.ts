/**
 * The import of frames that this program does not write itself: those of older programs, and those
 * of shards in rare states.
 */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { decode, encode } from '../../../protocols/codec.ts';
import { deadLetterSubject, journalSubject } from '../../../protocols/subjects.ts';
import { Fold } from '../../../runtime/shard/commit/fold.ts';
import { loadShard } from '../../../runtime/shard/recovery/load.ts';
import { MemoryState } from '../../../runtime/state/memory.ts';
import { writeExportFile } from '../../../runtime/transfer/export-file.ts';
import { FORMAT, type Frame, type TransferCounts } from '../../../runtime/transfer/frames.ts';
import { importCell } from '../../../runtime/transfer/import.ts';
import { scratch } from './carried.ts';
import { MemoryPlace } from './places.ts';

async function* all(frames: readonly Frame[]): AsyncGenerator<Frame> {
  yield* frames;
}

it('reads a file of the first format, whose letters and audits have no domain', async () => {
  const file = join(await scratch(), 'file');
  const at = { format: 1, env: 'local', createdAt: 1, exportedAt: 1, program: 'test' };
  const counts = { shards: 0, actors: 0, entries: 0, transcripts: 0, letters: 2, blobs: 0 };
  const drop = { who: 'otto', why: 'seen', position: 12, at: 1, action: 'drop' };
  const letter = (n: number) => Buffer.from(`letter ${n}`);
  const frames: Frame[] = [
    ['header', { ...at, cell: 'c', shards: 1 }],
    [
      'letters',
      [
        [7, letter(7)],
        [12, letter(12)],
      ],
    ],
    ['audits', [encode(drop)]],
    ['end', counts as TransferCounts],
  ];
  await writeExportFile(file, all(frames));
  const { target, env } = new MemoryPlace();
  await importCell({ target, env, file });
  const letters = await target.log.read(deadLetterSubject('actors', env), 1);
  expect(letters.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual([
    'letter 7',
    'letter 12',
  ]);
  const [audit] = await target.log.read(deadLetterSubject('actors-audit', env), 1);
  expect(decode(audit!.bytes)).toEqual({ ...drop, position: letters[1]!.position });
});

it('keeps how often an input killed a process, under its new position', async () => {
  const { scalars } = Fold.empty(0, new MemoryState(), true, 'c');
  const tries = { 'm7.2': 2, 'm5.0': 1, 'c7.0': 1, 't9|x': 3 };
  const file = join(await scratch(), 'file');
  const at = { format: FORMAT, env: 'local', createdAt: 1, exportedAt: 1, program: 'test' };
  const mail = (position: number) => [position, 1, Buffer.from(`${position}`)] as const;
  const counts = {
    shards: 1,
    actors: 0,
    entries: 3,
    transcripts: 0,
    letters: 0,
    blobs: 0,
    artifacts: 0,
    history: 0,
  };
  const frames: Frame[] = [
    ['header', { ...at, cell: 'c', shards: 1 }],
    ['shard', 0, encode({ ...scalars, mailFloor: 5, tries })],
    ['mail', 'data', [mail(6), mail(7)]],
    ['mail', 'control', [mail(9)]],
    ['end', counts],
  ];
  await writeExportFile(file, all(frames));
  const { target, env } = new MemoryPlace();
  await importCell({ target, env, file });
  const state = new MemoryState();
  const journal = journalSubject(env, 0);
  const { fold } = await loadShard({ ...target, state, journal, shard: 0, cell: 'c' });
  expect(fold.scalars).toMatchObject({ mailFloor: 0, ctlFloor: 0 });
  expect(fold.scalars.tries).toEqual({ 'm2.2': 2, 't9|x': 3 });
});
