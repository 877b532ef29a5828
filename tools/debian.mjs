/**
 * Programs of Debian that tests run and that this machine need not have installed: they are found
 * on PATH, or in a cache below node_modules into which `node tools/debian.mjs` unpacks their
 * packages. Nothing is installed and no service starts.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { root } from './install.mjs';

const cache = join(root, 'node_modules', '.cache', 'troupe', 'debian');

/** What needs each program, and where its packages have it. */
const programs = {
  'systemd-analyze': {
    for: 'tests of troupe service',
    packages: ['systemd', 'libsystemd-shared'],
    path: 'usr/bin/systemd-analyze',
    libraries: ['usr/lib/x86_64-linux-gnu/systemd', 'usr/lib/aarch64-linux-gnu/systemd'],
  },
  nginx: { for: 'tests of reverse proxies', packages: ['nginx'], path: 'usr/sbin/nginx' },
  caddy: { for: 'tests of reverse proxies', packages: ['caddy'], path: 'usr/bin/caddy' },
};

/** Debian installs servers in folders that are only on root's PATH. */
const folders = () => [
  ...(process.env.PATH ?? '').split(delimiter),
  '/usr/sbin',
  '/usr/local/sbin',
];

/** The program and the variables that it needs; undefined if it is not here. */
export function debianProgram(name) {
  const installed = folders()
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
  if (installed !== undefined) return { path: installed, env: {} };
  const { path, libraries = [] } = programs[name];
  const unpacked = join(cache, name);
  if (!existsSync(join(unpacked, path))) return undefined;
  const places = libraries.map((folder) => join(unpacked, folder)).filter(existsSync);
  const env = places.length > 0 ? { LD_LIBRARY_PATH: places.join(':') } : {};
  return { path: join(unpacked, path), env };
}

/** One line for each program that tests cannot run here. */
export const debianMissing = () =>
  Object.keys(programs)
    .filter((name) => debianProgram(name) === undefined)
    .map((name) => `${programs[name].for} need ${name}: node tools/debian.mjs, on Debian`);

function fetch(name) {
  const { packages } = programs[name];
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'fetch-'));
  try {
    const unpacked = join(folder, 'unpacked');
    run('apt-get', ['-qq', '-o', 'APT::Sandbox::User=root', 'download', ...packages], folder);
    const archives = readdirSync(folder).filter((file) => file.endsWith('.deb'));
    for (const file of archives) run('dpkg-deb', ['-x', join(folder, file), unpacked], folder);
    rmSync(join(cache, name), { recursive: true, force: true });
    renameSync(unpacked, join(cache, name));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(command, args, cwd) {
  const { status, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    timeout: 120_000,
  });
  if (status === 0) return;
  throw new Error(stderr?.trim().split('\n').at(-1) || error?.message || `${command} failed`);
}

if (process.argv[1] === import.meta.filename) {
  for (const name of Object.keys(programs)) {
    if (debianProgram(name) !== undefined) continue;
    try {
      fetch(name);
    } catch (error) {
      console.error(`!! ${name} could not be had: ${error.message}`);
    }
  }
}
