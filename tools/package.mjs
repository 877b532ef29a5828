/**
 * `npm run package`, and what npm runs before it packs: builds everything that the package holds,
 * and removes the files of older builds. Do not run it while a program of this checkout runs that
 * was started before the last build.
 */
import { build } from './build.mjs';
import { ensureDeclarations } from './declarations.mjs';
import { ensureInstalled } from './install.mjs';

ensureInstalled({ dev: true });
try {
  await build({ keepMs: 0 });
  ensureDeclarations();
} catch (error) {
  if (!Array.isArray(error.errors)) console.error(`troupe: ${error.message}`);
  process.exitCode = 1;
}
