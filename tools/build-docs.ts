/**
 * `npm run docs`: writes the documentation as a static site into dist/docs-site/, and llms.txt.
 * Open dist/docs-site/index.html in a browser, or serve the folder from any web server.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from './install.mjs';
import { llmsText } from './docs/pages.ts';
import { siteFiles } from './docs/site.ts';

const folder = join(root, 'dist', 'docs-site');
rmSync(folder, { recursive: true, force: true });
for (const { path, contents } of siteFiles()) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), contents);
}
writeFileSync(join(root, 'llms.txt'), llmsText());
console.log(join(folder, 'index.html'));
