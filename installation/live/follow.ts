/** Follows everything that changes the configuration of a running process. */
import { join } from 'node:path';
import type { Logger } from 'pino';
import { type Config, configFileName } from '../../runtime/config/index.ts';
import type { System } from '../../runtime/index.ts';
import { ConfigWatch } from './config-watch.ts';
import { followSettings } from './cluster-settings.ts';
import type { LiveConfig } from './live-config.ts';

/** Where a process has its configuration from. */
export type ConfigOrigin = {
  /** absent: `troupe.json5` in the data folder, which may be created later */
  readonly file?: string | undefined;
  /**
   * loads the file as at the start; absent: changes of the file are not noticed
   * @throws ConfigError
   */
  readonly reload?: (() => Config | Promise<Config>) | undefined;
};

export type Following = { readonly watch: ConfigWatch | undefined; close(): void };

type Parts = {
  readonly config: Config;
  readonly system: Pick<System, 'index' | 'caughtUp'>;
  readonly processServices: { readonly live: LiveConfig; readonly log: Logger };
};

export function followConfiguration(
  { config, system, processServices: { live, log } }: Parts,
  { file, reload }: ConfigOrigin,
): Following {
  const source = reload && { file: file ?? join(config.home, configFileName), load: reload };
  const watch = source && new ConfigWatch(source, live);
  const end = followSettings(system, live, log);
  const close = () => {
    watch?.close();
    end();
  };
  return { watch, close };
}
