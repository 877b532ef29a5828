/** Segments of the write-ahead log in a real folder, while a sync is running. */
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { FrameBuilder, frameEntryBytes } from '../../../runtime/log/wal/frame.ts';
import { openWalFolder, type WalFolder } from '../../../runtime/log/wal/folder.ts';
import { recoverWal } from '../../../runtime/log/wal/recovery.ts';
import { SEGMENT_BYTES_MAX, WriteAheadLog } from '../../../runtime/log/wal/write-ahead-log.ts';
import { scratchFolder } from '../config/folder.ts';

const CELL = 'c0'.repeat(16);
const SUBJECT = Buffer.from('s');
const frameOf = (bytes: number): Buffer => {
  const builder = new FrameBuilder(frameEntryBytes(SUBJECT, bytes));
  builder.entry(SUBJECT, 1, bytes).fill(1);
  return builder.bytes;
};

/** A log whose folder is synced only after `release`. */
const openHeld = () => {
  const path = scratchFolder();
  const folder = openWalFolder(path);
  let release = () => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  const held: WalFolder = { ...folder, sync: () => gate.then(() => folder.sync()) };
  const wal = new WriteAheadLog(held, CELL, { last: 0, segments: [], cut: undefined });
  const recovered = () =>
    recoverWal({ folder, path, cell: CELL, checkpoint: 0, onFrame: () => {} }).last;
  return { wal, release: () => release(), recovered };
};

const openFiles = (): number => readdirSync('/proc/self/fd').length;

it.runIf(process.platform === 'linux')(
  'a segment that is full before the running sync reaches it stays open until it is synced',
  async () => {
    const { wal, release, recovered } = openHeld();
    const before = openFiles();
    wal.write(frameOf(SEGMENT_BYTES_MAX));
    const first = wal.sync();
    await Promise.resolve();
    wal.write(frameOf(SEGMENT_BYTES_MAX));
    const second = wal.sync();
    wal.write(frameOf(10));
    release();
    await first;
    await second;
    await wal.sync();
    expect([wal.isSynced, wal.last, recovered()]).toEqual([true, 3, 3]);
    expect(openFiles()).toBe(before + 1);
    wal.close();
    expect(openFiles()).toBe(before);
  },
);
