/**
 * Opens the plugins of a configuration: reads their manifests, and makes their tools, hooks and
 * model providers. The processes start with `start` or with the first call.
 *
 * Invariant: no plugin prevents a start. One that cannot start is reported and listed as invalid.
 */
import { join } from 'node:path';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import type { PluginRow } from '../../protocols/plugin.ts';
import type { Config } from '../../runtime/config/index.ts';
import { type Clock, systemClock } from '../../runtime/index.ts';
import { withBundler } from '../bundle.ts';
import type { HookModule } from '../hooks/define-hooks.ts';
import type { ModelProvider } from '../models/model.ts';
import type { Tool } from '../tools/tool.ts';
import { bundlePlugin } from './bundle-plugin.ts';
import {
  type ChannelDeclaration,
  type FoundPlugin,
  isFault,
  type Manifest,
  type PluginFault,
  readPlugin,
  readPlugins,
} from './manifest.ts';
import { PROCESS_TIMES, type ProcessTimes } from './plugin-process.ts';
import { Plugin } from './plugin.ts';
import { pluginHooks } from './plugin-hooks.ts';
import { pluginProvider } from './plugin-provider.ts';
import { pluginTool } from './plugin-tools.ts';
import { prepared, type TakenNames } from './prepare-plugin.ts';

export type Plugins = {
  readonly tools: readonly Tool[];
  readonly hooks: readonly HookModule[];
  readonly providers: readonly ModelProvider[];
  /** what they declare; `installation/plugin-channels.ts` makes adapters of them */
  readonly channels: readonly DeclaredChannel[];
  /** by id, those that do not run among them */
  rows(this: void): readonly PluginRow[];
  /** Starts all processes in the background. */
  start(this: void): void;
  /**
   * Starts a plugin again, with the present code and a closed circuit.
   * @throws TroupeError NOT_FOUND; UNAVAILABLE when it does not start
   */
  restart(this: void, id: string): Promise<void>;
  close(this: void): Promise<void>;
};

export type DeclaredChannel = {
  readonly plugin: Plugin;
  readonly declared: ChannelDeclaration;
};

/** What a plugin printed, or why it failed. */
export type PluginReport = {
  readonly plugin: string;
  readonly text: string;
  readonly kind: 'output' | 'warning' | 'failure';
};

export type OpenPluginsOptions = {
  readonly report: (report: PluginReport) => void;
  readonly isTool: TakenNames['isTool'];
  readonly isChannel: TakenNames['isChannel'];
  readonly clock?: Clock;
  readonly times?: Partial<ProcessTimes>;
};

export const pluginsFolder = ({ home, plugins }: Config): string =>
  plugins.folder ?? join(home, 'extensions');

/** The plugins of the folder, and those that the configuration enables without a folder. */
export function foundPlugins(config: Config): readonly (FoundPlugin | PluginFault)[] {
  const folder = pluginsFolder(config);
  const found = readPlugins(folder);
  const missing = Object.keys(config.plugins.entries)
    .filter((id) => !found.some((one) => one.id === id))
    .map((id) => readPlugin(id, join(folder, id)));
  return [...found, ...missing];
}

export const isEnabled = ({ plugins }: Config, id: string): boolean =>
  Object.hasOwn(plugins.entries, id) && plugins.entries[id]!.enabled;

type Opened = { readonly plugin: Plugin; readonly tools: readonly Tool[] };

/** @throws Error when the folder exists and cannot be read */
export async function openPlugins(config: Config, options: OpenPluginsOptions): Promise<Plugins> {
  const { report, clock = systemClock } = options;
  const openedAt = clock.wallMs();
  const opened: Opened[] = [];
  const others: PluginRow[] = [];
  for (const found of foundPlugins(config)) {
    const enabled = isEnabled(config, found.id);
    try {
      if (!enabled) others.push(otherRow(found, 'disabled', openedAt));
      else opened.push(await openPlugin(config, found, options));
    } catch (error) {
      const { message } = errorData(error);
      report({ plugin: found.id, kind: 'failure', text: `is left out: ${message}` });
      others.push(otherRow({ ...found, why: message }, 'invalid', openedAt));
    }
  }
  const plugins = opened.map(({ plugin }) => plugin);
  const declares = ({ found }: Plugin) => found.manifest;
  return {
    tools: opened.flatMap(({ tools }) => tools),
    hooks: plugins.filter((one) => declares(one).hooks?.length).map(pluginHooks),
    providers: plugins.flatMap((plugin) =>
      (declares(plugin).providers ?? []).map((one) => pluginProvider(plugin, one, clock)),
    ),
    channels: plugins.flatMap((plugin) =>
      (declares(plugin).channels ?? []).map((declared) => ({ plugin, declared })),
    ),
    rows: () =>
      [...plugins.map((plugin) => plugin.row()), ...others].sort((a, b) => (a.id < b.id ? -1 : 1)),
    start: () => plugins.forEach((plugin) => plugin.start()),
    async restart(id) {
      const plugin = plugins.find((one) => one.id === id);
      if (plugin === undefined)
        throw new TroupeError('NOT_FOUND', `no plugin ${id} is enabled: troupe plugins list`);
      await plugin.restart();
    },
    close: async () => void (await Promise.all(plugins.map((plugin) => plugin.close()))),
  };
}

/** @throws Error that says what to correct */
export async function openPlugin(
  config: Config,
  found: FoundPlugin | PluginFault,
  { report, isTool, isChannel, clock = systemClock, times }: OpenPluginsOptions,
): Promise<Opened> {
  if (isFault(found)) throw new Error(found.why);
  const { id } = found;
  const isProvider = (provider: string) => Object.hasOwn(config.models.providers, provider);
  const plugin = new Plugin({
    found,
    ...(await prepared(found, config.plugins.entries[id]!, { isTool, isChannel, isProvider })),
    clock,
    times: { ...PROCESS_TIMES, ...times },
    bundle: () => withBundler(() => bundlePlugin(found.file)),
    onPrint: (text, isError) => report({ plugin: id, text, kind: isError ? 'warning' : 'output' }),
    onFailure: (text) => report({ plugin: id, text, kind: 'failure' }),
  });
  const declared = found.manifest.tools ?? [];
  return { plugin, tools: await Promise.all(declared.map((tool) => pluginTool(plugin, tool))) };
}

const otherRow = (
  found: FoundPlugin | PluginFault,
  state: 'disabled' | 'invalid',
  since: number,
): PluginRow => {
  const declared: Partial<Manifest> = 'manifest' in found ? found.manifest : {};
  const { tools = [], hooks = [], providers = [], channels = [] } = declared;
  return {
    id: found.id,
    ...('version' in found ? { version: found.version } : {}),
    state,
    since,
    restarts: 0,
    ...(isFault(found) ? { lastError: { at: since, message: found.why } } : {}),
    tools: tools.map(({ name }) => name),
    hooks: [...hooks],
    providers: providers.map(({ id }) => id),
    channels: channels.map(({ id }) => id),
  };
};
