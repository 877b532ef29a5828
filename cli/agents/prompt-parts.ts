/**
 * The parts of an installation from which a prompt is built: models, tools, skills, hooks and
 * plugins, without actors, stores and metrics. Loading those would take most of the command's time.
 */
import { openInstallationPlugins } from '../../installation/installation-plugins.ts';
import { withHooks } from '../../installation/hooked-parts.ts';
import { createLog } from '../../installation/process-log.ts';
import { assertStartable } from '../../installation/start-rules.ts';
import { type InstallationParts, installationParts } from '../../installation/tenant-parts.ts';
import type { Plugins } from '../../agent/plugins/open-plugins.ts';
import type { Config } from '../../runtime/config/index.ts';

/** No tool is called, so nothing is stored. */
const never = new Promise<never>(() => {});

/**
 * The plugins are opened, not started; the caller closes them.
 * @throws ConfigError if the process could not start with this configuration
 */
export async function openParts(
  config: Config,
): Promise<InstallationParts & { readonly plugins: Plugins }> {
  assertStartable(config);
  const log = createLog(config.log.level);
  const plugins = await openInstallationPlugins(config, [], log);
  const parts = installationParts(config, {
    clustered: false,
    ownTools: plugins.tools,
    providers: plugins.providers,
    bucket: never,
    blobs: never,
  });
  return { ...(await withHooks(config, parts, { plugins, log, onFailure: () => {} })), plugins };
}
