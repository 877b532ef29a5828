/** Packages that only one suite of tests needs, in a cache below node_modules. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FETCH_MS = 600_000;

/**
 * Makes `folder` contain exactly these packages, versions by name; fetches them unless it does.
 * Install scripts are not run: the suites need none of them.
 * @throws when they cannot be fetched
 */
export function ensurePackages(folder, packages) {
  const stamp = join(folder, 'fetched.json');
  const wanted = JSON.stringify(packages);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ private: true, dependencies: packages }),
  );
  const names = Object.entries(packages).map(([name, version]) => `${name}@${version}`);
  console.log(`fetching ${names.join(' ')}`);
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const options = { cwd: folder, stdio: 'inherit', timeout: FETCH_MS };
  const { status, error } = spawnSync('npm', args, options);
  if (status !== 0)
    throw new Error(`the packages cannot be fetched${error ? `: ${error.message}` : ''}`);
  writeFileSync(stamp, wanted);
}
