/**
 * Manifest: what can be known about a backup in a folder without opening it.
 *
 *   FOLDER/objects/ab/<name>    contents of files, shared by the backups
 *   FOLDER/<id>/manifest.json   this
 *   FOLDER/<id>/backup.troupe   the frames
 *   FOLDER/<id>/objects.txt     names of the objects that it refers to, one a line
 *   FOLDER/<id>/verified.json   when it was verified last
 *
 * A folder of a backup has its name only when it is complete.
 */
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { TroupeError } from '../../protocols/errors.ts';
import { writeFileDurably } from '../blobs/durable-file.ts';
import { BACKUP_FORMAT } from './frames.ts';

export const BACKUP_FILE = 'backup.troupe';
export const OBJECTS_FILE = 'objects.txt';
export const MANIFEST_FILE = 'manifest.json';
export const VERIFIED_FILE = 'verified.json';
/** Of a backup. */
export const ID = /^\d{8}T\d{9}Z-[0-9a-f]{8}$/;

const Part = Type.Object({
  file: Type.String(),
  bytes: Type.Integer({ minimum: 0 }),
  sha256: Type.String(),
});
const Manifest = Type.Object({
  format: Type.Integer({ minimum: 1 }),
  minReader: Type.Integer({ minimum: 1 }),
  id: Type.String(),
  kind: Type.String(),
  cell: Type.String(),
  program: Type.String(),
  /** epoch milliseconds */
  createdAt: Type.Integer({ minimum: 0 }),
  /** last frame of the log that is in it */
  position: Type.Integer({ minimum: 0 }),
  encrypted: Type.Boolean(),
  parts: Type.Array(Part),
});
export type Manifest = Static<typeof Manifest>;
const isManifest = TypeCompiler.Compile(Manifest);

/** Later backups have greater ids: the time to the millisecond, and a random part. */
export const backupId = (now: number): string =>
  `${new Date(now).toISOString().replaceAll(/[-:.]/g, '')}-${randomBytes(4).toString('hex')}`;

export const hasManifest = (path: string): boolean => existsSync(join(path, MANIFEST_FILE));

export const writeManifest = (path: string, manifest: Manifest): Promise<void> => {
  const text = JSON.stringify({ manifest, sha256: sha256Of(JSON.stringify(manifest)) }, null, 2);
  return writeFileDurably(join(path, MANIFEST_FILE), Buffer.from(`${text}\n`));
};

/**
 * The manifest of a backup's folder, whose parts other than the frames are checked.
 * @throws TroupeError NOT_FOUND without one; INVALID_ARGUMENT when it is damaged, or of a newer
 * format
 */
export async function readManifest(path: string): Promise<Manifest> {
  if (!hasManifest(path)) throw new TroupeError('NOT_FOUND', `there is no backup in ${path}`);
  const damaged = (why: string) =>
    new TroupeError('INVALID_ARGUMENT', `the backup ${path} is damaged: ${why}`);
  let read: { manifest?: unknown; sha256?: unknown } | null;
  try {
    read = JSON.parse(await readFile(join(path, MANIFEST_FILE), 'utf8')) as typeof read;
  } catch {
    throw damaged('its manifest cannot be read');
  }
  const manifest = read?.manifest;
  if (!isManifest.Check(manifest) || read?.sha256 !== sha256Of(JSON.stringify(manifest)))
    throw damaged('its manifest was changed');
  if (manifest.minReader > BACKUP_FORMAT)
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `${path} needs a program that reads format ${manifest.minReader} of backups, and was written ` +
        `by troupe ${manifest.program}; this program reads up to ${BACKUP_FORMAT}`,
    );
  for (const { file, bytes } of manifest.parts) {
    const part = join(path, file);
    if (!existsSync(part)) throw damaged(`${file} is missing`);
    if (file === BACKUP_FILE) continue;
    const contents = await readFile(part);
    const { sha256 } = partOf(manifest, file);
    if (contents.length !== bytes || sha256Of(contents) !== sha256)
      throw damaged(`${file} is cut short, or changed`);
  }
  return manifest;
}

export const partOf = ({ parts }: Manifest, file: string): Static<typeof Part> => {
  const part = parts.find((each) => each.file === file);
  if (part === undefined)
    throw new TroupeError('INVALID_ARGUMENT', `the manifest does not name ${file}`);
  return part;
};

/** Ids of the backups in a folder, oldest first. */
export async function backupsIn(folder: string): Promise<readonly string[]> {
  if (!existsSync(folder)) return [];
  const names = await readdir(folder);
  return names.filter((name) => ID.test(name) && hasManifest(join(folder, name))).sort();
}

/** Epoch milliseconds; undefined for a backup that was not verified. */
export async function verifiedAt(path: string): Promise<number | undefined> {
  try {
    const text = await readFile(join(path, VERIFIED_FILE), 'utf8');
    const { at } = JSON.parse(text) as { at?: unknown };
    return typeof at === 'number' ? at : undefined;
  } catch {
    return undefined;
  }
}

export const noteVerified = (path: string, at: number, facts: object): Promise<void> =>
  writeFileDurably(
    join(path, VERIFIED_FILE),
    Buffer.from(`${JSON.stringify({ at, ...facts }, null, 2)}\n`),
  );

export const sha256Of = (contents: string | Uint8Array): string =>
  createHash('sha256').update(contents).digest('hex');
