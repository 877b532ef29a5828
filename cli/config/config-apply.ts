/**
 * `troupe config apply`: makes the agents of a configuration file those of a whole cluster. The
 * file of a gateway only seeds a cluster that has none; from then on its settings are journaled,
 * and this is how they change.
 */
import { linkCluster } from '../cluster/cluster-link.ts';
import { exitCodes } from '../exit.ts';
import { type CommonOptions, loadToStart } from '../options.ts';
import { printJson } from '../output.ts';
import { untilSignal } from '../processes/signals.ts';

/** @throws TroupeError DEADLINE_EXCEEDED when no worker has answered; they are applied later */
export async function apply(options: CommonOptions): Promise<number> {
  const { config } = await loadToStart(options);
  const link = await linkCluster(config, untilSignal());
  try {
    const { applySettings } = await import('../../main.ts');
    const { agents } = await applySettings(config, link);
    if (options.json) printJson({ ok: true, agents });
    else process.stdout.write(`the cluster ${link.env} has ${agents} agents now\n`);
    return exitCodes.ok;
  } finally {
    await link.store.close();
  }
}
