/**
 * Installs missing dependencies. It runs before any dependency exists, so it imports only Node's
 * own modules.
 *
 * npm records what it installed in node_modules/.package-lock.json. Comparing that file with
 * package-lock.json is exact, also after a manual `npm ci` or `npm install`.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** The `engines` of package.json, checked here because npm only warns. */
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
 * Paths of packages that are in the lock file and not in node_modules.
 * @param {{ dev: boolean, folder?: string }} options `dev`: including those for tests and checks
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
 * Makes node_modules match package-lock.json. Exits with npm's exit code if npm fails.
 * @param {{ dev: boolean }} options `dev`: including packages for tests and checks
 */
export function ensureInstalled({ dev }) {
  refuseOldNode();
  const missing = missingPackages({ dev });
  if (missing.length === 0) return;
  // An existing node_modules may be a contributor's: never remove the development packages from it.
  const fresh = !existsSync(join(root, 'node_modules'));
  const omit = fresh && !dev ? ['--omit=dev'] : [];
  console.error(`troupe: installing ${missing.length} packages that are missing ...`);
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  // Not `npm ci`: it refuses a lock file that was written without access to the packages of other
  // platforms. `install` reads every version from the lock file, and with --no-save never writes
  // it.
  const args = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error', ...omit];
  const { status, error } = spawnSync(npm, args, {
    cwd: root,
    // npm's output goes to stderr, because stdout belongs to the program that starts next.
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
