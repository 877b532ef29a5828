/** Plugins in folders of a test, opened with the configuration that enables them. */
import { onTestFinished } from 'vitest';
import type { ProcessTimes } from '../../../agent/plugins/plugin-process.ts';
import {
  openPlugins,
  type PluginReport,
  type Plugins,
} from '../../../agent/plugins/open-plugins.ts';
import { scratchFolder, load, write } from '../../runtime/config/folder.ts';

/** No name belongs to others. */
export const NONE_TAKEN = { isTool: () => false, isChannel: () => false };

export type TestPlugin = {
  /** its `src/index.ts` */
  readonly code: string;
  /** beside `id` and `configSchema` */
  readonly manifest?: Readonly<Record<string, unknown>>;
  /** its entry in the configuration, beside `enabled` */
  readonly entry?: Readonly<Record<string, unknown>>;
};

/** A tool that takes and returns anything. */
export const toolNamed = (name: string, more: object = {}) => ({
  name,
  description: 'for tests',
  parameters: { type: 'object' },
  ...more,
});

/** A module with these members of `definePlugin`, named `id`. */
export const codeOf = (id: string, members: string): string =>
  `import { definePlugin, PluginError } from 'troupe/plugin-sdk';
   export default definePlugin({ name: '${id}', version: '1.0.0', ${members} });`;

/** Writes the folder `extensions/<id>` of a data folder. */
export function writePlugin(home: string, id: string, { code, manifest = {} }: TestPlugin): string {
  const folder = `extensions/${id}`;
  write(home, `${folder}/package.json`, JSON.stringify({ name: id, version: '1.0.0' }));
  const whole = { id, configSchema: { type: 'object' }, ...manifest };
  write(home, `${folder}/troupe.plugin.json`, JSON.stringify(whole));
  write(home, `${folder}/src/index.ts`, code);
  return `${home}/${folder}`;
}

export type Opened = Plugins & {
  readonly reports: readonly PluginReport[];
  readonly home: string;
  /** the state of one plugin */
  row(this: void, id: string): ReturnType<Plugins['rows']>[number];
};

/** Opened, but not started; closed when the test ends. */
export async function opened(
  plugins: Readonly<Record<string, TestPlugin>>,
  times: Partial<ProcessTimes> = {},
): Promise<Opened> {
  const home = scratchFolder();
  const entries: Record<string, object> = {};
  for (const [id, plugin] of Object.entries(plugins)) {
    writePlugin(home, id, plugin);
    entries[id] = { enabled: true, ...plugin.entry };
  }
  const { config } = load(JSON.stringify({ plugins: { entries } }), { flags: { data: home } });
  const reports: PluginReport[] = [];
  const report = (one: PluginReport) => void reports.push(one);
  const made = await openPlugins(config, { report, ...NONE_TAKEN, times });
  onTestFinished(() => made.close());
  const row = (id: string) => made.rows().find((one) => one.id === id)!;
  return { ...made, reports, home, row };
}
