/**
 * `npm start`: installs missing dependencies, builds a stale dist/, and starts troupe in this
 * process. There is no child process: signals, including kill -9, reach the program itself, and
 * nothing else uses memory.
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
