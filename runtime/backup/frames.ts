/**
 * Frames: the content of a backup, in the order in which it is written and read:
 *
 *   backup      config
 *   files       those that changed rarely or never, before the cut
 *   cut         the position of everything below
 *   files       those that changed since
 *   rows …      the tables of LMDB
 *   files       the segments of the write-ahead log
 *   end
 *
 * In a backup of a cluster, `part` frames take the place of cut, rows and segments: each is one
 * frame of an export (`runtime/transfer/frames.ts`), and the blobs of the cell are files below
 * `blobs/`. Files of tenants in a bucket are below `bucket/`, as
 * `bucket/{tenant}/{hash}/{content type, escaped}`, in both kinds.
 *
 * A file is `file · piece … · fileEnd`, or one `object` that names its contents in the folder of
 * objects. A path that comes again replaces the earlier file.
 */
import { type Static, Type } from '@sinclair/typebox';
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler';
import { checkFrame } from '../transfer/check-frame.ts';
import type { Frame } from '../transfer/frames.ts';

/**
 * Of the frames. 2: backups of a cluster. 3: these with history, and with files of a bucket. 4:
 * backups of a data folder with files of a bucket.
 */
export const BACKUP_FORMAT = 4;
/**
 * The lowest reader that understands a backup of each kind: of a data folder, of one with files of
 * a bucket, and of a cluster.
 */
export const MIN_READERS = { embedded: 1, withBucket: 4, cluster: 3 } as const;
/** Place of the blobs of a cell, in a backup of a cluster. */
export const BLOBS_FOLDER = 'blobs/';
/** Place of tenants' files that were in an S3 bucket. */
export const BUCKET_FOLDER = 'bucket/';
/** A page of rows, or a piece of a file, is closed when it has this number of bytes. */
export const PAGE_BYTES = 256 * 1024;

const Whole = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Text = (maxLength: number) => Type.String({ minLength: 1, maxLength });
const Bytes = Type.Uint8Array();
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });
const Path = Text(4_096);

const Header = Type.Object({
  format: Type.Integer({ minimum: 1 }),
  /** a program that reads less refuses the backup */
  minReader: Type.Integer({ minimum: 1 }),
  /** time of the backup and a random part; also the name of its folder */
  id: Type.String({ pattern: '^[0-9]{8}T[0-9]{9}Z-[0-9a-f]{8}$' }),
  kind: Type.Union([Type.Literal('embedded'), Type.Literal('cluster')]),
  cell: Text(64),
  /** version of the program that wrote it */
  program: Text(100),
  /** epoch milliseconds */
  createdAt: Whole,
});

const SecretPlace = Type.Object({
  /** of the configuration, as a person writes it */
  path: Text(1_000),
  /** where the restored configuration expects the value, in words */
  from: Text(4_096),
});

const Config = Type.Object({
  /** JSON5 with references to secrets; absent when there is no file */
  text: Type.Optional(Type.String()),
  secrets: Type.Array(SecretPlace),
  /** what the backup does not contain, one line each */
  leftOut: Type.Array(Type.String()),
});

const Point = Type.Object({
  storeFormat: Type.Integer({ minimum: 1 }),
  /** last frame of the log that the rows contain, and last one of the backup */
  checkpoint: Whole,
  position: Whole,
});

const ObjectRef = Type.Object({
  name: Sha256,
  /** of its contents, before encryption */
  bytes: Whole,
  sha256: Sha256,
  /** of an encrypted object */
  key: Type.Optional(Bytes),
});

const Counts = Type.Object({
  meta: Whole,
  log: Whole,
  state: Whole,
  /** entries of the log above the checkpoint */
  entries: Whole,
  /** different paths; segments of the log included */
  files: Whole,
  /** of the contents of files */
  bytes: Whole,
});

export type BackupHeader = Static<typeof Header>;
export type BackupConfig = Static<typeof Config>;
export type SecretPlace = Static<typeof SecretPlace>;
export type CutPoint = Static<typeof Point>;
export type ObjectRef = Static<typeof ObjectRef>;
export type BackupCounts = Static<typeof Counts>;
export type BackupTable = 'meta' | 'log' | 'state';

export type BackupFrame =
  | readonly ['backup', BackupHeader]
  | readonly ['config', BackupConfig]
  | readonly ['file', path: string, mode: number]
  | readonly ['piece', Uint8Array]
  | readonly ['fileEnd', bytes: number, sha256: string]
  | readonly ['object', path: string, mode: number, ObjectRef]
  | readonly ['link', path: string, target: string]
  | readonly ['cut', CutPoint]
  /** key, value, key, value, … */
  | readonly ['rows', BackupTable, readonly Uint8Array[]]
  /** of a cluster */
  | readonly ['part', Frame]
  | readonly ['end', BackupCounts];

const Mode = Type.Integer({ minimum: 0, maximum: 0o777 });
const Table = Type.Union([Type.Literal('meta'), Type.Literal('log'), Type.Literal('state')]);
const named = (name: string, ...parts: Parameters<typeof Type.Tuple>[0]) =>
  [name, TypeCompiler.Compile(Type.Tuple([Type.Literal(name), ...parts]))] as const;

const CHECKS: ReadonlyMap<unknown, TypeCheck<ReturnType<typeof Type.Tuple>>> = new Map([
  named('backup', Header),
  named('config', Config),
  named('file', Path, Mode),
  named('piece', Bytes),
  named('fileEnd', Whole, Sha256),
  named('object', Path, Mode, ObjectRef),
  named('link', Path, Path),
  named('cut', Point),
  named('rows', Table, Type.Array(Bytes)),
  named('part', Type.Unknown()),
  named('end', Counts),
]);

/** @throws Error that names the frame and its first fault */
export function checkBackupFrame(value: unknown): asserts value is BackupFrame {
  const name: unknown = Array.isArray(value) ? value[0] : undefined;
  const check = CHECKS.get(name);
  if (!check) throw new Error('it holds something that is not a frame of a backup');
  const fault = check.Errors(value).First();
  if (fault) throw new Error(`its frame "${String(name)}" is not valid at ${fault.path}`);
  if (name === 'part') checkFrame((value as readonly unknown[])[1]);
}
