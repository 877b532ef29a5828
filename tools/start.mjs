/**
 * `npm start`: install what is missing, build what is stale, start troupe in this very process.
 * No child process stands between: a signal, also kill -9, hits the program itself, and nothing
 * but the program takes memory.
 */
import { pathToFileURL } from 'node:url';
import { bundle, ensureBuilt } from './build.mjs';
import { ensureInstalled } from './install.mjs';

ensureInstalled({ dev: false });
try {
  ensureBuilt();
} catch (error) {
  console.error(`troupe: ${error.message}`);
  process.exit(1);
}
process.argv = [process.execPath, bundle, 'start', ...process.argv.slice(2)];
await import(pathToFileURL(bundle).href);
