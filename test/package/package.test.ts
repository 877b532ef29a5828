/** The package: what it holds, and that programs can use every entry of it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { root } from '../../tools/install.mjs';
import { eventually } from '../runtime/eventually.ts';
import { descriptionOf, type Packed, packed } from './packed.ts';

/** Megabytes of the specification of the package. */
const SIZE_MAX = 4_000_000;
const consumer = fileURLToPath(new URL('./consumer.txt', import.meta.url));

let it: Packed;
beforeAll(async () => {
  it = await packed();
  copyFileSync(consumer, join(it.folder, 'consumer.mts'));
}, 300_000);
afterAll(() => it?.remove());

const minutes = (count: number) => ({ timeout: count * 60_000 });

test('is at most 4 MB, and holds no tests, sources or source maps of ours', () => {
  expect(it.size).toBeLessThan(SIZE_MAX);
  const paths = it.files.map(({ path }) => path);
  const roots = new Set(paths.map((path) => path.split('/').slice(0, 2).join('/')));
  const unexpected = [...roots].filter(
    (path) =>
      !/^(dist\/([^/]+\.(js|html)|sdk|types|web)|bin\/troupe\.js|[^/]+\.(md|json)|LICENSE)$/.test(
        path,
      ),
  );
  expect(unexpected).toEqual([]);
  expect(paths.filter((path) => /\.map$|\.test\./.test(path))).toEqual([]);
  expect(paths).toEqual(expect.arrayContaining(['bin/troupe.js', 'dist/troupe.js', 'LICENSE']));
});

test('every entry can be imported and required', minutes(2), async () => {
  const names = JSON.stringify(it.entries);
  const imported = `for (const name of ${names}) console.log(name, Object.keys(await import(name)).length)`;
  const required = `for (const name of ${names}) console.log(name, Object.keys(require(name)).length)`;
  const lines = (await it.node(['--input-type=module', '-e', imported])).trim().split('\n');
  expect(lines.map((line) => line.split(' ')[0])).toEqual([...it.entries]);
  expect(lines.filter((line) => line.endsWith(' 0'))).toEqual([]);
  // Node 20.19 and 22.12 are the first that load ES modules by require().
  const ofRequire = (await it.node(['--input-type=commonjs', '-e', required])).trim().split('\n');
  expect(ofRequire).toEqual(lines);
});

test('a program in TypeScript is checked in strict mode, and runs', minutes(4), async () => {
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2023'],
    types: ['node'],
  };
  it.write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['consumer.mts'] }));
  await expect(it.tool('typescript/bin/tsc', ['-p', '.'])).resolves.toBe('');
  const receipt = JSON.stringify({ kind: 'answered', result: 'receipt for 4200' });
  const lines = (await it.node(['consumer.mjs'])).trim().split('\n');
  expect(lines).toEqual([receipt, receipt, '200']);
});

test('esbuild bundles the client for browsers and the rest for Node', minutes(2), async () => {
  const bundle = (entry: string, platform: 'browser' | 'node') =>
    build({
      stdin: { contents: `export * from '${entry}'`, resolveDir: it.folder },
      bundle: true,
      write: false,
      format: 'esm',
      platform,
      packages: platform === 'node' ? 'external' : 'bundle',
      logLevel: 'silent',
    });
  const { outputFiles } = await bundle('troupe/client', 'browser');
  expect(outputFiles[0]?.text).not.toMatch(/\bfrom\s*"node:|require\(/);
  expect(outputFiles[0]?.contents.length).toBeLessThan(100_000);
  for (const entry of it.entries) await bundle(entry, 'node');
  const banner = {
    js: "import{createRequire as requireOf}from'node:module';const require=requireOf(import.meta.url);",
  };
  await build({
    entryPoints: [join(it.folder, 'consumer.mts')],
    outfile: join(it.folder, 'bundled', 'consumer.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    // native, or loaded by paths of their own
    external: ['lmdb', 'esbuild', 'playwright-core', 'elkjs', 'troupe/agents'],
    banner,
    logLevel: 'silent',
  });
  const lines = (await it.node([join('bundled', 'consumer.mjs')])).trim().split('\n');
  expect(lines.at(-1)).toBe('200');
});

test('publint and attw have no complaints', minutes(4), async () => {
  const { publint } = await import('publint');
  const { messages } = await publint({
    pack: { tarball: Uint8Array.from(readFileSync(it.tarball)).buffer },
    strict: true,
  });
  expect(messages).toEqual([]);
  // `esm-only`: it has no build for loaders that know neither `exports` nor ES modules.
  const args = [it.tarball, '--profile', 'esm-only', '--format', 'table-flipped', '--no-color'];
  await it.tool('@arethetypeswrong/cli/dist/index.js', args);
});

test('the command runs from the package', minutes(1), async () => {
  const { version } = JSON.parse(
    readFileSync(join(it.folder, 'node_modules/troupe/package.json'), 'utf8'),
  ) as { version: string };
  const command = join('node_modules', 'troupe', 'bin', 'troupe.js');
  expect((await it.node([command, '--version'])).trim()).toBe(version);
  // It has no tests: what they would need is of no use to its users.
  const doctor = await it.node([command, 'doctor', '--json', '--data', join(it.folder, 'none')]);
  const { checks } = JSON.parse(doctor) as { checks: readonly { check: string }[] };
  const names = checks.map(({ check }) => check);
  expect(names).toContain('node');
  expect(names).not.toContain('tests');
});

/** Makes `NAME.mjs` of `NAME.mts` of the consumer. Returns the errors of the compiler. */
function compile(names: readonly string[]): Promise<string> {
  const compilerOptions = { strict: true, module: 'nodenext', target: 'es2023', types: ['node'] };
  const files = names.map((name) => `${name}.mts`);
  it.write('tsconfig.json', JSON.stringify({ compilerOptions, files }));
  return it.tool('typescript/bin/tsc', ['-p', '.']);
}

/** It needs a server; the suites in test/cluster have one. */
const ONLY_CHECKED = ['openCluster'];

test.each(['README.md', 'docs/package.md', 'docs/testing.md'])(
  'the code in %s is valid and runs',
  minutes(3),
  async (page) => {
    const blocks = readFileSync(join(root, page), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g);
    const codes = [...blocks].map(([, code]) => code!);
    expect(codes.length).toBeGreaterThan(0);
    const files = codes.map((code, n) => {
      const name = `page-${n}`;
      // A system keeps its process alive.
      it.write(`${name}.mts`, `${code}\nprocess.exit(0);\n`);
      return name;
    });
    await expect(compile(files)).resolves.toBe('');
    for (const name of files) await it.node([`${name}.mjs`]);
  },
);

test('every export is described, and each example is valid and true', minutes(4), async () => {
  const names = JSON.stringify(it.entries);
  const print = `for (const entry of ${names}) for (const [name, value] of Object.entries(await import(entry)))
    console.log(entry, name, typeof value)`;
  const lines = (await it.node(['--input-type=module', '-e', print])).trim().split('\n');
  const undescribed: string[] = [];
  const files: string[] = [];
  for (const line of lines) {
    const [entry, name, kind] = line.split(' ') as [string, string, string];
    const { isDescribed, example } = descriptionOf(it, entry, name);
    if (!isDescribed) undescribed.push(`${line}: no docstring`);
    if (kind === 'function' && example === undefined) undescribed.push(`${line}: no example`);
    if (example === undefined) continue;
    const file = `${entry.replace('/', '-')}-${name}`;
    it.write(`${file}.mts`, `import assert from 'node:assert/strict';\n${example}`);
    files.push(file);
  }
  expect(undescribed).toEqual([]);
  await expect(compile(files)).resolves.toBe('');
  // In one process, one after the other: a process for each would take most of the time.
  const run = files.filter((file) => !ONLY_CHECKED.some((name) => file.endsWith(`-${name}`)));
  const all = run.map(
    (file) => `await import('./${file}.mjs').catch((error) => fail('${file}', error));`,
  );
  const fail = 'const fail = (name, error) => { console.error(name, error); process.exit(1); };';
  it.write('examples.mjs', [fail, ...all, 'process.exit(0);'].join('\n'));
  await it.node(['examples.mjs']);
});

test(
  'troupe init writes a project whose test passes, and troupe dev runs it',
  minutes(5),
  async () => {
    const command = join('node_modules', 'troupe', 'bin', 'troupe.js');
    await it.node([command, 'init', 'typed']);
    await expect(it.tool('typescript/bin/tsc', ['-p', 'typed'])).resolves.toBe('');
    await it.node(['--test', join('typed', 'dist', 'test', 'bill.test.js')]);
    await it.node([command, 'init', 'plain', '--javascript']);
    await it.node(['--test', join('plain', 'test', 'bill.test.js')]);
    await expect(it.node([command, 'init', 'plain'])).rejects.toThrow('already has');

    const main = join(it.folder, 'plain', 'src', 'main.js');
    writeFileSync(main, readFileSync(main, 'utf8').replace('18_790', '0'));
    const dev = spawn(process.execPath, [command, 'dev', main], { cwd: it.folder });
    onTestFinished(() => void dev.kill('SIGKILL'));
    let printed = '';
    for (const stream of [dev.stdout, dev.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
    const urls = () => [...printed.matchAll(/http:\S+#token=\S+/g)].map(([url]) => url);
    await eventually(() => expect(urls()).toHaveLength(1), 60_000);
    expect((await fetch(urls()[0]!)).status).toBe(200);
    // A mistake is reported, and what runs stays.
    const tool = join(it.folder, 'plain', 'src', 'pay-bill.js');
    const text = readFileSync(tool, 'utf8');
    writeFileSync(tool, `${text} }`);
    await eventually(() => expect(printed).toContain('Unexpected "}"'), 60_000);
    expect((await fetch(urls()[0]!)).status).toBe(200);
    writeFileSync(tool, text.replace('Pays a bill', 'Pays one bill'));
    await eventually(() => expect(urls()).toHaveLength(2), 60_000);
    expect((await fetch(urls()[1]!)).status).toBe(200);
    await expect(fetch(urls()[0]!)).rejects.toThrow('fetch failed');
    dev.kill('SIGTERM');
    await once(dev, 'exit');
    expect(dev.exitCode).toBe(0);
    await expect(fetch(urls()[1]!)).rejects.toThrow('fetch failed');
  },
);

test.each(['order', 'supervisor', 'tools'])(
  'examples/%s runs outside of the repository',
  minutes(2),
  async (name) => {
    await build({
      entryPoints: [join(root, 'examples', name, 'main.ts')],
      outfile: join(it.folder, `${name}.mjs`),
      bundle: true,
      format: 'esm',
      platform: 'node',
      packages: 'external',
      tsconfigRaw: {},
      logLevel: 'silent',
    });
    expect(await it.node([`${name}.mjs`])).not.toBe('');
  },
);
