/**
 * Builds the program and its web page into dist/.
 *
 *   cli/main.ts  -> dist/troupe.js (ES modules, split, so that a lazy import() stays lazy), and
 *                   dist/page-reader.js, the thread that reads large pages
 *   web/main.tsx -> dist/web/      (minified; the other files of web/ are copied), and node.js, the
 *                   page that is a device
 *   protocols/sdk/ -> dist/sdk/    (copied, and the TypeScript one as JavaScript beside)
 *
 * Invariants: chunks lie beside troupe.js, so `new URL('./web/', import.meta.url)` means dist/web
 * in each of them; the chunks of an older build stay for a day, so a program that still runs can
 * load its own; dist/build.json names every input with size and time, which is how a stale build is
 * known.
 */
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureInstalled, root } from './install.mjs';

const dist = join(root, 'dist');
const record = join(dist, 'build.json');
export const bundle = join(dist, 'troupe.js');

/**
 * Not bundled: they load native code, or programs, by a path beside their own files. Those that are
 * dependencies of ours are what an image keeps.
 */
export const external = [
  'esbuild',
  'lmdb',
  'msgpackr',
  'bufferutil',
  'utf-8-validate',
  'playwright-core',
];

/** CommonJS packages inside an ES module bundle still call require(). */
const requireBanner =
  "import { createRequire as troupeRequire } from 'node:module';\n" +
  'const require = troupeRequire(import.meta.url);';

const chunkAgeMsMax = 24 * 3600 * 1000;

/** Settings that a bundle for Node has in common with any other of ours. */
export const nodeBundle = {
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  sourcemap: true,
  external,
  banner: { js: requireBanner },
  logLevel: 'warning',
};

const program = {
  ...nodeBundle,
  entryPoints: { troupe: 'cli/main.ts' },
  outdir: 'dist',
  splitting: true,
  chunkNames: '[name]-[hash]',
  // Not minified: it saves nothing that can be measured at start, and a stack trace stays readable.
  sourcesContent: false,
  legalComments: 'none',
  metafile: true,
  write: false,
};

/** Worker threads begin with a file of their own. */
const threads = {
  ...program,
  entryPoints: { 'page-reader': 'agent/tools/web/net/page-reader.ts' },
  splitting: false,
};

const page = {
  absWorkingDir: root,
  entryPoints: { main: 'web/main.tsx' },
  outdir: 'dist/web',
  bundle: true,
  format: 'esm',
  platform: 'browser',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  minify: true,
  sourcemap: true,
  legalComments: 'none',
  metafile: true,
  write: false,
  logLevel: 'warning',
};

/** The page that is a device. */
const nodePage = { ...page, entryPoints: { node: 'web/node/main.tsx' } };

/** For programs of others, on any platform: each file by itself, so that its source may be read. */
const sdk = {
  absWorkingDir: root,
  entryPoints: ['canonical', 'connection', 'numbers', 'client', 'actions'].map(
    (name) => `protocols/sdk/typescript/${name}.ts`,
  ),
  outdir: 'dist/sdk/typescript',
  format: 'esm',
  target: 'es2022',
  metafile: true,
  write: false,
  logLevel: 'warning',
};

/** What is needed as it is: from where, to where. */
const copies = [
  { from: 'web', to: 'web', without: ['.ts', '.tsx', '.map'] },
  { from: 'protocols/sdk', to: 'sdk', without: ['.pyc'] },
];

/** Files that are copied: source by target, relative to the repository. */
function copiedFiles() {
  return new Map(copies.flatMap(filesOf));
}

function filesOf({ from, to, without }) {
  if (!fs.existsSync(join(root, from))) return [];
  return fs
    .readdirSync(join(root, from), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !without.includes(extname(entry.name)))
    .map((entry) => relative(join(root, from), join(entry.parentPath ?? entry.path, entry.name)))
    .map((path) => [join('dist', to, path), join(from, path)]);
}

/**
 * Written beside and renamed: a program that starts meanwhile reads the old file or the new one.
 */
function writeWhole(path, contents, mode = 0o666) {
  fs.mkdirSync(dirname(path), { recursive: true });
  const partial = `${path}.${process.pid}.partial`;
  fs.writeFileSync(partial, contents, { mode });
  fs.renameSync(partial, path);
}

function removeOldChunks(kept) {
  for (const entry of fs.readdirSync(dist, { withFileTypes: true })) {
    const path = join(dist, entry.name);
    if (!entry.isFile() || kept.has(path) || path === record) continue;
    if (Date.now() - fs.statSync(path).mtimeMs > chunkAgeMsMax) fs.rmSync(path);
  }
}

/** It is handed out whole. */
function removeOldSdk(kept) {
  const folder = join(dist, 'sdk');
  if (!fs.existsSync(folder)) return;
  for (const entry of fs.readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isFile() && !kept.has(path) && !path.endsWith('.partial'))
      fs.rmSync(path, { force: true });
  }
}

const inRoot = (path) => join(root, path);

const stampOf = (path) => {
  const { size, mtimeMs } = fs.statSync(join(root, path));
  return `${size} ${mtimeMs}`;
};

function inputsOf(results) {
  const bundled = results.flatMap((result) => Object.keys(result.metafile.inputs));
  const ours = bundled.filter((path) => !path.startsWith('node_modules/') && !path.includes(':'));
  return [
    ...ours,
    ...copiedFiles().values(),
    'package-lock.json',
    'tsconfig.json',
    'tools/build.mjs',
  ];
}

/**
 * True when dist/ is missing or one of its inputs is not the file it was made from.
 * A new source file is not an input of its own: it counts when an input begins to import it.
 */
export function isStale() {
  if (!fs.existsSync(record) || !fs.existsSync(bundle)) return true;
  const { inputs } = JSON.parse(fs.readFileSync(record, 'utf8'));
  const same = ([path, stamp]) => fs.existsSync(join(root, path)) && stampOf(path) === stamp;
  return (
    !Object.entries(inputs).every(same) ||
    [...copiedFiles().values()].some((path) => !(path in inputs))
  );
}

/** Builds all. @throws esbuild's BuildFailure, whose errors esbuild has printed */
export async function build() {
  const esbuild = await import('esbuild');
  // Stamped before the build: a file that changes during it makes the result stale, never wrongly
  // fresh.
  const startedMs = Date.now();
  const present = [program, threads, page, nodePage, sdk].filter(({ entryPoints }) =>
    Object.values(entryPoints).every((path) => fs.existsSync(join(root, path))),
  );
  const results = await Promise.all(present.map((options) => esbuild.build(options)));
  const outputs = results.flatMap((result) => result.outputFiles);
  // Chunks before the entry that names them.
  const ordered = outputs.toSorted((a, b) => Number(a.path === bundle) - Number(b.path === bundle));
  // `npx troupe` runs the bundle itself; npm makes it executable only once, when it links it
  const modeOf = (path) => (path === bundle ? 0o777 : 0o666);
  for (const file of ordered) writeWhole(file.path, file.contents, modeOf(file.path));
  const copied = copiedFiles();
  for (const [to, from] of copied) writeWhole(join(root, to), fs.readFileSync(join(root, from)));
  const stamps = inputsOf(results).map((path) => [path, stampUnlessNewer(path, startedMs)]);
  writeWhole(record, JSON.stringify({ inputs: Object.fromEntries(stamps) }, null, 1));
  const written = [...outputs.map((file) => file.path), ...[...copied.keys()].map(inRoot)];
  removeOldChunks(new Set(written));
  removeOldSdk(new Set(written));
}

const stampUnlessNewer = (path, startedMs) =>
  fs.statSync(join(root, path)).mtimeMs < startedMs ? stampOf(path) : 'changed during the build';

/**
 * Builds when stale, in a process of its own: esbuild's memory is gone when the program starts.
 * May be called by several processes at once: they write the same bytes.
 * @throws when the build fails; esbuild has said why on stderr
 */
export function ensureBuilt() {
  if (!isStale()) return;
  const { status } = spawnSync(process.execPath, [fileURLToPath(import.meta.url)], {
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) throw new Error('the build failed; the lines above say why');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  ensureInstalled({ dev: false });
  await build().catch((error) => {
    // esbuild has printed its own errors, with the source beside them.
    if (!Array.isArray(error.errors)) console.error(error);
    process.exitCode = 1;
  });
}
