/**
 * `troupe import`: loads a file of `troupe export` into a cluster that has no cell yet. Start
 * workers and gateways afterwards; those that start during the import wait for its end.
 */
import { resolve } from 'node:path';
import { anyFile, openArtifacts } from '../../installation/artifact-bucket.ts';
import { shareKeys } from '../../installation/cell-keys.ts';
import { openKeys, sealingKids } from '../../installation/moved-keys.ts';
import { unresolved } from '../../installation/transfer.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { type Config, natsOptions } from '../../runtime/config/index.ts';
import type { Artifacts } from '../../runtime/index.ts';
import { exitCodes, reportFailure } from '../exit.ts';
import { sentence } from './export.ts';
import { startProgress } from '../progress.ts';
import { natsNamed } from '../processes/node.ts';
import { type CommonOptions, loadFrom } from '../options.ts';
import { printJson } from '../output.ts';
import { PASSPHRASE, type PassphraseOptions, passphraseOf } from './passphrase.ts';
import { untilSignal } from '../processes/signals.ts';

export type ImportOptions = CommonOptions &
  PassphraseOptions & { readonly again?: boolean; readonly keys?: boolean };

/**
 * Returns exit code 1 when something that is referred to is missing.
 * @throws TroupeError CONFLICT when there is a cell, an import has not ended, or the data folder
 *   has other keys; UNAUTHORIZED for another passphrase; UNAVAILABLE
 */
export async function importFrom(file: string, options: ImportOptions): Promise<number> {
  const { config } = await loadFrom(options);
  natsNamed(config);
  const { env, replicas } = config.nats;
  const [{ openNatsTarget }, { importCell }, { References }] = await Promise.all([
    import('../../runtime/transfer/nats-target.ts'),
    import('../../runtime/transfer/import.ts'),
    import('../../runtime/transfer/references.ts'),
  ]);
  const signal = untilSignal();
  const nats = { ...natsOptions(config), name: 'troupe import', env, replicas };
  const progress = startProgress();
  const target = await openNatsTarget({ ...nats, onStatus: progress.note, signal });
  const references = new References();
  let before: readonly string[] = [];
  let files: Artifacts | undefined;
  try {
    const { again = false } = options;
    const summary = await importCell({
      target,
      env,
      file: resolve(file),
      again,
      onKeys: (sealed) => keysFrom(sealed, { config, file, options, note: progress.note }),
      artifacts: async (cell) => {
        await shareKeys(config, { blobs: target.blobs, cell, role: 'worker' });
        return (files = await openArtifacts(anyFile(config), { blobs: target.blobs }));
      },
      onFrame: (frame) => {
        if (frame[0] === 'header') before = frame[1].sealingKids ?? [];
        references.look(frame);
      },
      onProgress: progress.show,
      signal,
    });
    progress.end();
    const now = await sealingKids(config);
    const missing = files
      ? await unresolved({ artifacts: files, references, kids: { before, now } })
      : [];
    report({ ...summary, missing }, env, options);
    return missing.length === 0 ? exitCodes.ok : exitCodes.failure;
  } catch (error) {
    if (!signal.aborted) throw error;
    reportFailure(error, options);
    return exitCodes.interrupted;
  } finally {
    progress.end();
    await target.close();
  }
}

function report(
  summary: Parameters<typeof sentence>[0] & { readonly missing: readonly string[] },
  env: string,
  { json }: ImportOptions,
): void {
  const { missing } = summary;
  if (json) printJson(summary);
  else process.stdout.write(`${sentence(summary)}, in ${env} now\n`);
  for (const line of missing) process.stderr.write(`not resolved: ${line}\n`);
  process.stderr.write(
    `${missing.length === 0 ? 'Every referenced file and key exists.' : 'Everything else is imported.'} ` +
      'Start troupe worker and troupe gateway; do not start the data folder that was exported.\n',
  );
}

type Keys = {
  readonly config: Config;
  readonly file: string;
  readonly options: ImportOptions;
  readonly note: (line: string) => void;
};

/**
 * Decrypts the exported keys. The returned function writes them where the first process finds them.
 */
async function keysFrom(
  sealed: Uint8Array | undefined,
  { config, file, options, note }: Keys,
): Promise<(() => Promise<void>) | undefined> {
  if (sealed === undefined || options.keys === false) return undefined;
  const passphrase = await passphraseOf(options);
  if (passphrase === undefined)
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `${file} contains the keys of the installation: set their passphrase (${PASSPHRASE}), or ` +
        'skip them with --no-keys',
    );
  try {
    const take = await openKeys(config, sealed, passphrase);
    return async () => note(`keys in ${config.home}: ${(await take()).join(', ')}`);
  } catch (error) {
    if (!(error instanceof TroupeError) || error.code !== 'UNAUTHORIZED') throw error;
    throw new TroupeError('UNAUTHORIZED', `the passphrase does not open the keys in ${file}`, {
      cause: error,
    });
  }
}
