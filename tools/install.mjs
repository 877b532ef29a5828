/**
 * Installs what is missing, and nothing when nothing is. Runs before any dependency exists, so it
 * may import only Node's own modules.
 *
 * npm leaves a record of what it installed in node_modules/.package-lock.json. Comparing that with
 * package-lock.json is exact, also after an `npm ci` or `npm install` made by hand.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** What package.json's `engines` says; checked here because npm only warns about it. */
const nodeNeeded = [20, 19];

function refuseOldNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > nodeNeeded[0] || (major === nodeNeeded[0] && minor >= nodeNeeded[1])) return;
  console.error(
    `troupe needs Node ${nodeNeeded.join('.')} or newer and this is ${process.version}.\n` +
      'Install a newer Node and run the same command again.',
  );
  process.exit(1);
}

const packagesOf = (path) => JSON.parse(readFileSync(path, 'utf8')).packages ?? {};

/**
 * Paths of packages that the lock file asks for and node_modules does not have.
 * @param {{ dev: boolean, folder?: string }} options `dev`: those for tests and checks as well
 */
export function missingPackages({ dev, folder = root }) {
  const installedList = join(folder, 'node_modules', '.package-lock.json');
  const wanted = packagesOf(join(folder, 'package-lock.json'));
  const installed = existsSync(installedList) ? packagesOf(installedList) : {};
  return Object.entries(wanted)
    .filter(([path, entry]) => path !== '' && !entry.optional && (dev || !entry.dev))
    .filter(([path, entry]) => installed[path]?.version !== entry.version)
    .filter(([, entry]) => !entry.devOptional || dev)
    .map(([path]) => path);
}

/**
 * Leaves node_modules as package-lock.json says. Ends the process with npm's own exit code if npm
 * fails.
 * @param {{ dev: boolean }} options `dev`: with what tests and checks need
 */
export function ensureInstalled({ dev }) {
  refuseOldNode();
  const missing = missingPackages({ dev });
  if (missing.length === 0) return;
  // A node_modules that is there may be a contributor's: never take the tools out of it.
  const fresh = !existsSync(join(root, 'node_modules'));
  const omit = fresh && !dev ? ['--omit=dev'] : [];
  console.error(`troupe: installing ${missing.length} packages that are missing ...`);
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  // Not `npm ci`: it refuses a lock file made where the packages of other platforms could not be
  // had. `install` takes every version from the lock file and, with --no-save, never writes to it.
  const args = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error', ...omit];
  const { status, error } = spawnSync(npm, args, {
    cwd: root,
    // What is installed goes to stderr: stdout belongs to the program that is started next.
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (status === 0) return;
  console.error(
    `troupe: npm install failed${error ? `: ${error.message}` : ''}. See what npm says above; ` +
      'without a network, install once where there is one and copy node_modules.',
  );
  process.exit(status ?? 1);
}
