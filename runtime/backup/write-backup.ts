/**
 * Writes the frames of a backup, of whatever kind, into a folder of backups or into one file. A
 * backup has its name only when it is complete.
 */
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder, TEMPORARY_PREFIX, writeFileDurably } from '../blobs/durable-file.ts';
import { lockFolder } from '../log/folder-lock.ts';
import { makeFolder } from '../make-folder.ts';
import { isSealed, type SealFor } from '../transfer/envelope.ts';
import { writeFramedFile } from '../transfer/framed-file.ts';
import type { FileFrames, FileFramesOptions } from './file-frames.ts';
import {
  BACKUP_FORMAT,
  type BackupConfig,
  type BackupCounts,
  type BackupFrame,
  type BackupHeader,
} from './frames.ts';
import { BACKUP_FILE, backupId, OBJECTS_FILE, sha256Of, writeManifest } from './manifest.ts';
import { ObjectWriter } from './objects.ts';

export type WriteBackupOptions = FileFramesOptions & {
  readonly config: BackupConfig;
  /** a folder of backups, which shares objects between them; or one new file */
  readonly to: BackupTarget;
  /** version of this program */
  readonly program: string;
  /** default: none, so the backup is not encrypted */
  readonly seal?: SealFor;
  /** for encrypted objects: 32 bytes that stay the same; required with `seal` and a folder */
  readonly secret?: Uint8Array;
};

export type BackupTarget =
  | {
      readonly folder: string;
      /** objects that are stored elsewhere, and are not written here; default none */
      readonly stored?: ReadonlySet<string>;
    }
  | { readonly file: string };

export type CreatedBackup = BackupCounts & {
  readonly id: string;
  readonly path: string;
  readonly cell: string;
  readonly createdAt: number;
  readonly position: number;
  readonly encrypted: boolean;
  /** contents that an earlier backup of the folder did not have */
  readonly newObjects: number;
  readonly newBytes: number;
  /** from the begin of the cut until it was held, milliseconds; no writer waits for it */
  readonly cutMs: number;
};

/** What lies between the configuration and the end of a backup. */
export interface BackupContent {
  frames(): AsyncGenerator<BackupFrame>;
  readonly files: FileFrames;
  readonly counts: Omit<BackupCounts, 'files' | 'bytes'>;
  readonly position: number;
  readonly cutMs: number;
}

export function newHeader(
  { program }: Pick<WriteBackupOptions, 'program'>,
  kind: BackupHeader['kind'],
  cell: string,
  minReader: number,
): BackupHeader {
  const createdAt = Date.now();
  const id = backupId(createdAt);
  const formats = { format: BACKUP_FORMAT, minReader };
  return { ...formats, id, kind, cell, program, createdAt };
}

/**
 * @throws TroupeError CONFLICT when the file exists; UNAVAILABLE (LOCKED) when another process
 * writes to the folder of backups
 */
export async function writeBackup(
  options: WriteBackupOptions,
  header: BackupHeader,
  contentOf: (objects?: ObjectWriter) => BackupContent,
): Promise<CreatedBackup> {
  const { to, seal = {} } = options;
  if ('folder' in to) return intoFolder(options, header, contentOf, to);
  const content = contentOf();
  await writeFramedFile(to.file, allFrames(options, header, content), { seal, level: 1 });
  return summaryOf(options, header, content, to.file);
}

async function intoFolder(
  options: WriteBackupOptions,
  header: BackupHeader,
  contentOf: (objects: ObjectWriter) => BackupContent,
  { folder, stored }: Extract<BackupTarget, { folder: string }>,
): Promise<CreatedBackup> {
  const { seal = {}, secret, program } = options;
  makeFolder(folder);
  const lock = await lockFolder(folder);
  const { id, ...about } = header;
  const draft = join(folder, TEMPORARY_PREFIX + id);
  try {
    await removeDrafts(folder);
    makeFolder(draft);
    const objects = new ObjectWriter(folder, isSealed(seal) ? secret : undefined, stored);
    const content = contentOf(objects);
    const frames = allFrames(options, header, content);
    const written = await writeFramedFile(join(draft, BACKUP_FILE), frames, { seal, level: 1 });
    const names = Buffer.from([...objects.names].sort().join('\n'));
    await writeFileDurably(join(draft, OBJECTS_FILE), names);
    const listed = { file: OBJECTS_FILE, bytes: names.length, sha256: sha256Of(names) };
    await writeManifest(draft, {
      ...about,
      id,
      program,
      position: content.position,
      encrypted: isSealed(seal),
      parts: [{ file: BACKUP_FILE, ...written }, listed],
    });
    await rename(draft, join(folder, id));
    await syncFolder(folder);
    return summaryOf(options, header, content, join(folder, id), objects);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  } finally {
    await lock.release();
  }
}

/** What a killed process left. Its objects stay: the next backup refers to them. */
async function removeDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name.startsWith(TEMPORARY_PREFIX))
      await rm(join(folder, name), { recursive: true, force: true });
}

async function* allFrames(
  { config }: WriteBackupOptions,
  header: BackupHeader,
  content: BackupContent,
): AsyncGenerator<BackupFrame> {
  yield ['backup', header];
  yield ['config', config];
  yield* content.frames();
  yield ['end', totalOf(content)];
}

const totalOf = ({ counts, files }: BackupContent): BackupCounts => ({
  ...counts,
  files: files.count,
  bytes: files.bytes,
});

function summaryOf(
  { seal = {} }: WriteBackupOptions,
  { id, cell, createdAt }: BackupHeader,
  content: BackupContent,
  path: string,
  objects?: ObjectWriter,
): CreatedBackup {
  const { newObjects = 0, newBytes = 0 } = objects ?? {};
  const about = { id, path, cell, createdAt, position: content.position };
  const cutMs = Math.round(content.cutMs);
  return { ...about, ...totalOf(content), encrypted: isSealed(seal), newObjects, newBytes, cutMs };
}
