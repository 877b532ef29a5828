/**
 * The keys that the processes of a cell share: where the data folder or the configuration contains
 * each of them, and the error when they cannot be used.
 */
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { jwksIn, sealingKeyFile, signingKeyFile } from '../channels/edge/identity/key-file.ts';
import { newSigningKey } from '../channels/edge/identity/local-issuer.ts';
import { TroupeError } from '../protocols/errors.ts';
import { newSealingKey } from '../protocols/security/sealed.ts';
import { sealingKey } from '../runtime/artifacts/sealed-file.ts';
import { newUrlKey, urlKeyFile } from '../runtime/artifacts/signing-key.ts';
import { type Config, natsServers } from '../runtime/config/index.ts';
import type { Blobs } from '../runtime/blobs/blobs.ts';
import { joinCellKeys, type KeyPlace, type KeysRefusal } from '../runtime/secrets/cell-keys.ts';
import { readSecretFile, writeSecretFile } from '../runtime/secrets/secret-file.ts';
import { filesKeyFile, keepsFilesInCell } from './artifact-bucket.ts';

export type Joining = {
  readonly blobs: Blobs;
  readonly cell: string;
  readonly role: 'worker' | 'gateway';
};

/**
 * Resolves when this process has the keys of its cell, in its data folder.
 * @throws TroupeError UNAUTHORIZED with the command to run; UNAVAILABLE
 */
export async function shareKeys(config: Config, { blobs, cell, role }: Joining): Promise<void> {
  if (isManaged(config)) return;
  const secret = config.cluster.secret?.reveal();
  try {
    await joinCellKeys({ blobs, cell, secret, places: placesOf(config) });
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    const { code, details, message } = error;
    if (code === 'INVALID_ARGUMENT')
      throw new TroupeError(code, `TROUPE_CLUSTER_SECRET cannot be used: ${message}`, {
        cause: error,
      });
    const say = refusals[details?.['reason'] as KeysRefusal];
    if (say === undefined) throw error;
    throw new TroupeError(code, say(config, role), { details: details ?? {}, cause: error });
  }
}

function placesOf({ home, a2a }: Config): readonly KeyPlace[] {
  const { sealingKeyFile: sealing, signingKeyFile: signing, artifacts } = a2a;
  const { encryptionKey } = artifacts;
  const files = fileOf('files', filesKeyFile(home), newFilesKey, isFilesKey);
  const sealingFile = fileOf('sealing', sealing ?? sealingKeyFile(home), newSealing, isPrivateJwks);
  const signingFile = fileOf('signing', signing ?? signingKeyFile(home), newSigning, isPrivateJwks);
  return [
    { ...sealingFile, managed: !!sealing },
    { ...signingFile, managed: !!signing },
    encryptionKey
      ? { ...files, managed: true, read: () => Promise.resolve(encryptionKey.reveal()) }
      : files,
    fileOf('urls', urlKeyFile(join(home, 'artifacts')), newUrls, isUrlKey),
  ];
}

/** Whether the operator configures all shared keys of each process, as docker-compose.yml does. */
const isManaged = (config: Config): boolean => {
  const { sealingKeyFile: sealing, signingKeyFile: signing } = config.a2a;
  return sealing !== undefined && signing !== undefined && !keepsFilesInCell(config);
};

const newSealing = async () => JSON.stringify(await newSealingKey());
const newSigning = () => Promise.resolve(JSON.stringify(newSigningKey()));
const newFilesKey = () => Promise.resolve(randomBytes(32).toString('hex'));
const newUrls = () => Promise.resolve(newUrlKey());

const isUrlKey = (text: string): boolean => /^[0-9a-f]{64}$/i.test(text);
const isFilesKey = (text: string): boolean => sealingKey(text).bytes.length > 0;
const isPrivateJwks = (text: string): boolean =>
  jwksIn(text, 'it').every(({ d }) => typeof d === 'string' && d !== '');

/** An invalid key is refused before the cell records it: the record is written once. */
function checked(path: string, text: string, isKey: (text: string) => boolean): string {
  let cause: unknown;
  try {
    if (isKey(text)) return text;
  } catch (error) {
    cause = error;
  }
  throw new TroupeError(
    'UNAVAILABLE',
    `the key file ${path} contains no key: restore it, or remove it if it was never used`,
    { cause },
  );
}

function fileOf(
  name: string,
  path: string,
  make: () => Promise<string>,
  isKey: (text: string) => boolean,
): KeyPlace {
  const unusable = (cause: unknown): never => {
    if (cause instanceof TroupeError) throw cause;
    const { code = 'unknown' } = cause as NodeJS.ErrnoException;
    throw new TroupeError('UNAVAILABLE', `the key file ${path} cannot be used (${code})`, {
      cause,
    });
  };
  return {
    name,
    managed: false,
    make,
    read: async () => {
      const text = (await readSecretFile(path).catch(unusable))?.trim();
      return text === undefined ? undefined : checked(path, text, isKey);
    },
    write: (text) => writeSecretFile(path, text).catch(unusable),
    remove: () => rm(path, { force: true }).catch(unusable),
  };
}

const commandOf = ({ home, nats }: Config, role: string, data = home): string =>
  `troupe ${role} --nats ${natsServers(nats).join(',')} --data ${data}`;

const refusals: Readonly<Record<KeysRefusal, (config: Config, role: string) => string>> = {
  NO_SECRET: (config, role) =>
    `the data folder ${config.home} does not have the keys of the cluster ${config.nats.env}; run ` +
    `with the cluster's secret: TROUPE_CLUSTER_SECRET=SECRET ${commandOf(config, role)}`,
  WRONG_SECRET: (config, role) =>
    `the secret does not open the keys of the cluster ${config.nats.env}; run with the secret that ` +
    `its first process had: TROUPE_CLUSTER_SECRET=SECRET ${commandOf(config, role)}`,
  NOT_SHARED: (config, role) =>
    `the data folder ${config.home} does not have the keys of the cluster ${config.nats.env}, which ` +
    'was started without a secret; restart a process that has them, and then this one, with the ' +
    'same secret (from `openssl rand -hex 32`): ' +
    `TROUPE_CLUSTER_SECRET=SECRET ${commandOf(config, role)}; if no process and no data folder has ` +
    `them any more: troupe cluster reset-keys --nats ${natsServers(config.nats).join(',')}`,
  OTHER_KEYS: (config, role) =>
    `the data folder ${config.home} has other keys than the cluster ${config.nats.env}; run with ` +
    "another data folder and the cluster's secret: TROUPE_CLUSTER_SECRET=SECRET " +
    commandOf(config, role, `${config.home}-${config.nats.env}`),
};
