/**
 * `npm run format [-- PATH...]`: formats with biome, then wraps long comment lines, in the whole
 * repository or in the named files and folders.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureInstalled, root } from './install.mjs';
import { wrapComments } from './wrap-comments.mjs';

const notOurs = new Set(['node_modules', 'dist', 'coverage', '.git', 'results', 'schemas']);
const sourceFile = /\.(ts|tsx|mts|mjs)$/;

function* filesIn(path) {
  if (statSync(path).isFile()) {
    if (sourceFile.test(path)) yield path;
    return;
  }
  for (const name of readdirSync(path)) if (!notOurs.has(name)) yield* filesIn(join(path, name));
}

ensureInstalled({ dev: true });
const named = process.argv.slice(2);
const paths = named.length > 0 ? named : ['.'];
const biome = join(root, 'node_modules', '.bin', 'biome');
const { status } = spawnSync(biome, ['format', '--write', ...paths], {
  cwd: root,
  stdio: 'inherit',
  shell: process.platform === 'win32',
});
for (const file of paths.flatMap((path) => [...filesIn(join(root, path))])) {
  const before = readFileSync(file, 'utf8');
  const after = wrapComments(before);
  if (after !== before) writeFileSync(file, after);
}
process.exitCode = status ?? 1;
