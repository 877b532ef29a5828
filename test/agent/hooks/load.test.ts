/** Loading hooks from a folder: which files are loaded, and the report about the others. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createHooks } from '../../../agent/hooks/create-hooks.ts';
import { hookNamesOf, loadHooks } from '../../../agent/hooks/load.ts';
import { hookSamples } from '../../../cli/hooks/hook-samples.ts';
import { scratchFolder, write } from '../../runtime/config/folder.ts';

const about = { tenant: 'default', agentId: 'main', sessionKey: 'agent:main:main' };

const folderOf = (files: Readonly<Record<string, string>>): string => {
  const folder = scratchFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    write(folder, name, text);
  }
  return folder;
};
const named = (name: string, hooks = 'command: () => undefined') =>
  `export default { name: '${name}', hooks: { ${hooks} } };`;

describe('a folder of hooks', () => {
  it('may contain files that export functions by the names of hooks', async () => {
    const folder = folderOf({
      'route-by-content.js': `export async function routeMessage(context) {
          const { message, channel, sender } = context;
          if (message.text.includes('#work')) return { agent: 'work' };
        }
        export const other = 1;`,
      'Route.js': 'export const routeMessage = () => undefined;',
      'z.js': `export const routeMessage = () => ({ agent: 'later' });`,
    });
    const { loaded, faults } = await loadHooks({ folder });
    expect(faults).toEqual([
      { file: join(folder, 'Route.js'), why: expect.stringContaining('small letters') },
    ]);
    expect(loaded.map(({ module }) => module.name)).toEqual(['route-by-content', 'z']);
    const hooks = createHooks({ modules: loaded.map(({ module }) => module) });
    const { routeMessage } = hookSamples;
    expect(await hooks.run('routeMessage', routeMessage, about)).toEqual({ agent: 'work' });
    const other = { ...routeMessage, message: { ...routeMessage.message, text: 'hello' } };
    expect(await hooks.run('routeMessage', other, about)).toEqual({ agent: 'later' });
  });

  it('that is missing or empty has no hooks', async () => {
    const nothing = { loaded: [], disabled: [], faults: [] };
    expect(await loadHooks({ folder: join(scratchFolder(), 'none') })).toEqual(nothing);
    expect(await loadHooks({ folder: folderOf({}) })).toEqual(nothing);
  });

  it('may contain TypeScript, ES modules and CommonJS with imports of adjacent files', async () => {
    const folder = folderOf({
      'a.ts': `import { defineHooks } from 'troupe/hooks';
        import { readFileSync } from 'node:fs';
        import { mark } from './lib/mark.ts';
        type Text = { text: string };
        const own = readFileSync(new URL('./own.txt', import.meta.url), 'utf8');
        export default defineHooks({
          name: 'typed', priority: 3,
          hooks: { message_sending: ({ text }: Text) => ({ text: text + mark + own }) },
        });`,
      'lib/mark.ts': "export const mark: string = '!';",
      'own.txt': 'mine',
      'b.js': `const { basename } = require('node:path');
        module.exports = { name: 'plain', hooks: {
          message_sending: ({ text }) => ({ text: basename('/x/' + text) }) } };`,
      'c.mjs': named('module'),
      'readme.md': 'not one',
      '.hidden.js': 'not one',
      'types.d.ts': 'not one',
    });
    const { loaded, faults } = await loadHooks({ folder });
    expect(faults).toEqual([]);
    expect(loaded.map(({ module }) => module.name)).toEqual(['typed', 'plain', 'module']);
    expect(loaded.map(({ file }) => file)).toEqual(
      ['a.ts', 'b.js', 'c.mjs'].map((f) => join(folder, f)),
    );
    expect(loaded.map(({ module }) => hookNamesOf(module))).toEqual([
      ['message_sending'],
      ['message_sending'],
      ['command'],
    ]);
    const hooks = createHooks({ modules: loaded.map(({ module }) => module) });
    expect(await hooks.run('message_sending', { text: 'hi' }, about)).toEqual({ text: 'hi!mine' });
  });

  it('omits modules that are disabled by name', async () => {
    const folder = folderOf({ 'a.mjs': named('one'), 'b.mjs': named('two') });
    const { loaded, disabled } = await loadHooks({ folder, disabled: ['one'] });
    expect(loaded.map(({ module }) => module.name)).toEqual(['two']);
    expect(disabled.map(({ module }) => module.name)).toEqual(['one']);
  });

  it.each([
    ['does not read', 'export default {\n  name: ,', 'line 2: Unexpected ","'],
    ['throws when it runs', "throw new Error('no database')", 'no database'],
    ['imports a missing file', "import './gone.js';", 'line 1: Could not resolve "./gone.js"'],
    ['has no default export', 'export const hooks = {};', 'no default export'],
    ['has no name', 'export default { hooks: {} };', 'its name has to be small letters'],
    ['has a name with a space', "export default { name: 'a b', hooks: {} };", 'its name has to be'],
    ['has no hooks', "export default { name: 'a' };", 'it has no hooks'],
    [
      'has a priority that is no number',
      "export default { name: 'a', priority: 'x', hooks: {} };",
      'a number',
    ],
    ['names an unknown hook', named('a', 'agent_ends: () => {}'), 'there is no hook agent_ends'],
    [
      'has a hook that is no function',
      named('a', 'agent_end: 5'),
      'agent_end has to be a function',
    ],
  ])('reports a file that %s, and loads the others', async (_, text, why) => {
    const folder = folderOf({ 'bad.mjs': text, 'good.mjs': named('good') });
    const { loaded, faults } = await loadHooks({ folder });
    expect(loaded.map(({ module }) => module.name)).toEqual(['good']);
    expect(faults).toEqual([
      { file: join(folder, 'bad.mjs'), why: expect.stringContaining(why) as string },
    ]);
  });

  it('reports a second file with the same name', async () => {
    const folder = folderOf({ 'a.mjs': named('same'), 'b.mjs': named('same') });
    const { loaded, faults } = await loadHooks({ folder });
    expect(loaded).toHaveLength(1);
    expect(faults).toEqual([
      { file: join(folder, 'b.mjs'), why: 'there is another module named same; rename one' },
    ]);
  });
});
