/**
 * What a backup contains of a data folder, what it leaves out, and what is known about the last
 * ones. Keys and logins of the installation are only in encrypted backups.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { TroupeError } from '../protocols/errors.ts';
import { type BackupConfig } from '../runtime/backup/frames.ts';
import type { SourceFile } from '../runtime/backup/file-frames.ts';
import { TEMPORARY_PREFIX, writeFileDurably } from '../runtime/blobs/durable-file.ts';
import {
  type Config,
  configFileName,
  type LoadedConfig,
  makeFolder,
  namedFolders,
  portableConfig,
  readSecretFile,
  SCHEMA_FILE_NAME,
  tokenFile,
  writeSecretFile,
} from '../runtime/config/index.ts';
import type { Metrics } from '../runtime/observe/metrics.ts';
import { knownSecrets } from './known-secrets.ts';
import { movedKeys } from './moved-keys.ts';

/** Folders of the data folder that every backup contains. */
const CARRIED = [
  'store/blobs',
  'workspaces',
  'artifacts',
  'skills',
  'hooks',
  'extensions',
  'tenants',
];
/** Of these a cluster has its own in its cell, and workers have copies. */
const IN_CELL: ReadonlySet<string> = new Set(['store/blobs', 'workspaces', 'artifacts']);
/** Folders that hold secrets: only in encrypted backups. */
const SEALED = ['a2a', 'mcp'];
/** Made again, or replaced by what is in the backup otherwise. */
const MADE_AGAIN = new Set([
  configFileName,
  SCHEMA_FILE_NAME,
  'store',
  'cluster-cache',
  // A backup must not replace the newer ledger of erasures.
  'erasures.jsonl',
]);
const NOTES = 'backup';
const REASONS: ReadonlyMap<string, string> = new Map([
  [basename(tokenFile('')), "the gateway's token: the next start makes another one"],
  ['device.json', 'the identity of this machine as a device'],
  ['gateway.json', 'the address of the running gateway'],
]);

/** Files of the data folder as they are now. */
export async function* backupFiles(
  config: Config,
  { isSealed, isCluster }: { readonly isSealed: boolean; readonly isCluster: boolean },
): AsyncGenerator<SourceFile> {
  const { home } = config;
  const carried = CARRIED.filter((folder) => !(isCluster && IN_CELL.has(folder)));
  const keys = new Set(movedKeys(config).map(({ path }) => path));
  for (const folder of isSealed ? [...carried, ...SEALED] : carried)
    for await (const path of filesBelow(home, folder)) {
      const from = join(home, path);
      if (isSealed || !keys.has(from)) yield { path, from };
    }
}

/** @throws TroupeError INVALID_ARGUMENT when a backup to this path would contain itself */
export function refuseInside({ home }: Pick<Config, 'home'>, path: string): void {
  const inside = [...CARRIED, ...SEALED, 'store']
    .map((folder) => join(home, folder))
    .find((folder) => `${path}/`.startsWith(`${folder}/`));
  if (inside !== undefined)
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `${path} is in ${inside}, which is backed up: name a place outside of the data folder`,
    );
}

async function* filesBelow(home: string, folder: string): AsyncGenerator<string> {
  const entries = await readdir(join(home, folder), { withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
      throw error;
    },
  );
  const isOurs = folder.startsWith('store/');
  for (const entry of entries) {
    const path = `${folder}/${entry.name}`;
    if (path === 'artifacts/incoming' || (isOurs && entry.name.startsWith(TEMPORARY_PREFIX)))
      continue;
    if (entry.isDirectory()) yield* filesBelow(home, path);
    else if (entry.isFile() || entry.isSymbolicLink()) yield path;
  }
}

/** The configuration with references to secrets, and what is left out, one line each. */
export async function backupConfig(
  { config, file }: LoadedConfig,
  { isSealed, withBucket }: { readonly isSealed: boolean; readonly withBucket: boolean },
): Promise<BackupConfig> {
  const { home } = config;
  const portable = file ? portableConfig(file, knownSecrets(config, process.env)) : undefined;
  const tops = new Set([...CARRIED, ...SEALED].map((path) => path.split('/')[0]!));
  const leftOut = (await readdir(home)).flatMap((name) => {
    if (tops.has(name) || MADE_AGAIN.has(name) || name === NOTES) return [];
    return [`${join(home, name)}: ${REASONS.get(name) ?? 'is not part of a backup'}`];
  });
  if (!isSealed)
    leftOut.push(
      ...[...SEALED.map((name) => join(home, name)), ...movedKeys(config).map(({ path }) => path)]
        .toSorted()
        .map((path) => `${path}: keys and logins are only in encrypted backups`),
    );
  const { workspaces } = config.runtime;
  const { artifacts } = config.a2a;
  const places = [workspaces.path, artifacts.path, ...namedFolders(config).map((f) => f.folder)];
  for (const place of places)
    if (place && !`${place}/`.startsWith(`${home}/`))
      leftOut.push(`${place}: is outside of the data folder; back it up in another way`);
  if (artifacts.s3 && !withBucket)
    leftOut.push(`the bucket ${artifacts.s3.bucket}: its files stay there`);
  return {
    ...(portable && { text: portable.text }),
    secrets: [...(portable?.secrets ?? [])],
    leftOut,
  };
}

/** For names and keys of encrypted objects; made once. Without it a backup copies every file. */
export async function objectSecret({ home }: Pick<Config, 'home'>): Promise<Uint8Array> {
  const path = join(home, NOTES, 'objects.key');
  await writeSecretFile(path, randomBytes(32).toString('hex'));
  return Buffer.from(((await readSecretFile(path)) ?? '').trim(), 'hex');
}

export type BackupNotes = {
  /** folder or file of the last backup that was created */
  readonly to?: string;
  /** of the newest backup that was verified, epoch milliseconds */
  readonly verified?: { readonly id: string; readonly createdAt: number; readonly at: number };
};

const notesFile = (home: string): string => join(home, NOTES, 'notes.json');

export function readBackupNotes({ home }: Pick<Config, 'home'>): BackupNotes {
  try {
    return JSON.parse(readFileSync(notesFile(home), 'utf8')) as BackupNotes;
  } catch {
    return {};
  }
}

/** An older verified backup never replaces a newer one. */
export async function noteBackup(config: Pick<Config, 'home'>, note: BackupNotes): Promise<void> {
  const before = readBackupNotes(config);
  const { verified = before.verified } = note;
  const isOlder = (before.verified?.createdAt ?? 0) > (verified?.createdAt ?? 0);
  const merged = { ...before, ...note, verified: isOlder ? before.verified : verified };
  makeFolder(join(config.home, NOTES));
  await writeFileDurably(notesFile(config.home), Buffer.from(`${JSON.stringify(merged)}\n`));
}

/** Seconds since the newest verified backup was made; infinite if there is none. */
export function verifiedBackupAge(config: Pick<Config, 'home'>, now = Date.now()): number {
  const { verified } = readBackupNotes(config);
  return verified === undefined ? Infinity : Math.max(0, (now - verified.createdAt) / 1_000);
}

/**
 * Of the backups that were verified with this data folder. The processes of a cluster have the same
 * `cell`: the smallest of their values counts.
 */
export const watchBackups = (
  config: Pick<Config, 'home'>,
  cell: string,
  metrics: Pick<Metrics, 'gaugeBy'>,
): void =>
  metrics.gaugeBy(
    {
      name: 'troupe_backup_age_seconds',
      help: 'Age of the newest verified backup; +Inf if there is none',
      label: 'cell',
    },
    () => ({ [cell]: verifiedBackupAge(config) }),
  );
