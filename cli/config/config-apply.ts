/**
 * `troupe config apply`: applies the agents of a configuration file to a whole cluster. A gateway's
 * file only sets the initial agents of a new cluster. After that the settings are journaled, and
 * this command changes them.
 */
import { userInfo } from 'node:os';
import { linkCluster } from '../cluster/cluster-link.ts';
import { exitCodes } from '../exit.ts';
import { type CommonOptions, loadToCheck } from '../options.ts';
import { printJson } from '../output.ts';
import { untilSignal } from '../processes/signals.ts';

/** @throws TroupeError DEADLINE_EXCEEDED when no worker has responded; they are applied later */
export async function apply(options: CommonOptions): Promise<number> {
  const { config } = await loadToCheck(options);
  const link = await linkCluster(config, untilSignal());
  try {
    const { applySettings } = await import('../../main.ts');
    const { agents } = await applySettings(config, link, operatorHere());
    if (options.json) printJson({ ok: true, agents });
    else process.stdout.write(`the cluster ${link.env} has ${agents} agents now\n`);
    return exitCodes.ok;
  } finally {
    await link.store.close();
  }
}

/** The user of this machine, as the record of changes names it. */
function operatorHere(): string {
  try {
    return `user:${userInfo().username}`;
  } catch {
    return 'user:unknown';
  }
}
