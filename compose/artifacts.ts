/** Which bucket a configuration means. */
import { join } from 'node:path';
import { TroupeError } from '../protocols/errors.ts';
import { openFolderArtifacts } from '../runtime/artifacts/folder.ts';
import { openS3Artifacts } from '../runtime/artifacts/s3.ts';
import { bindHost, type Config } from '../runtime/config/index.ts';
import type { Artifacts, Clock } from '../runtime/index.ts';

export type OpenArtifactsOptions = {
  /**
   * where signed URLs of a folder point to, when the configuration does not say; default the
   * address that the gateway is configured to listen on
   */
  readonly publicUrl?: () => string;
  readonly clock?: Clock;
};

/**
 * The S3-compatible store when one is configured, else a folder.
 * @throws TroupeError UNAVAILABLE when the folder can not be used; INVALID_ARGUMENT for a bad key
 */
export async function openArtifacts(
  config: Config,
  options: OpenArtifactsOptions = {},
): Promise<Artifacts> {
  const { publicUrl, artifacts } = config.a2a;
  const { s3, encryptionKey, mimeTypes, bytesMax, keepDays } = artifacts;
  const clock = options.clock ? { clock: options.clock } : {};
  if (s3) {
    const { accessKeyId, secretAccessKey, ...place } = s3;
    const keys = { accessKeyId: accessKeyId.reveal(), secretAccessKey: secretAccessKey.reveal() };
    return openS3Artifacts({ ...place, ...keys, mimeTypes, ...clock });
  }
  const base = publicUrl?.replace(/\/+$/, '');
  return openFolderArtifacts({
    path: artifactsFolder(config),
    publicUrl: base === undefined ? (options.publicUrl ?? (() => gatewayUrl(config))) : () => base,
    mimeTypes,
    bytesMax,
    keepDays,
    ...(encryptionKey ? { encryptionKey: encryptionKey.reveal() } : {}),
    ...clock,
  });
}

export const artifactsFolder = ({ home, a2a }: Pick<Config, 'home' | 'a2a'>): string =>
  a2a.artifacts.path ?? join(home, 'artifacts');

/** The gateway's address by its configuration, as those on this machine reach it. */
export function gatewayUrl(config: Config): string {
  const host = bindHost(config) === '0.0.0.0' ? '127.0.0.1' : bindHost(config);
  return `http://${host.includes(':') ? `[${host}]` : host}:${config.gateway.port}`;
}

const none = (): Promise<never> =>
  Promise.reject(
    new TroupeError(
      'UNAVAILABLE',
      'this process has no bucket for artifacts: set a2a.enabled, and a2a.artifacts as needed',
    ),
  );

/** For a process without a bucket: everything is UNAVAILABLE. */
export const noArtifacts: Artifacts = { put: none, get: none, sign: none, resolve: none };
