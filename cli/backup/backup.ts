/** `troupe backup …` and `troupe restore`. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { sessionHistory } from '../../actors/session/history-kept.ts';
import {
  backupConfig,
  backupFiles,
  noteBackup,
  objectSecret,
  readBackupNotes,
  refuseInside,
} from '../../installation/backup-parts.ts';
import { ledgerFile, readLedger } from '../../installation/erasure/ledger.ts';
import { defined } from '../../protocols/defined.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import type { BucketOptions } from '../../runtime/backup/bucket-files.ts';
import type { CreatedBackup, WriteBackupOptions } from '../../runtime/backup/write-backup.ts';
import {
  type Config,
  makeFolder,
  natsOptions,
  natsServers,
  readSecretFile,
  storeFolder,
  writeSecretFile,
} from '../../runtime/config/index.ts';
import { type HistoryPolicy, historyRules } from '../../runtime/history/policy.ts';
import type { ListedBackup, Pruned } from '../../runtime/backup/folder.ts';
import type { OpenWith } from '../../runtime/transfer/envelope.ts';
import { exitCodes, reportFailure } from '../exit.ts';
import { type CommonOptions, loadFrom } from '../options.ts';
import { bytes, printJson } from '../output.ts';
import { untilSignal } from '../processes/signals.ts';
import { type PassphraseOptions, passphraseOf } from '../transfer/passphrase.ts';
import { withProgress } from '../progress.ts';
import { version } from '../version.ts';
import { placeOf, type S3Options } from './place.ts';

type Json = { readonly json?: boolean };
export type Opening = PassphraseOptions & { readonly identity?: string };
export type ListOptions = CommonOptions & S3Options & { readonly from?: string };
type Chosen = Pick<CreateOptions, 'history' | 'artifacts'> & {
  readonly onLeftOut: (line: string) => void;
};
type CreateBackup = (
  config: Config,
  options: WriteBackupOptions,
  chosen: Chosen,
) => Promise<CreatedBackup>;
export type CreateOptions = CommonOptions &
  PassphraseOptions &
  S3Options & {
    readonly to: string;
    readonly recipient?: readonly string[];
    readonly keep?: number;
    /** both are part of a backup by default; `history` of a cluster */
    readonly history?: boolean;
    readonly artifacts?: boolean;
  };
export type VerifyOptions = CommonOptions & S3Options & Opening & { readonly temporary?: string };
export type PruneOptions = CommonOptions & S3Options & { readonly keep: number };
export type KeygenOptions = Json;
export type RestoreOptions = CommonOptions &
  S3Options &
  Opening & {
    readonly data: string;
    readonly erasures?: readonly string[];
    readonly artifacts?: boolean;
    readonly again?: boolean;
  };

const PASSPHRASE = 'TROUPE_BACKUP_PASSPHRASE';

/** @throws TroupeError as `createBackup` */
export async function create(options: CreateOptions): Promise<number> {
  const loaded = await loadFrom(options);
  const { config } = loaded;
  const isCluster = backsUpCluster(config, options);
  const passphrase = await passphraseOf(options, PASSPHRASE);
  const { recipient: recipients = [], keep } = options;
  const isSealed = passphrase !== undefined || recipients.length > 0;
  const signal = untilSignal();
  const place = await placeOf(options.to, { ...options, signal }, config);
  if (place.kind === 'file' && keep !== undefined)
    throw new TroupeError('INVALID_ARGUMENT', '--keep needs a folder of backups');
  if (place.kind === 'file' && existsSync(place.path))
    throw new TroupeError('CONFLICT', `${place.path} exists already: name another file`);
  if (place.kind !== 's3') refuseInside(config, place.path);
  makeFolder(config.home);
  const { history = true, artifacts = true } = options;
  const ofBackup = await backupConfig(loaded, { isSealed, withBucket: artifacts });
  const leftOut = [...ofBackup.leftOut];
  if (isCluster && !history) leftOut.push('what is kept of past turns: --no-history');
  const chosen = { history, artifacts, onLeftOut: (line: string) => void leftOut.push(line) };
  const secret = isSealed ? await objectSecret(config) : undefined;
  let made: CreatedBackup | undefined;
  let pruned: Pruned | undefined;
  try {
    made = await withProgress(({ show }) =>
      place.write((to) =>
        (isCluster ? createOfCluster : createOfStore)(
          config,
          {
            files: () => backupFiles(config, { isSealed, isCluster }),
            config: ofBackup,
            to,
            program: version,
            seal: defined({ passphrase, recipients }),
            ...defined({ secret }),
            onProgress: show,
            signal,
          },
          chosen,
        ),
      ),
    );
    await noteBackup(config, { to: place.path });
    await place.copyLedger(config.home);
    pruned = keep === undefined ? undefined : await place.prune(keep);
  } catch (error) {
    if (made) warn(`the backup is complete: ${made.path}. What follows it failed:`);
    if (!signal.aborted) throw error;
    reportFailure(error, options);
    return exitCodes.interrupted;
  }
  if (options.json) printJson({ ...made, leftOut, ...(pruned && { pruned }) });
  else process.stdout.write(createdText(made));
  for (const line of leftOut) process.stderr.write(`left out: ${line}\n`);
  if (!isSealed)
    process.stderr.write('This backup is not encrypted: keep it as secret as the data folder.\n');
  return exitCodes.ok;
}

const createOfStore: CreateBackup = async (config, options, chosen) => {
  const { createBackup } = await import('../../runtime/backup/create.ts');
  const bucket = await bucketOf(config, chosen, options.signal);
  return createBackup({ ...options, ...bucket, store: storeFolder(config) });
};

/** The bucket with tenants' files, if the configuration names one and its files are wanted. */
async function bucketOf(
  config: Config,
  { artifacts, onLeftOut }: Chosen,
  signal: AbortSignal | undefined,
): Promise<BucketOptions> {
  if (!artifacts || !config.a2a.artifacts.s3) return {};
  const { openBucket } = await import('../../installation/artifact-bucket.ts');
  return { onLeftOut, ...defined({ bucket: await openBucket(config, defined({ signal })) }) };
}

const createOfCluster: CreateBackup = async (config, options, chosen) => {
  const [{ openClusterSource }, { createClusterBackup }, bucket] = await Promise.all([
    import('../../runtime/backup/cluster/nats-source.ts'),
    import('../../runtime/backup/cluster/create-cluster.ts'),
    bucketOf(config, chosen, options.signal),
  ]);
  const history = chosen.history ? historyKept(config) : undefined;
  const { env } = config.nats;
  const { signal, onProgress } = options;
  const source = await openClusterSource({
    ...natsOptions(config),
    name: 'troupe backup',
    env,
    ...defined({ signal, onStatus: onProgress }),
  });
  try {
    return await createClusterBackup({ ...options, ...bucket, source, ...defined({ history }) });
  } finally {
    await source.close();
  }
};

/** As a worker of the cluster keeps it, except for types of actors that only it knows. */
function historyKept({ runtime }: Config): (type: string) => HistoryPolicy {
  const all = [{ type: 'session', history: sessionHistory }];
  const latest = (type: string) => all.find((each) => each.type === type);
  const rules = historyRules({ latest, all: () => all }, 1, runtime.history);
  return (type) => rules.policyOf(type);
}

const createdText = ({ path, position, files, newBytes, encrypted }: CreatedBackup): string =>
  `${path}: position ${position}, ${files} files, ${bytes(newBytes)} of them new` +
  `${encrypted ? ', encrypted' : ''}\nNext: troupe backup verify ${path}\n`;

/**
 * Whether the cluster is backed up, and not the data folder.
 * @throws TroupeError NOT_FOUND if there is neither
 */
function backsUpCluster(config: Config, { nats }: CreateOptions): boolean {
  const hasStore = existsSync(join(storeFolder(config), 'store.json'));
  if (nats === undefined && hasStore) return false;
  if (natsServers(config.nats).length > 0) return true;
  throw new TroupeError('NOT_FOUND', `${config.home} contains no data of troupe`);
}

/** @throws TroupeError as `verifyBackup` */
export async function verify(path: string, options: VerifyOptions): Promise<number> {
  const [{ verifyBackup }, { hasManifest, noteVerified }] = await Promise.all([
    import('../../runtime/backup/verify.ts'),
    import('../../runtime/backup/manifest.ts'),
  ]);
  const openWith = await openingOf(options);
  const { config } = await loadFrom(options);
  const place = await placeOf(path, options, config);
  const temporary = resolve(options.temporary ?? tmpdir());
  const verified = await withProgress(({ show }) =>
    place.read(temporary, async (from) => {
      const found = await verifyBackup({ from, temporary, openWith, onProgress: show });
      if (!hasManifest(found.path)) return found;
      const { verifiedAt, shards, actors, pending } = found;
      await noteVerified(found.path, verifiedAt, { shards, actors, pending })
        .then(() => place.verified(found))
        .catch((error: unknown) =>
          warn(`the time cannot be noted in the backup: ${errorData(error).message}`),
        );
      return found;
    }),
  );
  const { id, createdAt, verifiedAt: at, cell, shards, actors, pending, counts } = verified;
  const isOurs = isNotedPlace(config, path) ? cell : undefined;
  const noted = await noteHere(config, { cell, isOurs }, { id, createdAt, at }).catch(
    (error: unknown) => {
      warn(`the time cannot be noted in the data folder: ${errorData(error).message}`);
      return false;
    },
  );
  const { position } = verified;
  const shown = place.kind === 's3' ? `${place.path}/${id}` : verified.path;
  const facts = { id, path: shown, cell, createdAt, verifiedAt: at, position, noted };
  if (options.json) printJson({ ...facts, shards, actors, pending, counts });
  else
    process.stdout.write(
      `${shown} is complete: ${shards} shards, ${actors} actors, ${pending} pending messages, ` +
        `${counts.files} files, position ${position}\n`,
    );
  return exitCodes.ok;
}

/**
 * Whether the last backup of this data folder was written there: that is how a cluster's is known.
 */
function isNotedPlace(config: Config, path: string): boolean {
  const { to } = readBackupNotes(config);
  if (to === undefined) return false;
  const named = path.startsWith('s3://') ? path : resolve(path);
  return named === to || dirname(named) === to || named.startsWith(`${to}/`);
}

/** Noted only in the data folder that the backup is of: its metric and doctor read it. */
async function noteHere(
  config: Config,
  { cell, isOurs }: { cell: string; isOurs: string | undefined },
  verified: { id: string; createdAt: number; at: number },
): Promise<boolean> {
  const file = await readSecretFile(join(storeFolder(config), 'store.json'));
  const own = file === undefined ? isOurs : (JSON.parse(file) as { cell?: unknown }).cell;
  if (own !== cell) return false;
  await noteBackup(config, { verified });
  return true;
}

export async function list(options: ListOptions): Promise<number> {
  const { config } = await loadFrom(options);
  const from = options.from ?? readBackupNotes(config).to;
  if (from === undefined)
    throw new TroupeError('NOT_FOUND', 'there is no backup yet: troupe backup create --to FOLDER');
  const place = await placeOf(from, options, config);
  const backups = await place.list();
  const erasures = await readLedger(ledgerFile(config.home));
  const marked = backups.map((each) => {
    const later = 'damage' in each ? [] : erasures.filter(({ at }) => at >= each.createdAt);
    const at = later.map((erasure) => erasure.at).sort((a, b) => a - b);
    return { ...each, ...(at.length > 0 && { erasedAfter: at }) };
  });
  if (options.json) printJson({ folder: place.path, backups: marked });
  else for (const each of marked) process.stdout.write(`${each.id}  ${stateOf(each)}\n`);
  return exitCodes.ok;
}

/** @param erasedAfter times of erasures that a restore of the backup repeats */
function stateOf(each: ListedBackup & { readonly erasedAfter?: readonly number[] }): string {
  if ('damage' in each) return each.damage;
  const { position, encrypted, verifiedAt, erasedAfter = [] } = each;
  const verified =
    verifiedAt === undefined ? 'never verified' : `verified ${new Date(verifiedAt).toISOString()}`;
  const days = [...new Set(erasedAfter.map((at) => new Date(at).toISOString().slice(0, 10)))];
  const erased =
    days.length === 0 ? '' : `; contains data erased on ${days.join(', ')}: erased at restore`;
  return `position ${position}${encrypted ? ', encrypted' : ''}, ${verified}${erased}`;
}

export async function prune(path: string, options: PruneOptions): Promise<number> {
  const place = await placeOf(path, options, (await loadFrom(options)).config);
  const pruned = await place.prune(options.keep);
  const { removed, kept, removedObjects } = pruned;
  if (options.json) printJson(pruned);
  else
    process.stdout.write(
      `removed ${removed.length} backups and ${removedObjects} files; ${kept.length} backups stay\n`,
    );
  return exitCodes.ok;
}

/** @throws TroupeError CONFLICT when the file exists */
export async function keygen(file: string, { json }: KeygenOptions): Promise<number> {
  const { newRecipientKeys } = await import('../../runtime/secrets/recipient.ts');
  const { identity, recipient } = newRecipientKeys();
  if (!(await writeSecretFile(resolve(file), identity)))
    throw new TroupeError('CONFLICT', `${file} exists already: name another file`);
  if (json) printJson({ file: resolve(file), recipient });
  else process.stdout.write(`${recipient}\n`);
  return exitCodes.ok;
}

const warn = (line: string): void => void process.stderr.write(`troupe: ${line}\n`);

export async function openingOf(options: Opening): Promise<OpenWith> {
  const passphrase = await passphraseOf(options, PASSPHRASE);
  if (options.identity === undefined) return defined({ passphrase });
  const identity = await readFile(options.identity, 'utf8').catch((cause: unknown) => {
    throw new TroupeError('NOT_FOUND', `the identity ${options.identity} cannot be read`, {
      cause,
    });
  });
  return { ...defined({ passphrase }), identities: [identity] };
}
