/**
 * Tenants' files in an S3 bucket, as files of a backup. Their names are the hashes of their
 * contents, so only those that no earlier backup has are read. They are listed after the cut: a
 * file is stored before an actor refers to it.
 */
import { errorData, TroupeError } from '../../protocols/errors.ts';
import type { ListedArtifact, S3Artifacts } from '../artifacts/s3.ts';
import type { Frame } from '../transfer/frames.ts';
import type { FileFrames } from './file-frames.ts';
import { type BackupFrame, BUCKET_FOLDER } from './frames.ts';

export type BucketSource = Pick<S3Artifacts, 'list' | 'find' | 'get'>;

export type BucketOptions = {
  /** tenants' files outside of the cell and of the data folder; default: none */
  readonly bucket?: BucketSource;
  /** receives a line for each object that is damaged, or was not stored by troupe */
  readonly onLeftOut?: (line: string) => void;
};

/** Files whose types are asked for at once. */
const AT_ONCE = 16;

/** @throws TroupeError UNAVAILABLE when the bucket cannot be listed or read */
export async function* bucketFrames(
  { bucket, onLeftOut = () => {} }: BucketOptions,
  files: FileFrames,
): AsyncGenerator<BackupFrame> {
  if (!bucket) return;
  const typeOf = async ({ tenant, hash }: ListedArtifact) => {
    try {
      return (await bucket.find(tenant, hash))?.contentType;
    } catch (error) {
      if (errorData(error).code !== 'INTERNAL') throw error;
      onLeftOut(`the object ${tenant}/${hash}: ${errorData(error).message}`);
      return undefined;
    }
  };
  for await (const page of listed(bucket))
    for (let at = 0; at < page.length; at += AT_ONCE) {
      const some = page.slice(at, at + AT_ONCE);
      const types = await Promise.all(some.map(typeOf));
      for (const [i, file] of some.entries()) {
        const type = types[i];
        if (type !== undefined) yield* fileFrames(bucket, files, { ...file, type }, onLeftOut);
      }
    }
}

async function* fileFrames(
  bucket: BucketSource,
  files: FileFrames,
  { tenant, hash, bytes, type }: ListedArtifact & { readonly type: string },
  onLeftOut: (line: string) => void,
): AsyncGenerator<BackupFrame> {
  const path = `${BUCKET_FOLDER}${tenant}/${hash}/${encodeURIComponent(type)}`;
  if (yield* files.known(path, hash, bytes)) return;
  try {
    const { contents } = await bucket.get(tenant, hash);
    yield* files.contents(path, contents);
  } catch (error) {
    const { code, message } = errorData(error);
    // Removed by the lifecycle rules of the bucket, or damaged.
    if (code !== 'NOT_FOUND' && code !== 'INTERNAL') throw error;
    onLeftOut(`the object ${tenant}/${hash}: ${message}`);
  }
}

/** An access key that only reads and writes files may not list them. */
async function* listed(bucket: BucketSource): AsyncGenerator<readonly ListedArtifact[]> {
  try {
    yield* bucket.list();
  } catch (error) {
    if (errorData(error).details?.['store'] !== 'AccessDenied') throw error;
    throw new TroupeError(
      'UNAVAILABLE',
      'the keys of a2a.artifacts.s3 may not list the bucket, which a backup of its files needs: ' +
        'give this machine keys with s3:ListBucket, or give --no-artifacts',
      { cause: error },
    );
  }
}

/** The frame of an export for a file below `bucket/`; undefined for a path that is none. */
export function artifactFrame(path: string, contents: Uint8Array): Frame | undefined {
  const [tenant, hash, type, ...more] = path.slice(BUCKET_FOLDER.length).split('/');
  if (tenant === undefined || hash === undefined || type === undefined || more.length > 0)
    return undefined;
  return ['artifact', tenant, decodeURIComponent(type), contents];
}
