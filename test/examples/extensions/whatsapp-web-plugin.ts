/** The example whatsapp-web in its process, with a double of Baileys or the real package. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { openPlugins } from '../../../agent/plugins/open-plugins.ts';
import { pluginChannel } from '../../../installation/plugin-channels.ts';
import type { ChannelAdapter } from '../../../channels/messengers/adapter.ts';
import { loadConfig } from '../../../runtime/config/index.ts';
import { NONE_TAKEN } from '../../agent/plugins/plugin-folder.ts';
import { write } from '../../runtime/config/folder.ts';

const root = join(import.meta.dirname, '../../..');
export const example = join(root, 'examples/extensions/whatsapp-web');

/** @param addBaileys puts a package `baileys` into the `node_modules` of a copy of the plugin */
export async function openWhatsAppWeb(addBaileys: (modules: string) => void) {
  const data = mkdtempSync(join(tmpdir(), 'troupe-whatsapp-web-'));
  const folder = join(data, 'links');
  const copy = join(data, 'extensions/whatsapp-web');
  cpSync(example, copy, { recursive: true, filter: (path) => !path.includes('node_modules') });
  addBaileys(join(copy, 'node_modules'));
  const permissions = { read: [folder], write: [folder] };
  const entries = { 'whatsapp-web': { enabled: true, config: { folder }, permissions } };
  const file = write(data, 'troupe.json5', JSON.stringify({ plugins: { entries } }));
  write(folder, 'about.txt', 'links of numbers');
  const { config } = loadConfig({ env: {}, home: data, file, flags: { data } });
  const plugins = await openPlugins(config, { report: () => {}, ...NONE_TAKEN });
  afterAll(async () => {
    await plugins.close();
    rmSync(data, { recursive: true });
  });
  const { plugin, declared } = plugins.channels[0]!;
  const row = () => plugins.rows().find(({ id }) => id === 'whatsapp-web')!;
  return { plugins, row, folder, adapter: pluginChannel(plugin, declared) as ChannelAdapter };
}

/** The double, as the package `baileys`. */
export function addDouble(modules: string): void {
  write(modules, 'baileys/package.json', '{ "name": "baileys", "main": "index.ts" }');
  cpSync(join(root, 'test/servers/baileys-double.ts'), join(modules, 'baileys/index.ts'));
}
