/**
 * `troupe plugins check`, `enable`, `disable` and `create`: files only, without a running troupe.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type FoundPlugin, isFault, type PluginFault } from '../../agent/plugins/manifest.ts';
import {
  foundPlugins,
  openPlugin,
  type PluginReport,
  pluginsFolder,
} from '../../agent/plugins/open-plugins.ts';
import { takenBy } from '../../installation/installation-plugins.ts';
import { ConfigFile } from '../../installation/setup/config-file.ts';
import { table } from '../../operations/text.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import type { Config, PluginConfig } from '../../runtime/config/index.ts';
import { defaultPlugin } from '../../runtime/config/schema/plugins.ts';
import { makeFolder } from '../../runtime/make-folder.ts';
import { exitCodes } from '../exit.ts';
import { type CommonOptions, loadFrom } from '../options.ts';
import { formerFile, printJson } from '../output.ts';
import { templateFiles } from './template.ts';

type Checked = { readonly id: string; readonly version: string; readonly problem?: string };

/**
 * Starts each plugin in its own process and ends it. Exit code 1 when one has a problem.
 * @throws TroupeError NOT_FOUND
 */
export async function check(id: string | undefined, options: CommonOptions): Promise<number> {
  const { config } = await loadFrom(options);
  const found = id === undefined ? foundPlugins(config) : [oneOf(config, id)];
  const checked: Checked[] = [];
  for (const one of found) checked.push(await checkOne(config, one));
  if (options.json) printJson({ folder: pluginsFolder(config), plugins: checked });
  else if (found.length === 0) process.stdout.write(`no plugins in ${pluginsFolder(config)}\n`);
  else {
    const cells = checked.map((one) => [one.id, one.version, one.problem ?? 'ok']);
    process.stdout.write(table(['plugin', 'version', 'result'], cells));
  }
  return checked.some(({ problem }) => problem !== undefined) ? exitCodes.failure : exitCodes.ok;
}

/**
 * Changes the configuration file. A plugin that would be invalid is not enabled.
 * @throws TroupeError NOT_FOUND, INVALID_ARGUMENT
 */
export async function setEnabled(
  id: string,
  enabled: boolean,
  options: CommonOptions,
): Promise<number> {
  const { config, file } = await loadFrom(options);
  const found = oneOf(config, id);
  if (enabled) await opened(config, found);
  const target = new ConfigFile({ file, home: config.home });
  const { backup } = await target.merge({ plugins: { entries: { [id]: { enabled } } } });
  const may = enabled && !isFault(found) ? permissionsOf(found, entryOf(config, id)) : [];
  if (options.json) printJson({ id, enabled, file: target.path, may, backup });
  else {
    const done = enabled ? `${id} is enabled; it may ${may.join(', ')}` : `${id} is disabled`;
    process.stdout.write(`${done}.\nThis applies at the next start.${formerFile(backup)}\n`);
  }
  return exitCodes.ok;
}

/** @throws TroupeError CONFLICT when the folder exists; INVALID_ARGUMENT for a wrong name */
export async function create(id: string, options: CommonOptions): Promise<number> {
  const { config } = await loadFrom(options);
  const folder = join(pluginsFolder(config), id);
  if (!/^[a-z0-9][a-z0-9_-]{0,62}$/.test(id))
    throw new TroupeError(
      'INVALID_ARGUMENT',
      'an id has small letters, digits, _ and -, at most 63',
    );
  if (existsSync(folder)) throw new TroupeError('CONFLICT', `${folder} exists already`);
  for (const [path, text] of Object.entries(templateFiles(id))) {
    makeFolder(dirname(join(folder, path)), 0o777);
    writeFileSync(join(folder, path), text);
  }
  if (options.json) printJson({ id, folder });
  else
    process.stdout.write(
      `${folder}\nNext: troupe plugins check ${id}, then troupe plugins enable ${id}\n`,
    );
  return exitCodes.ok;
}

const entryOf = ({ plugins }: Config, id: string): PluginConfig =>
  plugins.entries[id] ?? defaultPlugin;

/** @throws TroupeError NOT_FOUND */
function oneOf(config: Config, id: string): FoundPlugin | PluginFault {
  const found = foundPlugins(config).find((one) => one.id === id);
  if (found) return found;
  throw new TroupeError('NOT_FOUND', `there is no plugin ${id} in ${pluginsFolder(config)}`);
}

/** Not started. @throws TroupeError INVALID_ARGUMENT with the problem */
async function opened(config: Config, found: FoundPlugin | PluginFault) {
  const { plugins } = config;
  const entries = { ...plugins.entries, [found.id]: entryOf(config, found.id) };
  try {
    const { plugin } = await openPlugin({ ...config, plugins: { ...plugins, entries } }, found, {
      ...takenBy([]),
      report: printReport,
    });
    return plugin;
  } catch (error) {
    throw new TroupeError('INVALID_ARGUMENT', `${found.id}: ${errorData(error).message}`);
  }
}

/** A failure is part of the result. */
const printReport = ({ plugin, text, kind }: PluginReport): void => {
  if (kind !== 'failure') process.stderr.write(`${plugin}: ${text}\n`);
};

async function checkOne(config: Config, found: FoundPlugin | PluginFault): Promise<Checked> {
  const about = { id: found.id, version: isFault(found) ? '' : found.version };
  try {
    const plugin = await opened(config, found);
    try {
      await plugin.restart();
    } finally {
      await plugin.close();
    }
    return about;
  } catch (error) {
    return { ...about, problem: errorData(error).message };
  }
}

/** What it may do, in words. */
function permissionsOf({ manifest }: FoundPlugin, { permissions }: PluginConfig): string[] {
  const words = {
    read: () => `read ${permissions.read.join(' and ')}`,
    write: () => `change ${permissions.write.join(' and ')}`,
    childProcesses: () => 'start programs with all rights of this user',
    workers: () => 'start threads',
    addons: () => 'load native code with all rights of this user',
  };
  return ['use the network', ...(manifest.permissions ?? []).map((kind) => words[kind]())];
}
