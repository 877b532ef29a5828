/** `troupe backup …` and `troupe restore`. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import {
  backupConfig,
  backupFiles,
  noteBackup,
  objectSecret,
  readBackupNotes,
  refuseInside,
} from '../../installation/backup-parts.ts';
import { copyLedger, ledgerBeside, notePending } from '../../installation/erasure/pending.ts';
import { defined } from '../../protocols/defined.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import type { CreatedBackup } from '../../runtime/backup/create.ts';
import {
  type Config,
  natsServers,
  readSecretFile,
  storeFolder,
  writeSecretFile,
} from '../../runtime/config/index.ts';
import type { OpenWith } from '../../runtime/transfer/envelope.ts';
import { exitCodes, reportFailure } from '../exit.ts';
import { type CommonOptions, loadFrom } from '../options.ts';
import { bytes, printJson } from '../output.ts';
import { untilSignal } from '../processes/signals.ts';
import { type PassphraseOptions, passphraseOf } from '../transfer/passphrase.ts';
import { withProgress } from '../progress.ts';
import { version } from '../version.ts';

type Json = { readonly json?: boolean };
type Opening = PassphraseOptions & { readonly identity?: string };
export type ListOptions = CommonOptions & { readonly from?: string };
export type CreateOptions = CommonOptions &
  PassphraseOptions & {
    readonly to: string;
    readonly recipient?: readonly string[];
    readonly keep?: number;
  };
export type VerifyOptions = CommonOptions & Opening & { readonly temporary?: string };
export type PruneOptions = Json & { readonly keep: number };
export type KeygenOptions = Json;
export type RestoreOptions = Json &
  Opening & { readonly data: string; readonly erasures?: readonly string[] };

const PASSPHRASE = 'TROUPE_BACKUP_PASSPHRASE';

/** @throws TroupeError as `createBackup` */
export async function create(options: CreateOptions): Promise<number> {
  const loaded = await loadFrom(options);
  const { config } = loaded;
  refuseCluster(config);
  const { createBackup } = await import('../../runtime/backup/create.ts');
  const passphrase = await passphraseOf(options, PASSPHRASE);
  const { recipient: recipients = [], keep } = options;
  const isSealed = passphrase !== undefined || recipients.length > 0;
  const path = resolve(options.to);
  const isFile = path.endsWith('.troupe');
  if (isFile && keep !== undefined)
    throw new TroupeError('INVALID_ARGUMENT', '--keep needs a folder of backups');
  if (isFile && existsSync(path))
    throw new TroupeError('CONFLICT', `${path} exists already: name another file`);
  refuseInside(config, path);
  const signal = untilSignal();
  let made: CreatedBackup;
  try {
    const ofBackup = await backupConfig(loaded, isSealed);
    const secret = isSealed ? await objectSecret(config) : undefined;
    made = await withProgress(({ show }) =>
      createBackup({
        store: storeFolder(config),
        files: () => backupFiles(config, isSealed),
        config: ofBackup,
        to: isFile ? { file: path } : { folder: path },
        program: version,
        seal: defined({ passphrase, recipients }),
        ...defined({ secret }),
        onProgress: show,
        signal,
      }),
    );
  } catch (error) {
    if (!signal.aborted) throw error;
    reportFailure(error, options);
    return exitCodes.interrupted;
  }
  await noteBackup(config, { to: path });
  await copyLedger(config.home, isFile ? dirname(path) : path);
  const { pruneBackups } = await import('../../runtime/backup/folder.ts');
  const pruned = keep === undefined ? undefined : await pruneBackups(path, keep);
  const { leftOut } = await backupConfig(loaded, isSealed);
  if (options.json) printJson({ ...made, leftOut, ...(pruned && { pruned }) });
  else process.stdout.write(createdText(made));
  for (const line of leftOut) process.stderr.write(`left out: ${line}\n`);
  if (!isSealed)
    process.stderr.write('This backup is not encrypted: keep it as secret as the data folder.\n');
  return exitCodes.ok;
}

const createdText = ({ path, position, files, newBytes, encrypted }: CreatedBackup): string =>
  `${path}: position ${position}, ${files} files, ${bytes(newBytes)} of them new` +
  `${encrypted ? ', encrypted' : ''}\nNext: troupe backup verify ${path}\n`;

function refuseCluster(config: Config): void {
  if (existsSync(join(storeFolder(config), 'store.json'))) return;
  if (natsServers(config.nats).length > 0)
    throw new TroupeError(
      'UNAVAILABLE',
      'troupe backup does not back up a cluster yet, only the data folder of troupe start. For a ' +
        'cluster, back up the streams of all NATS servers while every worker and gateway is stopped',
    );
  throw new TroupeError('NOT_FOUND', `${config.home} contains no data of troupe`);
}

/** @throws TroupeError as `verifyBackup` */
export async function verify(path: string, options: VerifyOptions): Promise<number> {
  const [{ verifyBackup }, { hasManifest, noteVerified }] = await Promise.all([
    import('../../runtime/backup/verify.ts'),
    import('../../runtime/backup/manifest.ts'),
  ]);
  const openWith = await openingOf(options);
  const verified = await withProgress(({ show }) =>
    verifyBackup({
      from: path,
      temporary: resolve(options.temporary ?? tmpdir()),
      openWith,
      onProgress: show,
    }),
  );
  const { id, createdAt, verifiedAt: at, cell, shards, actors, pending, counts } = verified;
  if (hasManifest(verified.path))
    await noteVerified(verified.path, at, { shards, actors, pending }).catch((error: unknown) =>
      warn(`the time cannot be noted in the backup: ${errorData(error).message}`),
    );
  const noted = await noteHere(options, cell, { id, createdAt, at }).catch((error: unknown) => {
    warn(`the time cannot be noted in the data folder: ${errorData(error).message}`);
    return false;
  });
  const { position } = verified;
  const facts = { id, path: verified.path, cell, createdAt, verifiedAt: at, position, noted };
  if (options.json) printJson({ ...facts, shards, actors, pending, counts });
  else
    process.stdout.write(
      `${verified.path} is complete: ${shards} shards, ${actors} actors, ${pending} pending messages, ` +
        `${counts.files} files, position ${position}\n`,
    );
  return exitCodes.ok;
}

/** Noted only in the data folder that the backup is of: its metric and doctor read it. */
async function noteHere(
  options: CommonOptions,
  cell: string,
  verified: { id: string; createdAt: number; at: number },
): Promise<boolean> {
  const { config } = await loadFrom(options);
  const file = await readSecretFile(join(storeFolder(config), 'store.json'));
  if (file === undefined || (JSON.parse(file) as { cell?: unknown }).cell !== cell) return false;
  await noteBackup(config, { verified });
  return true;
}

/** @throws TroupeError as `restoreBackup` */
export async function restore(path: string, options: RestoreOptions): Promise<number> {
  const { restoreBackup } = await import('../../runtime/backup/restore.ts');
  const into = resolve(options.data);
  const openWith = await openingOf(options);
  const restored = await withProgress(({ show }) =>
    restoreBackup({ from: path, into, openWith, onProgress: show }),
  );
  const { config, id, cell, createdAt, position, counts } = restored;
  const { secrets, leftOut } = config;
  const beside = [dirname(restored.path), restored.path].map(ledgerBeside);
  const ledgers = [
    ...new Set([...beside, ...(options.erasures ?? []).map((file) => resolve(file))]),
  ];
  const erasures = await notePending(into, ledgers, createdAt);
  if (options.json)
    printJson({ data: into, id, cell, createdAt, position, counts, secrets, leftOut, erasures });
  else
    process.stdout.write(
      `${into}: restored from ${basename(restored.path)} of ${new Date(createdAt).toISOString()}\n`,
    );
  const next = [
    'Before you start it:',
    '- Make sure that the original does not run, and never runs again: two copies would do everything twice.',
    ...secrets.map(({ path: key, from }) => `- Set the secret ${key}: it comes from ${from}.`),
    ...leftOut.map((line) => `- Not in the backup: ${line}.`),
    erasures > 0
      ? `- ${erasures} erasures are newer than the backup: the start repeats them before it serves.`
      : '- No ledger names an erasure since the backup. If there was one, restore again with --erasures.',
    '- Effects that ran after the backup may run again. Channels such as WhatsApp may ask for a new login.',
    `Then: troupe start --data ${into}`,
  ];
  process.stderr.write(`${next.join('\n')}\n`);
  return exitCodes.ok;
}

export async function list(options: ListOptions): Promise<number> {
  const { listBackups } = await import('../../runtime/backup/folder.ts');
  const path = options.from ?? readBackupNotes((await loadFrom(options)).config).to;
  if (path === undefined)
    throw new TroupeError('NOT_FOUND', 'there is no backup yet: troupe backup create --to FOLDER');
  if (!existsSync(path)) throw new TroupeError('NOT_FOUND', `there is no folder ${resolve(path)}`);
  const backups = await listBackups(resolve(path));
  if (options.json) printJson({ folder: resolve(path), backups });
  else
    for (const each of backups) {
      const text =
        'damage' in each
          ? each.damage
          : `position ${each.position}${each.encrypted ? ', encrypted' : ''}, ` +
            (each.verifiedAt === undefined
              ? 'never verified'
              : `verified ${new Date(each.verifiedAt).toISOString()}`);
      process.stdout.write(`${each.id}  ${text}\n`);
    }
  return exitCodes.ok;
}

export async function prune(folder: string, { keep, json }: PruneOptions): Promise<number> {
  const { pruneBackups } = await import('../../runtime/backup/folder.ts');
  const pruned = await pruneBackups(resolve(folder), keep);
  const { removed, kept, removedObjects } = pruned;
  if (json) printJson(pruned);
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

async function openingOf(options: Opening): Promise<OpenWith> {
  const passphrase = await passphraseOf(options, PASSPHRASE);
  if (options.identity === undefined) return defined({ passphrase });
  const identity = await readFile(options.identity, 'utf8').catch((cause: unknown) => {
    throw new TroupeError('NOT_FOUND', `the identity ${options.identity} cannot be read`, {
      cause,
    });
  });
  return { ...defined({ passphrase }), identities: [identity] };
}
