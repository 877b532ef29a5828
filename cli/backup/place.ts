/** Where backups are: a folder, a single file, or a bucket (`s3://bucket/prefix`). */
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, resolve } from 'node:path';
import { ledgerFile } from '../../installation/erasure/ledger.ts';
import { copyLedger } from '../../installation/erasure/pending.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { ListedBackup, Pruned } from '../../runtime/backup/folder.ts';
import type { S3BucketOptions } from '../../runtime/backup/s3/bucket.ts';
import type { BackupTarget, CreatedBackup } from '../../runtime/backup/write-backup.ts';
import type { Config } from '../../runtime/config/index.ts';

export type S3Options = { readonly endpoint?: string };
type PlaceOptions = S3Options & {
  /** ends requests to a bucket with CANCELLED, except those that remove objects */
  readonly signal?: AbortSignal;
};

/** One place, whatever kind it is. */
export interface BackupPlace {
  readonly kind: 'folder' | 'file' | 's3';
  /** as it is shown and noted */
  readonly path: string;
  write(make: (to: BackupTarget) => Promise<CreatedBackup>): Promise<CreatedBackup>;
  /** @param use receives a local path of the backup, or of a folder of backups */
  read<T>(temporary: string, use: (from: string) => Promise<T>): Promise<T>;
  /** A backup was verified, and this was noted in its local folder. */
  verified(backup: { readonly path: string; readonly id: string }): Promise<void>;
  list(): Promise<readonly ListedBackup[]>;
  prune(keep: number): Promise<Pruned>;
  copyLedger(home: string): Promise<void>;
}

/** @throws TroupeError INVALID_ARGUMENT for a bucket without keys, or a malformed address */
export async function placeOf(
  path: string,
  options: PlaceOptions,
  config?: Pick<Config, 'a2a'>,
): Promise<BackupPlace> {
  if (path.startsWith('s3://')) return inBucket(path.replace(/\/+$/, ''), options, config);
  return onDisk(resolve(path));
}

function onDisk(path: string): BackupPlace {
  const folderParts = () => import('../../runtime/backup/folder.ts');
  const kind = path.endsWith('.troupe') ? 'file' : 'folder';
  return {
    kind,
    path,
    write: (make) => make(kind === 'file' ? { file: path } : { folder: path }),
    read: (_, use) => use(path),
    verified: async () => {},
    async list() {
      if (!existsSync(path)) throw new TroupeError('NOT_FOUND', `there is no folder ${path}`);
      return (await folderParts()).listBackups(path);
    },
    prune: async (keep) => (await folderParts()).pruneBackups(path, keep),
    copyLedger: (home) => copyLedger(home, kind === 'file' ? dirname(path) : path),
  };
}

const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/;
const BACKUP_ID = /(?:^|\/)(\d{8}T\d{9}Z-[0-9a-f]{8})$/;

async function inBucket(
  path: string,
  options: PlaceOptions,
  config?: Pick<Config, 'a2a'>,
): Promise<BackupPlace> {
  const [, bucket, below = ''] = ADDRESS.exec(path) ?? [];
  if (bucket === undefined)
    throw new TroupeError('INVALID_ARGUMENT', `${path} is not s3://bucket/prefix`);
  const id = BACKUP_ID.exec(below)?.[1];
  const prefix = id === undefined ? below : below.slice(0, -id.length).replace(/\/+$/, '');
  const [{ S3Bucket }, s3] = await Promise.all([
    import('../../runtime/backup/s3/bucket.ts'),
    import('../../runtime/backup/s3/s3-backups.ts'),
  ]);
  const account = accountFor(bucket, options, config);
  const { signal } = options;
  const place = new S3Bucket({ ...account, bucket, prefix, ...defined({ signal }) });
  const at = (temporary = tmpdir()) => ({ bucket: place, temporary });
  return {
    kind: 's3',
    path,
    async write(make) {
      const made = await s3.writeToBucket(at(), make);
      return { ...made, path: `${path}/${made.id}` };
    },
    read: (temporary, use) => s3.readFromBucket(at(temporary), id, use),
    verified: (backup) => s3.noteVerifiedInBucket(place, backup.path, backup.id),
    list: () => s3.listBucket(at()),
    prune: (keep) => s3.pruneBucket(at(), keep),
    copyLedger: (home) => s3.putLedger(place, ledgerFile(home)),
  };
}

/** The usual variables; else the keys of artifacts, if they are for the same bucket. */
function accountFor(
  bucket: string,
  { endpoint }: S3Options,
  config?: Pick<Config, 'a2a'>,
): Omit<S3BucketOptions, 'bucket' | 'prefix'> {
  const { env } = process;
  const configured = config?.a2a.artifacts.s3;
  const same = configured?.bucket === bucket ? configured : undefined;
  const region = env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'] ?? same?.region ?? 'us-east-1';
  const url = endpoint ?? env['AWS_ENDPOINT_URL_S3'] ?? env['AWS_ENDPOINT_URL'] ?? same?.endpoint;
  const accessKeyId = env['AWS_ACCESS_KEY_ID'];
  const secretAccessKey = env['AWS_SECRET_ACCESS_KEY'];
  const sessionToken = env['AWS_SESSION_TOKEN'];
  const place = { endpoint: url ?? `https://s3.${region}.amazonaws.com`, region };
  if (accessKeyId !== undefined && secretAccessKey !== undefined)
    return { ...place, accessKeyId, secretAccessKey, ...defined({ sessionToken }) };
  if (same)
    return {
      ...place,
      accessKeyId: same.accessKeyId.reveal(),
      secretAccessKey: same.secretAccessKey.reveal(),
    };
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `s3://${bucket} needs keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY`,
  );
}
