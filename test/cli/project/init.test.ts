/** What the built program writes is what its source has: a bundler may change texts of code too. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { templateFiles } from '../../../cli/project/template.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { runProgram } from '../program.ts';

it.each(['typescript', 'javascript'] as const)(
  'troupe init writes its %s files',
  async (language) => {
    const home = scratchFolder();
    const folder = join(home, 'typed');
    const options = language === 'javascript' ? ['--javascript'] : [];
    expect(await runProgram(['init', folder, ...options], { home })).toMatchObject({ code: 0 });
    const files = templateFiles({ name: 'typed', language, dependencies: {}, devDependencies: {} });
    for (const [path, text] of Object.entries(files))
      if (path !== 'package.json') expect(readFileSync(join(folder, path), 'utf8')).toBe(text);
  },
);

it('troupe init prints a next command that a shell reads', async () => {
  const home = scratchFolder();
  const { stdout } = await runProgram(['init', join(home, "my agénts' home")], { home });
  const [, folder] = /^Next: cd (.+?) && npm install/m.exec(stdout) ?? [];
  expect(execFileSync('sh', ['-c', `cd ${folder} && ls`], { encoding: 'utf8' })).toContain('src');
});
