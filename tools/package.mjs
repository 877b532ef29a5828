/**
 * `npm run package`, and what npm runs before it packs: builds everything that the package holds,
 * and removes the files of older builds.
 */
import { ensureBuilt, removeOtherBuilds } from './build.mjs';
import { ensureDeclarations } from './declarations.mjs';
import { ensureInstalled } from './install.mjs';

ensureInstalled({ dev: true });
try {
  ensureBuilt();
  removeOtherBuilds();
  ensureDeclarations();
} catch (error) {
  console.error(`troupe: ${error.message}`);
  process.exitCode = 1;
}
