/**
 * What a configuration may name of its plugins, by their manifests: no code of a plugin runs.
 *
 * Boundary: what a plugin itself needs is checked when it is opened, because a faulty plugin does
 * not prevent a start.
 */
import { foundPlugins, isEnabled } from '../agent/plugins/open-plugins.ts';
import {
  type FoundPlugin,
  isFault,
  type Manifest,
  type PluginFault,
} from '../agent/plugins/manifest.ts';
import type { Config, ConfigFinding } from '../runtime/config/index.ts';
import { BUILT_IN_CHANNELS } from '../runtime/config/schema/channels.ts';
import { isOfPlugin, listedTools } from '../runtime/config/checks/tool-checks.ts';
import { nearest, withGuess } from '../runtime/config/checks/suggest.ts';

function enabledPlugins(config: Config): readonly (FoundPlugin | PluginFault)[] {
  const isAnyEnabled = Object.values(config.plugins.entries).some(({ enabled }) => enabled);
  return isAnyEnabled ? foundPlugins(config).filter(({ id }) => isEnabled(config, id)) : [];
}

/** Of enabled plugins, without those whose manifest has a fault. */
const enabledManifests = (config: Config): readonly Manifest[] =>
  enabledPlugins(config).flatMap((found) => (isFault(found) ? [] : [found.manifest]));

/**
 * Ids of enabled plugins without a readable manifest. What they declare is unknown, so all names
 * that could be theirs pass.
 */
const faultyPlugins = (config: Config): readonly string[] =>
  enabledPlugins(config)
    .filter(isFault)
    .map(({ id }) => id);

/** Whether an enabled plugin has, or could have, the provider of this id. */
export function isPluginProvider(config: Config): (provider: string) => boolean {
  const declared = enabledManifests(config).flatMap(({ providers = [] }) =>
    providers.map(({ id }) => id),
  );
  const faulty = faultyPlugins(config);
  return (provider) => declared.includes(provider) || faulty.some((id) => isOfPlugin(id, provider));
}

/** Channels in the configuration that no enabled plugin declares and this build does not have. */
export function knownChannels(config: Config): ConfigFinding[] {
  const declared = enabledManifests(config).flatMap(({ channels = [] }) => channels);
  const known = [...BUILT_IN_CHANNELS, ...declared.map(({ id }) => id)];
  const faulty = faultyPlugins(config);
  return Object.keys(config.channels)
    .filter((name) => !known.includes(name) && !faulty.some((id) => isOfPlugin(id, name)))
    .map((name) => ({
      pointer: `/channels/${name}`,
      message: withGuess('no enabled plugin has this channel', nearest(name, known)),
      allowed: known.join(', '),
    }));
}

/** Names in lists of tools that begin as those of a plugin, which has no such tool. */
export function knownPluginTools(config: Config): ConfigFinding[] {
  const listed = listedTools(config);
  return enabledManifests(config).flatMap(({ id, tools = [] }) => {
    const known = [`group:${id}`, ...tools.map(({ name }) => name)];
    return listed
      .filter(({ name }) => isOfPlugin(id, name) && !known.includes(name))
      .map(({ pointer, name }) => ({
        pointer,
        value: JSON.stringify(name),
        message: withGuess(`the plugin ${id} has no such tool`, nearest(name, known)),
        allowed: known.join(', '),
      }));
  });
}
