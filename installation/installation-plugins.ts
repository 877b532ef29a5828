/** The plugins of an installation: which names they may use, and where they report. */
import type { Logger } from 'pino';
import {
  openPlugins,
  type OpenPluginsOptions,
  type PluginReport,
  type Plugins,
} from '../agent/plugins/open-plugins.ts';
import { createSecretMask } from '../agent/tools/secret-mask.ts';
import type { Tool } from '../agent/tools/tool.ts';
import type { Config } from '../runtime/config/index.ts';
import { BUILT_IN_CHANNELS } from '../runtime/config/schema/channels.ts';
import { toolListNames } from '../runtime/config/schema/tool-names.ts';
import type { Metrics } from '../runtime/observe/metrics.ts';
import { knownSecrets } from './known-secrets.ts';

export const NO_PLUGINS: Plugins = {
  tools: [],
  hooks: [],
  providers: [],
  channels: [],
  rows: () => [],
  start: () => {},
  restart: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/** @throws Error when their folder exists and cannot be read */
export function openInstallationPlugins(
  config: Config,
  ownTools: readonly Tool[],
  log: Logger,
): Promise<Plugins> {
  const mask = createSecretMask(knownSecrets(config, process.env));
  return openPlugins(config, {
    ...takenBy(ownTools),
    report: ({ plugin, text, kind }) => write(log, { plugin, kind, text: mask.text(text) }),
  });
}

/** Names that belong to troupe or to tools of the application. */
export const takenBy = (
  ownTools: readonly Tool[],
): Pick<OpenPluginsOptions, 'isTool' | 'isChannel'> => ({
  isTool: (name) => toolListNames.includes(name) || ownTools.some((tool) => tool.name === name),
  isChannel: (name) => BUILT_IN_CHANNELS.includes(name),
});

function write(log: Logger, { plugin, text, kind }: PluginReport): void {
  if (kind === 'output') log.info({ plugin }, text);
  else if (kind === 'warning') log.warn({ plugin }, text);
  else log.warn({ alarm: true, plugin }, `plugin ${plugin} ${text}`);
}

/** Adds a metric if the installation has plugins. */
export function watchPlugins({ rows }: Plugins, metrics: Pick<Metrics, 'gauge'>): void {
  if (rows().length === 0) return;
  metrics.gauge(
    'troupe_plugins_down',
    'Enabled plugins that do not run in this process',
    () => rows().filter(({ state }) => state !== 'running' && state !== 'disabled').length,
  );
}
