/** Selects the artifact bucket of a configuration. */
import { join } from 'node:path';
import { defined } from '../protocols/defined.ts';
import { BlobArtifacts, type BlobArtifactsOptions } from '../runtime/artifacts/blob-artifacts.ts';
import { openFolderArtifacts } from '../runtime/artifacts/folder.ts';
import type { S3Artifacts } from '../runtime/artifacts/s3.ts';
import { sealingKey } from '../runtime/artifacts/sealed-file.ts';
import { urlKeyFile } from '../runtime/artifacts/signing-key.ts';
import { gatewayOrigin, type Config } from '../runtime/config/index.ts';
import type { Blobs } from '../runtime/blobs/blobs.ts';
import type { Artifacts, Clock } from '../runtime/index.ts';
import { readSecretFile } from '../runtime/secrets/secret-file.ts';
import { withFolder } from './former-folder.ts';

export type OpenArtifactsOptions = {
  /**
   * base URL of signed URLs of a folder; default: the address on which the gateway is configured to
   * listen
   */
  readonly publicUrl?: () => string;
  /** of one tenant's files, read again for each file; default as the configuration has it */
  readonly bytesMax?: () => number;
  readonly clock?: Clock;
  /** of the joined cell, which stores files unless another bucket is configured */
  readonly blobs?: Blobs;
};

/**
 * Whether processes of a cluster store files in the cell, which is the default. A process with a
 * configured location stores files there, because the cell's servers may be elsewhere.
 */
export const keepsFilesInCell = ({ a2a }: Pick<Config, 'a2a'>): boolean => {
  const { s3, path, locality } = a2a.artifacts;
  const elsewhere = a2a.locality !== undefined && locality === undefined;
  return s3 === undefined && path === undefined && !elsewhere;
};

/** The key that encrypts files in a cell, unless the configuration has one. */
export const filesKeyFile = (home: string): string => join(home, 'a2a', 'files.key');

/**
 * The configured S3-compatible store, otherwise the configured folder, otherwise the blobs of the
 * cell, otherwise a folder of the data folder.
 * @throws TroupeError UNAVAILABLE when the folder cannot be used; INVALID_ARGUMENT for a bad key
 */
export async function openArtifacts(
  config: Config,
  options: OpenArtifactsOptions = {},
): Promise<Artifacts> {
  const { publicUrl, artifacts } = config.a2a;
  const { encryptionKey, mimeTypes } = artifacts;
  const { bytesMax = () => artifacts.bytesMax } = options;
  const clock = options.clock ? { clock: options.clock } : {};
  const bucket = await openBucket(config, options);
  if (bucket) return bucket;
  const base = publicUrl?.replace(/\/+$/, '');
  const url =
    base === undefined ? (options.publicUrl ?? (() => gatewayOrigin(config))) : () => base;
  const common = { publicUrl: url, mimeTypes, bytesMax, ...clock };
  const folder = () =>
    openFolderArtifacts({
      ...common,
      path: artifactsFolder(config),
      ...(encryptionKey ? { encryptionKey: encryptionKey.reveal() } : {}),
    });
  if (!options.blobs || !keepsFilesInCell(config)) return folder();
  const cell = new BlobArtifacts({ ...common, ...(await cellKeys(config)), blobs: options.blobs });
  return withFolder(cell, await folder());
}

/**
 * The configured S3-compatible store; undefined without one.
 * @param options.signal ends its requests with CANCELLED
 */
export async function openBucket(
  { a2a }: Pick<Config, 'a2a'>,
  options: Pick<OpenArtifactsOptions, 'clock'> & { readonly signal?: AbortSignal } = {},
): Promise<S3Artifacts | undefined> {
  const { s3, mimeTypes } = a2a.artifacts;
  if (!s3) return undefined;
  const { accessKeyId, secretAccessKey, ...place } = s3;
  const keys = { accessKeyId: accessKeyId.reveal(), secretAccessKey: secretAccessKey.reveal() };
  const { openS3Artifacts } = await import('../runtime/artifacts/s3.ts');
  const { clock, signal } = options;
  return openS3Artifacts({ ...place, ...keys, mimeTypes, ...defined({ clock, signal }) });
}

/** Existing files are imported whatever limits this configuration sets. */
export const anyFile = (config: Config): Config => {
  const artifacts = { ...config.a2a.artifacts, mimeTypes: ['*/*'], bytesMax: 2 ** 52 };
  return { ...config, a2a: { ...config.a2a, artifacts } };
};

/** They exist once the process has joined its cell. */
async function cellKeys(
  config: Config,
): Promise<Pick<BlobArtifactsOptions, 'sealingKey' | 'urlKey'>> {
  const { home, a2a } = config;
  const text = a2a.artifacts.encryptionKey?.reveal() ?? (await readSecretFile(filesKeyFile(home)));
  const urlKey = await readSecretFile(urlKeyFile(artifactsFolder(config)));
  return {
    sealingKey: sealingKey((text ?? '').trim()),
    urlKey: Buffer.from((urlKey ?? '').trim(), 'hex'),
  };
}

export const artifactsFolder = ({ home, a2a }: Pick<Config, 'home' | 'a2a'>): string =>
  a2a.artifacts.path ?? join(home, 'artifacts');
