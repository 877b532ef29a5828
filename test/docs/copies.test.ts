/** Every `cp` line of a page works in a checkout, once troupe was started for the first time. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../../tools/install.mjs';
import { startProgram } from '../cli/program.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';

const pagesIn = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md') && !path.includes('node_modules'))
    .map((path) => join(folder, path));

const pages = ['README.md', 'CONTRIBUTING.md', ...pagesIn('docs'), ...pagesIn('examples')];
const copies = pages.flatMap((page) =>
  [...readFileSync(join(root, page), 'utf8').matchAll(/^ *(?:\$ )?(cp .*)$/gm)].map(
    ([, line = '']) => ({ page, line }),
  ),
);

test('the cp lines of all pages work on a fresh installation', { timeout: 120_000 }, async () => {
  expect(copies.length).toBeGreaterThan(2);
  const home = scratchFolder();
  const troupe = startProgram(['start', '--port', '0'], { home });
  await eventually(() => expect(troupe.stdout).toContain('#token='), 60_000);
  for (const { page, line } of copies) {
    const run = () =>
      execFileSync('bash', ['-ec', line], { cwd: root, env: { ...process.env, HOME: home } });
    expect(run, `${page}: ${line}`).not.toThrow();
  }
});
