/** `troupe restore`: a new data folder, or a new cell of a cluster with its data folder. */
import { tmpdir } from 'node:os';
import { basename, dirname, resolve } from 'node:path';
import { ledgerBeside, notePending } from '../../installation/erasure/pending.ts';
import type { S3Artifacts } from '../../runtime/artifacts/s3.ts';
import type { Restored, RestoreOptions as RestoreInto } from '../../runtime/backup/restore.ts';
import { type Config, natsOptions } from '../../runtime/config/index.ts';
import { exitCodes, reportFailure } from '../exit.ts';
import { loadFrom } from '../options.ts';
import { printJson } from '../output.ts';
import { natsNamed } from '../processes/node.ts';
import { untilSignal } from '../processes/signals.ts';
import { withProgress } from '../progress.ts';
import { openingOf, type RestoreOptions } from './backup.ts';
import { placeOf } from './place.ts';

/** @throws TroupeError as `restoreBackup` */
export async function restore(path: string, options: RestoreOptions): Promise<number> {
  const into = resolve(options.data);
  const openWith = await openingOf(options);
  // A folder is restored also where no configuration can be read.
  const isLocal = options.nats === undefined && !path.startsWith('s3://');
  const config = isLocal ? undefined : (await loadFrom(options)).config;
  const signal = untilSignal();
  const place = await placeOf(path, { ...options, signal }, config);
  let pending = 0;
  let restored: Restored;
  try {
    restored = await withProgress(({ show }) =>
      place.read(tmpdir(), async (from) => {
        const done = await restoreInto(options, config, {
          from,
          into,
          openWith,
          onProgress: show,
          signal,
        });
        const beside = [dirname(done.path), done.path].map(ledgerBeside);
        const given = (options.erasures ?? []).map((file) => resolve(file));
        const ledgers = [...new Set([...beside, ...given])];
        pending = await notePending(into, ledgers, done.createdAt);
        return done;
      }),
    );
  } catch (error) {
    if (!signal.aborted) throw error;
    reportFailure(error, options);
    return exitCodes.interrupted;
  }
  report(restored, { into, pending, isCluster: options.nats !== undefined }, options);
  return exitCodes.ok;
}

async function restoreInto(
  options: RestoreOptions,
  config: Config | undefined,
  into: RestoreInto & { readonly signal: AbortSignal },
): Promise<Restored> {
  const { again = false, artifacts: withFiles = true } = options;
  const { restoreBackup } = await import('../../runtime/backup/restore.ts');
  const named = {
    ...into,
    ...(withFiles && { bucket: () => bucketOf(options, into.signal, config) }),
  };
  if (options.nats === undefined || config === undefined) return restoreBackup(named);
  natsNamed(config);
  const { openNatsTarget } = await import('../../runtime/transfer/nats-target.ts');
  const { env, replicas } = config.nats;
  const about = { ...natsOptions(config), name: 'troupe restore', env, replicas };
  const target = await openNatsTarget({ ...about, signal: into.signal });
  try {
    return await restoreBackup({ ...named, cluster: { target, env, again } });
  } finally {
    await target.close();
  }
}

/** The bucket that the configuration of the command names. */
async function bucketOf(
  options: RestoreOptions,
  signal: AbortSignal,
  config?: Config,
): Promise<S3Artifacts | undefined> {
  const { anyFile, openBucket } = await import('../../installation/artifact-bucket.ts');
  return openBucket(anyFile(config ?? (await loadFrom(options)).config), { signal });
}

type Outcome = {
  readonly into: string;
  readonly pending: number;
  readonly isCluster: boolean;
};

function report(
  { config, id, kind, cell, createdAt, position, counts, path }: Restored,
  { into, pending, isCluster }: Outcome,
  { json }: RestoreOptions,
): void {
  const { secrets, leftOut } = config;
  const facts = { data: into, id, kind, cell, createdAt, position, counts, secrets, leftOut };
  if (json) printJson({ ...facts, erasures: pending });
  else
    process.stdout.write(
      `${into}: restored from ${basename(path)} of ${new Date(createdAt).toISOString()}\n`,
    );
  const next = [
    'Before you start it:',
    '- Make sure that the original does not run, and never runs again: two copies would do everything twice.',
    ...secrets.map(({ path: key, from }) => `- Set the secret ${key}: it comes from ${from}.`),
    ...leftOut.map((line) => `- Not in the backup: ${line}.`),
    pending > 0
      ? `- ${pending} erasures are newer than the backup: the start with ${into} repeats them before it serves.`
      : '- No ledger names an erasure since the backup. If there was one, restore again with --erasures.',
    '- Effects that ran after the backup may run again. Channels such as WhatsApp may ask for a new login.',
    isCluster
      ? `Then: troupe worker and troupe gateway; start the first gateway with --data ${into}`
      : `Then: troupe start --data ${into}`,
  ];
  if (kind === 'cluster' && !isCluster)
    next.push(
      'This is the cell of a cluster in one data folder, to look at: files of workspaces and ' +
        'artifacts stay blobs. Restore with --nats to continue its work.',
    );
  process.stderr.write(`${next.join('\n')}\n`);
}
