/**
 * `troupe export`: writes the whole installation of a data folder to one file, for `troupe import`.
 * The folder is only read, and troupe must not run on it meanwhile.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Address } from '../../protocols/address.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { type Config, storeFolder, workspaceFolderOf } from '../../runtime/config/index.ts';
import type { ExportOptions as CellExport } from '../../runtime/transfer/export.ts';
import type { TransferSummary } from '../../runtime/transfer/frames.ts';
import { artifactFiles, leftBehind } from '../../installation/transfer.ts';
import { presentKeys, sealingKids, sealKeys } from '../../installation/moved-keys.ts';
import { exitCodes, reportFailure } from '../exit.ts';
import { type CommonOptions, loadFrom } from '../options.ts';
import { bytes, printJson } from '../output.ts';
import { PASSPHRASE, type PassphraseOptions, passphraseOf } from './passphrase.ts';
import { untilSignal } from '../processes/signals.ts';
import { withProgress } from '../progress.ts';
import { version } from '../version.ts';

export type ExportOptions = CommonOptions & PassphraseOptions & { readonly force?: boolean };

/** @throws TroupeError NOT_FOUND without data; UNAVAILABLE (LOCKED) while troupe runs; CONFLICT */
export async function exportTo(file: string, options: ExportOptions): Promise<number> {
  const { config } = await loadFrom(options);
  const path = storeFolder(config);
  const [{ openEmbedded }, { exportCell }, { STORE_FILE }] = await Promise.all([
    import('../../runtime/embedded.ts'),
    import('../../runtime/transfer/export.ts'),
    import('../../runtime/log/embedded-store.ts'),
  ]);
  if (!existsSync(join(path, STORE_FILE)))
    throw new TroupeError('NOT_FOUND', `${config.home} contains no data of troupe`);
  const signal = untilSignal();
  const ports = await openEmbedded({ path });
  try {
    const { force = false } = options;
    const { keys, leftOut } = await keysOf(config, options);
    const kids = await sealingKids(config);
    const summary = await withProgress(({ show }) =>
      exportCell({
        ...ports,
        file: resolve(file),
        force,
        program: version,
        ...workspacesOf(config),
        ...defined({ keys }),
        sealingKids: kids,
        artifacts: () => artifactFiles(config, (line) => leftOut.push(line)),
        onProgress: show,
        signal,
      }),
    );
    leftOut.push(...(await leftBehind(config)));
    if (options.json) printJson({ ...summary, keys: keys !== undefined, leftOut });
    else process.stdout.write(`${sentence(summary)}, in ${file} (${bytes(summary.bytes)})\n`);
    for (const line of leftOut) process.stderr.write(`left out: ${line}\n`);
    process.stderr.write(
      'Once this is imported elsewhere, do not start troupe on this data folder again: there would ' +
        'be two of everything it does. Keep the folder as a backup, and the file secret.\n',
    );
    return exitCodes.ok;
  } catch (error) {
    if (!signal.aborted) throw error;
    reportFailure(error, options);
    return exitCodes.interrupted;
  } finally {
    await ports.store.close();
  }
}

/** The encrypted keys; without a passphrase one line for each key that is left out. */
async function keysOf(
  config: Config,
  options: ExportOptions,
): Promise<{ keys?: Uint8Array; leftOut: string[] }> {
  const present = await presentKeys(config);
  const passphrase = await passphraseOf(options);
  if (passphrase !== undefined && present.length > 0)
    return { keys: await sealKeys(config, passphrase), leftOut: [] };
  const leftOut = present.map(
    ({ path, use }) => `the key ${path}: without it ${use}; set a passphrase (${PASSPHRASE})`,
  );
  return { leftOut };
}

/**
 * The folders of the actors' files if they are outside of the store; synced files are blobs in it.
 */
function workspacesOf(config: Config): Pick<CellExport, 'workspaces'> {
  const { provider = 'folder', path = join(config.home, 'workspaces') } = config.runtime.workspaces;
  const filesOf = (actor: Address) => workspaceFolderOf(config, actor);
  return provider === 'folder' ? { workspaces: { root: path, filesOf } } : {};
}

const several = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

/** A summary of the export. */
export const sentence = (summary: TransferSummary): string =>
  [
    `cell ${summary.cell}: ${several(summary.shards, 'shard')}`,
    several(summary.actors, 'actor'),
    several(summary.entries, 'pending message'),
    several(summary.transcripts, 'transcript'),
    several(summary.letters, 'dead letter'),
    several(summary.artifacts, 'artifact'),
  ].join(', ');
