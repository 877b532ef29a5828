/**
 * `troupe import`: what `troupe export` wrote, into a cluster that has no cell yet. Workers and
 * gateways are started afterwards; those that come while it is under way wait.
 */
import { resolve } from 'node:path';
import { natsOptions } from '../runtime/config/index.ts';
import { exitCodes, reportFailure } from './exit.ts';
import { progress, sentence } from './export.ts';
import { natsNamed } from './node.ts';
import { type CommonOptions, loadFrom } from './options.ts';
import { printJson } from './output.ts';
import { untilSignal } from './signals.ts';

export type ImportOptions = CommonOptions & { readonly again?: boolean };

/** @throws TroupeError CONFLICT when there is a cell, or an import has not ended; UNAVAILABLE */
export async function importFrom(file: string, options: ImportOptions): Promise<number> {
  const { config } = await loadFrom(options);
  natsNamed(config);
  const { env, replicas } = config.nats;
  const [{ openNatsTarget }, { importCell }] = await Promise.all([
    import('../runtime/transfer/nats-target.ts'),
    import('../runtime/transfer/import.ts'),
  ]);
  const signal = untilSignal();
  const nats = { ...natsOptions(config), name: 'troupe import', env, replicas };
  const target = await openNatsTarget({ ...nats, onStatus: progress, signal });
  try {
    const { again = false } = options;
    const place = { target, env, file: resolve(file), again };
    const summary = await importCell({ ...place, onProgress: progress, signal });
    if (options.json) printJson(summary);
    else process.stdout.write(`${sentence(summary)}, in ${env} now\n`);
    process.stderr.write(
      'Start troupe worker and troupe gateway; do not start the data folder that was exported.\n',
    );
    return exitCodes.ok;
  } catch (error) {
    if (!signal.aborted) throw error;
    reportFailure(error, options);
    return exitCodes.interrupted;
  } finally {
    await target.close();
  }
}
