/**
 * Follows the settings of the cluster (actors/settings) and gives them to the configuration in
 * effect. Every process reads the committed row of the actor, so a process that was away, or joins
 * later, applies the same values.
 */
import { DEFAULT_TENANT } from '../../protocols/address.ts';
import { errorData } from '../../protocols/errors.ts';
import {
  SETTINGS_INDEX,
  SETTINGS_KEY,
  settingsAddress,
  type SettingsRow,
} from '../../protocols/settings.ts';
import type { System } from '../../runtime/index.ts';
import type { LiveConfig } from './live-config.ts';

/** How often the row is read, which is in the memory of the process. */
const LOOK_MS = 500;
const RETRY_MS = 5_000;

/**
 * Returns what ends it. Failures are retried and never thrown.
 * @param log receives the first failure
 */
export function followSettings(
  system: Pick<System, 'index' | 'caughtUp'>,
  live: LiveConfig,
  log: { warn(message: string): void },
): () => void {
  const actor = settingsAddress(DEFAULT_TENANT);
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let failed = false;
  let isReadable = false;
  const look = async (): Promise<void> => {
    // A worker replicates the shard of the actor from then on.
    if (!isReadable) await system.caughtUp(actor);
    isReadable = true;
    const row = system.index.get<SettingsRow>(SETTINGS_INDEX, DEFAULT_TENANT, SETTINGS_KEY, actor);
    if (closed || row === undefined || row.version === live.clusterVersion) return;
    await live.clusterChanged({ version: row.version, values: row.values }, row.by);
  };
  const repeat = (): void => {
    look()
      .then(() => LOOK_MS)
      .catch((error: unknown) => {
        if (!failed && !closed) log.warn(`settings of the cluster: ${errorData(error).message}`);
        failed = true;
        return RETRY_MS;
      })
      .then((afterMs) => {
        if (!closed) timer = setTimeout(repeat, afterMs).unref();
      })
      .catch(() => {});
  };
  repeat();
  return () => {
    closed = true;
    clearTimeout(timer);
  };
}
