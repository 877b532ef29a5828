/**
 * The check of `troupe doctor` on plugins: their manifests and whether they are enabled. No code of
 * a plugin runs.
 */
import { type FoundPlugin, isFault, type PluginFault } from '../../agent/plugins/manifest.ts';
import { foundPlugins, isEnabled, pluginsFolder } from '../../agent/plugins/open-plugins.ts';
import type { Config } from '../../runtime/config/index.ts';
import { errorData } from '../../protocols/errors.ts';
import { fail, type Finding, ok, warn } from './doctor-finding.ts';

const CHECK = 'plugins';

/** A warning for each plugin that will not run; one `ok` finding about the others. */
export function plugins(config: Config): readonly Finding[] {
  try {
    return findingsOf(config, foundPlugins(config));
  } catch (error) {
    const folder = pluginsFolder(config);
    const { message } = errorData(error);
    return [
      fail(CHECK, `${folder} cannot be read: ${message}`, 'correct it, or set plugins.folder'),
    ];
  }
}

function findingsOf(
  config: Config,
  found: readonly (FoundPlugin | PluginFault)[],
): readonly Finding[] {
  const faulty = found.filter(isFault);
  const sound = found.filter((one) => !isFault(one));
  return [...faulty.map(({ id, why }) => fault(config, id, why)), summary(config, sound)];
}

const fault = (config: Config, id: string, why: string): Finding =>
  warn(
    CHECK,
    `${id} ${isEnabled(config, id) ? 'is enabled, but does not run' : 'cannot be enabled'}: ${why}`,
    `correct it in ${pluginsFolder(config)}, or remove it; troupe plugins check ${id}`,
  );

function summary(config: Config, sound: readonly (FoundPlugin | PluginFault)[]): Finding {
  if (sound.length === 0) return ok(CHECK, `none in ${pluginsFolder(config)}`);
  const names = (enabled: boolean) =>
    sound.filter(({ id }) => isEnabled(config, id) === enabled).map(({ id }) => id);
  const parts = [
    ...(names(true).length > 0 ? [`${names(true).join(', ')} enabled`] : []),
    ...(names(false).length > 0 ? [`${names(false).join(', ')} not enabled`] : []),
  ];
  return ok(CHECK, `${parts.join('; ')} (troupe plugins check starts each once)`);
}
