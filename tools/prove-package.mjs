/**
 * `npm run test:package -- --node 20 --node 22`: tries the package as a new user does, with each of
 * these versions of Node; without `--node`, with the Node at hand. For each one, in an empty
 * folder:
 *
 *   1. npm installs the tarball, without install scripts
 *   2. every entry is imported, and required
 *   3. `troupe init` writes a project in TypeScript here, and one in JavaScript below; npm installs
 *      both, and their tests pass
 *   4. `troupe dev` runs them: the gateway serves the page, the offline model calls the tool, the
 *      actor answers, and a Chromium, if there is one, shows the statechart of the actor
 *   5. the program of the project runs bundled by esbuild, and without a bundler
 *
 * It needs a package registry. test/package does the same for the Node at hand without a network.
 */
import { execFile, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { ensureInstalled, root } from './install.mjs';
import { chromiumPath } from './machine.mjs';

const run = promisify(execFile);
const INSTALL_MS = 600_000;
const START_MS = 120_000;
const entries = ['', '/agents', '/client', '/hooks', '/plugin-sdk', '/test'].map(
  (path) => `troupe${path}`,
);
const npmOptions = ['--no-audit', '--no-fund', '--loglevel=error'];

/** A folder with the commands of one version of Node, for PATH. */
async function nodeFolder(version) {
  const [major] = process.versions.node.split('.');
  if (version === undefined || version === major) return dirname(process.execPath);
  const folder = join(root, 'node_modules', '.cache', 'troupe', 'node', version);
  const program = join(folder, 'node_modules', 'node', 'bin', 'node');
  if (!fs.existsSync(program)) {
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(join(folder, 'package.json'), '{"private":true}');
    await run('npm', ['install', ...npmOptions, `node@${version}`], {
      cwd: folder,
      timeout: INSTALL_MS,
    });
  }
  return dirname(program);
}

/** The tarball of this checkout. */
async function packed(folder) {
  await run(process.execPath, ['tools/package.mjs'], { cwd: root });
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const { stdout } = await run('npm', args, { cwd: root, maxBuffer: 2 ** 24 });
  const [{ filename, size }] = JSON.parse(stdout);
  console.log(`${filename}: ${size} bytes packed`);
  return join(folder, filename);
}

/** Commands in a folder, with this Node, in an empty home. */
class Place {
  constructor(folder, nodes, home) {
    this.folder = folder;
    const PATH = [nodes, process.env.PATH].join(delimiter);
    this.env = { ...process.env, PATH, HOME: home, NO_COLOR: '1' };
    // of the npm that runs this program
    for (const name of Object.keys(this.env))
      if (/^npm_|^TROUPE/i.test(name)) delete this.env[name];
    this.nodes = nodes;
    this.home = home;
  }

  below(name) {
    return new Place(join(this.folder, name), this.nodes, this.home);
  }

  /** @returns stdout. @throws with stdout and stderr when it fails */
  async run(command, ...args) {
    const options = { cwd: this.folder, env: this.env, timeout: INSTALL_MS, maxBuffer: 2 ** 24 };
    const started = run(command, args, options);
    started.child.stdin.end();
    try {
      return (await started).stdout;
    } catch (error) {
      const output = `${error.stdout ?? ''}${error.stderr ?? ''}`.slice(-4_000);
      throw new Error(`${command} ${args.join(' ')}: ${error.message}\n${output}`, {
        cause: error,
      });
    }
  }

  node(...args) {
    return this.run(join(this.nodes, 'node'), ...args);
  }

  troupe(...args) {
    return this.run('npx', '--no-install', 'troupe', ...args);
  }

  change(name, from, to) {
    const path = join(this.folder, name);
    fs.writeFileSync(path, fs.readFileSync(path, 'utf8').replace(from, to));
  }
}

function expect(condition, what) {
  if (!condition) throw new Error(what);
}

async function checkEntries(place) {
  const names = JSON.stringify(entries);
  const count = (load) =>
    `for (const name of ${names}) console.log(name, Object.keys(${load}).length)`;
  const imported = await place.node('--input-type=module', '-e', count('await import(name)'));
  const required = await place.node('--input-type=commonjs', '-e', count('require(name)'));
  expect(imported.trim().split('\n').length === entries.length, `imports:\n${imported}`);
  expect(imported === required, `require() and import differ:\n${required}`);
  return imported.trim().replaceAll('\n', ', ');
}

/** Runs a command that starts the project, uses it, and stops it. */
async function whileRunning(place, command, args, use) {
  const child = spawn(command, args, { cwd: place.folder, env: place.env, detached: true });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (printed += text));
  const ended = new Promise((resolve) => child.once('exit', resolve));
  try {
    const until = Date.now() + START_MS;
    let url;
    while ((url = /http:\S+#token=\S+/.exec(printed)?.[0]) === undefined) {
      expect(Date.now() < until && child.exitCode === null, `no URL was printed:\n${printed}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await use(url);
  } catch (error) {
    throw new Error(`${error.message}\nthe program printed:\n${printed}`, { cause: error });
  } finally {
    // npm and troupe are one group of processes
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
    await ended;
  }
}

async function checkAnswers(place, url, bill) {
  const response = await fetch(url);
  expect(response.status === 200, `the page has status ${response.status}`);
  expect((await response.text()).includes('<script'), 'the page has no script');
  const message = `call pay_bill {"bill": "${bill}", "cents": 4200}`;
  const args = ['agent', '--message', message, '--url', url.replace(/^http|\/#.*/g, toSocket)];
  const answer = await place.troupe(...args, '--token', url.replace(/.*#token=/, ''));
  expect(answer.includes('receipt for 4200 cents'), `the actor did not answer: ${answer}`);
}

const toSocket = (part) => (part === 'http' ? 'ws' : '');

/** Looks at the chart of the paid bill in the page, where there is a Chromium. */
async function checkChart(url) {
  const executablePath = chromiumPath();
  if (executablePath === undefined) return 'not looked at: there is no Chromium';
  const { chromium } = await import('playwright-core');
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage();
    const actor = encodeURIComponent('default/bill/1');
    await page.goto(`${url}&view=actors&item=${actor}`);
    const state = page.locator('.statechart .state.active[data-state="paid"]');
    await state.waitFor({ timeout: START_MS });
    return 'seen in Chromium';
  } finally {
    await browser.close();
  }
}

/**
 * A program of the project in one file: what loads native code or files of its own stays outside.
 */
async function bundle(place) {
  const { build } = await import('esbuild');
  await build({
    entryPoints: [join(place.folder, 'src', 'main.js')],
    outfile: join(place.folder, 'bundled.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    external: ['lmdb', 'esbuild', 'playwright-core', 'elkjs', 'troupe/agents'],
    banner: {
      js: "import{createRequire as requireOf}from'node:module';const require=requireOf(import.meta.url);",
    },
    logLevel: 'silent',
  });
}

async function checkProject(place, source, report) {
  await place.run('npm', 'install', ...npmOptions);
  await place.run('npm', 'test');
  report('npm test passes');
  place.change(source, '18_790', '0');
  await whileRunning(place, 'npm', ['run', 'dev'], async (url) => {
    await checkAnswers(place, url, '1');
    report('troupe dev: page, tool and actor answer');
    report(`chart of the actor: ${await checkChart(url)}`);
  });
}

async function prove(version, tarball, folder) {
  const nodes = await nodeFolder(version);
  const home = join(folder, 'home');
  const typed = new Place(join(folder, 'typed'), nodes, home);
  for (const path of [home, typed.folder]) fs.mkdirSync(path, { recursive: true });
  const name = (await typed.node('--version')).trim();
  const report = (what) => console.log(`${name}: ${what}`);
  await typed.run('npm', 'install', '--ignore-scripts', ...npmOptions, tarball);
  report(`installed without install scripts, troupe ${(await typed.troupe('--version')).trim()}`);
  report(`import and require: ${await checkEntries(typed)}`);
  await typed.troupe('init', '.');
  await checkProject(typed, 'src/main.ts', (what) => report(`TypeScript: ${what}`));
  await typed.troupe('init', 'plain', '--javascript');
  const plain = typed.below('plain');
  const ofPlain = (what) => report(`JavaScript: ${what}`);
  await checkProject(plain, 'src/main.js', ofPlain);
  const node = join(nodes, 'node');
  await whileRunning(plain, node, ['src/main.js'], (url) => checkAnswers(plain, url, '2'));
  ofPlain('node src/main.js: the actor answers');
  await bundle(plain);
  await whileRunning(plain, node, ['bundled.mjs'], (url) => checkAnswers(plain, url, '3'));
  ofPlain('bundled by esbuild: the actor answers');
}

const { values } = parseArgs({ options: { node: { type: 'string', multiple: true } } });
ensureInstalled({ dev: true });
const folder = fs.mkdtempSync(join(tmpdir(), 'troupe-proof-'));
try {
  const tarball = await packed(folder);
  for (const version of values.node ?? [undefined])
    await prove(version, tarball, join(folder, version ?? 'at-hand'));
  console.log('the package works');
} catch (error) {
  console.error(`npm run test:package: ${error.message}`);
  process.exitCode = 1;
} finally {
  fs.rmSync(folder, { recursive: true, force: true });
}
