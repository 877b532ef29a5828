/**
 * nats-server for tests: finds the installed versions, and fetches missing ones without root.
 *
 * It is searched in TROUPE_NATS_SERVER, on PATH, and in a cache below node_modules. On a machine
 * with Debian's apt, two versions are fetched into that cache: the oldest supported one and a
 * current one. They are unpacked, not installed, from the mirror that the machine's apt uses.
 * Lists, caches and locks are separate, so the machine's own apt is neither changed nor waited for.
 */
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { root } from './install.mjs';

const cache = join(root, 'node_modules', '.cache', 'troupe', 'nats');
/** Why the last fetch was incomplete; no other one is tried while this file is fresh. */
const refusal = join(cache, 'not-fetched.json');
const refusalMs = 3_600_000;

/** The versions for tests; `suites` are the Debian suites that have it, tried in this order. */
const lines = [
  { name: '2.9, the oldest supported', fits: (minor) => minor === 9, suites: ['bookworm'] },
  { name: '2.10 or newer', fits: (minor) => minor >= 10, suites: ['forky', 'trixie'] },
];
const remedy = 'apt-get install nats-server, or name the program in TROUPE_NATS_SERVER';

const updateMs = 150_000;
const downloadMs = 90_000;
const program = process.platform === 'win32' ? 'nats-server.exe' : 'nats-server';

const byVersion = (a, b) => a.version.localeCompare(b.version, 'en', { numeric: true });

/** The program's version, `2.9.10`; undefined if it does not run here. */
function versionOf(path) {
  const { stdout, status } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 10_000 });
  return status === 0 ? /v(\d+\.\d+\.\d+)/.exec(stdout)?.[1] : undefined;
}

function cached() {
  if (!existsSync(cache)) return [];
  return readdirSync(cache)
    .filter((version) => /^\d+\.\d+\.\d+$/.test(version))
    .map((version) => ({ version, path: join(cache, version, program) }))
    .filter(({ path }) => existsSync(path));
}

function installed() {
  const named = process.env.TROUPE_NATS_SERVER;
  // Debian installs it in a folder that is only on root's PATH.
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  const paths = folders.filter((folder) => folder !== '').map((folder) => join(folder, program));
  return [...new Set([...(named ? [named] : []), ...paths])]
    .filter((path) => existsSync(path))
    .map((path) => ({ version: versionOf(path), path }))
    .filter(({ version }) => version !== undefined);
}

/** The available servers, each version once, the oldest first. */
export function natsServers() {
  const found = new Map();
  for (const one of [...cached(), ...installed()]) found.set(one.version, one);
  return [...found.values()].sort(byVersion);
}

const has = (servers, { fits }) =>
  servers.some(({ version }) => {
    const [major, minor] = version.split('.').map(Number);
    return major === 2 && fits(minor);
  });

/** One line for each version that tests cannot use here, with the reason and the remedy. */
export function natsMissing() {
  const servers = natsServers();
  const why = readRefusal()?.why;
  const because = why ? ` (not fetched: ${why})` : '';
  if (servers.length === 0) return [`tests on NATS need nats-server: ${remedy}${because}`];
  return lines
    .filter((line) => !has(servers, line))
    .map(({ name }) => `tests on NATS did not run on ${name}: ${remedy}${because}`);
}

/**
 * Fetches missing versions where possible and reports it on stderr. It never fails: `natsMissing`
 * has the reasons. A server in TROUPE_NATS_SERVER is enough.
 */
export function ensureNats() {
  if (process.env.TROUPE_NATS_SERVER) return;
  const servers = natsServers();
  const wanted = lines.filter((line) => !has(servers, line));
  if (wanted.length === 0 || readRefusal() !== undefined) return;
  console.error('troupe: fetching nats-server for the tests ...');
  const noMirror =
    debianMirror() === undefined && 'this machine has no apt with a mirror of Debian';
  const failures = noMirror ? [noMirror] : wanted.map(fetchLine).filter((why) => why);
  if (failures.length === 0) return;
  mkdirSync(cache, { recursive: true });
  writeFileSync(refusal, JSON.stringify({ why: failures.join('; ') }));
}

function readRefusal() {
  try {
    if (Date.now() - statSync(refusal).mtimeMs > refusalMs) return undefined;
    return JSON.parse(readFileSync(refusal, 'utf8'));
  } catch {
    // the file is missing or incomplete: try a fetch
    return undefined;
  }
}

/** Undefined if one suite had it; otherwise why none had. */
function fetchLine({ suites }) {
  const failures = [];
  for (const suite of suites) {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-fetch-'));
    try {
      fetchFrom(suite, folder);
      return undefined;
    } catch (error) {
      failures.push(`${suite}: ${error.message}`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return failures.join('; ');
}

function fetchFrom(suite, folder) {
  const apt = aptIn(folder, suite);
  apt(['update'], updateMs);
  apt(['download', 'nats-server'], downloadMs);
  const archive = readdirSync(folder).find((file) => file.endsWith('.deb'));
  if (archive === undefined) throw new Error('apt-get download brought no package');
  const unpacked = join(folder, 'unpacked');
  run('dpkg-deb', ['-x', join(folder, archive), unpacked], folder, downloadMs);
  const places = ['usr/sbin', 'usr/bin'].map((place) => join(unpacked, place, program));
  const path = places.find((place) => existsSync(place));
  const version = path && versionOf(path);
  if (!version) throw new Error('the program does not run on this system');
  keep(path, version);
}

/** Renamed when complete, also if two processes fetch at once. */
function keep(path, version) {
  const folder = join(cache, version);
  mkdirSync(folder, { recursive: true });
  const beside = join(folder, `~${process.pid}`);
  copyFileSync(path, beside);
  renameSync(beside, join(folder, program));
}

/** Runs apt-get on one suite with lists, cache and sources in the folder, as any user. */
function aptIn(folder, suite) {
  const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
  const signed = existsSync(keyring) ? `[signed-by=${keyring}] ` : '';
  const sources = join(folder, 'sources.list');
  writeFileSync(sources, `deb ${signed}${debianMirror()} ${suite} main\n`);
  for (const part of ['lists/partial', 'cache/archives/partial'])
    mkdirSync(join(folder, part), { recursive: true });
  const settings = {
    'Dir::Etc::SourceList': sources,
    'Dir::Etc::SourceParts': '/dev/null',
    'Dir::State::Lists': join(folder, 'lists'),
    'Dir::Cache': join(folder, 'cache'),
    // only this user can write to the folder, so the user of apt's sandbox could not
    'APT::Sandbox::User': 'root',
    'APT::Update::Error-Mode': 'any',
    'Acquire::Languages': 'none',
    'Acquire::Retries': '1',
    'Acquire::http::Timeout': '20',
    'Acquire::https::Timeout': '20',
  };
  const options = Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  return (args, timeoutMs) => run('apt-get', ['-qq', ...options, ...args], folder, timeoutMs);
}

/** The Debian mirror that this machine's apt uses; undefined without one. */
function debianMirror() {
  const parts = '/etc/apt/sources.list.d';
  const files = existsSync(parts) ? readdirSync(parts).map((file) => join(parts, file)) : [];
  for (const file of ['/etc/apt/sources.list', ...files]) {
    if (!existsSync(file)) continue;
    const text = readFileSync(file, 'utf8').replace(/^\s*#.*$/gm, '');
    const url = /\bhttps?:\/\/\S+\/debian\/?(?=\s)/.exec(text)?.[0];
    if (url !== undefined) return url;
  }
  return undefined;
}

function run(command, args, cwd, timeoutMs) {
  const env = { ...process.env, LC_ALL: 'C' };
  const ended = spawnSync(command, args, { cwd, encoding: 'utf8', timeout: timeoutMs, env });
  if (ended.status === 0) return;
  const said = (ended.stderr ?? '').split('\n').find((line) => /^[EW]:/.test(line));
  throw new Error(said ?? ended.error?.message ?? `${command} ended with ${ended.status}`);
}
