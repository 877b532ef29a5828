/** The manifest, and what a plugin needs of the configuration, read without running its code. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readPlugins } from '../../../agent/plugins/manifest.ts';
import { scratchFolder, write } from '../../runtime/config/folder.ts';
import { opened, type TestPlugin, toolNamed, writePlugin } from './plugin-folder.ts';

const read = (change: (home: string) => void) => {
  const home = scratchFolder();
  writePlugin(home, 'one', { code: '' });
  change(home);
  return readPlugins(join(home, 'extensions'));
};
const manifested = (manifest: object) =>
  read((home) => writePlugin(home, 'one', { code: '', manifest: manifest as never }));

it('finds folders with a manifest, and reports the others with the fault', () => {
  const found = read((home) => {
    mkdirSync(join(home, 'extensions/empty'));
    write(home, 'extensions/bad/troupe.plugin.json', '{');
    write(home, 'extensions/.hidden/x', '');
    writeFileSync(join(home, 'extensions/file.txt'), '');
    symlinkSync('/does/not/exist', join(home, 'extensions/moved'));
    symlinkSync('round', join(home, 'extensions/round'));
  });
  expect(found).toMatchObject([
    { id: 'bad', why: expect.stringContaining('troupe.plugin.json is not JSON') },
    { id: 'empty', why: 'troupe.plugin.json is missing' },
    { id: 'moved', why: expect.stringMatching(/extensions\/moved is missing$/) },
    { id: 'one', version: '1.0.0', manifest: { id: 'one' } },
    { id: 'round', why: expect.stringContaining('is missing') },
  ]);
  expect(readPlugins('/does/not/exist')).toEqual([]);
});

it.each([
  [{ id: 'two' }, 'its id is two, but its folder is one'],
  [{ configSchema: 7 }, '/configSchema must be an object'],
  [{ tool: [] }, '/tool is not a known field'],
  [{ tools: [toolNamed('exec')] }, 'the name exec has to be one or begin with one_'],
  [{ tools: [toolNamed('one'), toolNamed('one')] }, 'it declares a name twice: one, one'],
  [{ providers: [{ id: 'openai', models: [{ id: 'm' }] }] }, 'the name openai has to be one'],
  [{ hooks: ['before_lunch'] }, '/hooks/0 must be one of'],
  [{ hooks: ['tool_result_persist'] }, 'tool_result_persist is synchronous'],
  [{ permissions: ['everything'] }, '/permissions/0 must be one of'],
])('refuses %j', (manifest, why) => {
  expect(manifested(manifest)).toMatchObject([{ id: 'one', why: expect.stringContaining(why) }]);
});

const rowOf = async (plugin: Partial<TestPlugin>) => {
  const { rows, reports } = await opened({
    one: { code: `import { writeFileSync } from 'node:fs';`, ...plugin },
  });
  expect(reports).toMatchObject([{ kind: 'failure', text: expect.stringContaining('left out') }]);
  return rows()[0];
};

it.each<[Partial<TestPlugin>, string]>([
  [
    {
      manifest: { configSchema: { type: 'object', properties: { n: { type: 'integer' } } } },
      entry: { config: { n: 'many' } },
    },
    'plugins.entries.one.config: /n must be integer',
  ],
  [{ manifest: { secrets: ['key'] } }, 'plugins.entries.one.secrets.key is missing'],
  [{ entry: { secrets: { key: 'x' } } }, 'secrets.key is not a secret that its manifest names'],
  [
    { manifest: { permissions: ['childProcesses'] } },
    'it asks for the permission childProcesses: grant it in plugins.entries.one.permissions.childProcesses',
  ],
  [
    { manifest: { permissions: ['read'] }, entry: { permissions: { read: ['/a,/'] } } },
    'contains * or a comma',
  ],
  [{ manifest: { tools: [toolNamed('one', { parameters: { type: 7 } })] } }, 'JSON Schema'],
])('is invalid, and nothing runs: %j', async (plugin, why) => {
  expect(await rowOf(plugin)).toMatchObject({
    state: 'invalid',
    lastError: { message: expect.stringContaining(why) },
  });
});

it('does not run without an entry that enables it', async () => {
  const manifest = { tools: [toolNamed('one')], hooks: ['command'] };
  const plugins = await opened({ one: { code: '', manifest, entry: { enabled: false } } });
  plugins.start();
  expect(plugins.rows()).toMatchObject([{ id: 'one', state: 'disabled', tools: ['one'] }]);
  expect([plugins.tools, plugins.hooks, plugins.providers]).toEqual([[], [], []]);
});
