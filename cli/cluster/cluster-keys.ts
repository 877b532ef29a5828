/**
 * `troupe cluster reset-keys`: deletes the record of a cluster's keys, so that the next process to
 * start creates new keys. It can also delete only the copy that the join secret encrypts, to change
 * that secret.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { TroupeError } from '../../protocols/errors.ts';
import { linkCluster, Listener } from './cluster-link.ts';
import { exitCodes } from '../exit.ts';
import { type CommonOptions, loadFrom } from '../options.ts';
import { printJson } from '../output.ts';
import { untilSignal } from '../processes/signals.ts';

export type ResetKeysOptions = CommonOptions & {
  readonly secretOnly?: boolean;
  readonly yes?: boolean;
};

/** Every process sends a heartbeat within this time. */
const LISTEN_MS = 1_000;

const LOST =
  'without the former keys, its sealed payloads cannot be opened and the files of its bucket, and ' +
  'URLs of files that were signed before are refused';

/**
 * @throws TroupeError INVALID_ARGUMENT without `yes`; CONFLICT while processes of the cluster run;
 *   NOT_FOUND when the cluster was never started
 */
export async function resetKeys(options: ResetKeysOptions): Promise<number> {
  const { secretOnly = false } = options;
  if (!secretOnly && !options.yes)
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `this cannot be undone: ${LOST}. If you still have the join secret or a data folder with ` +
        'the keys, use it instead. To continue, add --yes',
    );
  const { config } = await loadFrom(options);
  const signal = untilSignal();
  const link = await linkCluster(config, signal);
  try {
    if (!secretOnly) await assertStopped(link.bus, link.env, signal);
    const { resetCellKeys } = await import('../../runtime/secrets/cell-keys.ts');
    const removed = await resetCellKeys(link, link.store.cell, { secretOnly });
    if (options.json) printJson({ env: link.env, removed });
    else process.stdout.write(`${textOf(link.env, removed, secretOnly)}\n`);
    return exitCodes.ok;
  } finally {
    await link.store.close();
  }
}

async function assertStopped(
  bus: ConstructorParameters<typeof Listener>[0],
  env: string,
  signal: AbortSignal,
): Promise<void> {
  const listener = new Listener(bus);
  await pause(LISTEN_MS, undefined, { signal });
  listener.stop();
  const names = listener.received(LISTEN_MS).map(({ heartbeat }) => heartbeat.name);
  if (names.length > 0)
    throw new TroupeError(
      'CONFLICT',
      `these processes of the cluster ${env} still run: ${names.join(', ')}. Stop them first`,
    );
}

function textOf(env: string, removed: number, secretOnly: boolean): string {
  if (removed === 0) return `the cluster ${env} has no stored keys: nothing was removed`;
  if (secretOnly)
    return (
      `the secret of the cluster ${env} no longer opens its keys; restart a process that has the ` +
      'keys with the new secret: TROUPE_CLUSTER_SECRET=SECRET'
    );
  return `the cluster ${env} has no keys; the next process that starts creates them`;
}
