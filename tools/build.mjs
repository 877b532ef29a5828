/**
 * Builds the program and its web page into dist/.
 *
 *   cli/main.ts  -> dist/troupe.js (ES modules, split, so that a lazy import() stays lazy; chunks
 *                   that are mostly loaded together are merged), and
 *                   dist/page-reader.js, the thread that reads large pages;
 *                   dist/plugin-sdk.js and dist/serve-plugin.js, which are bundled into plugins
 *   web/main.tsx -> dist/web/      (minified, split; the other files of web/ are copied), with the
 *                   style sheet, its fonts, and node.js, the page of a browser node
 *   web/task-app/ -> dist/task-app.html, the page that MCP clients show beside a task
 *   protocols/sdk/ -> dist/sdk/    (copied, with the TypeScript one also as JavaScript)
 *   library/ -> dist/{index,agents,client-node,test,hooks}.js, the entries of the package, which
 *                   share the program's chunks, and dist/client.js, which also runs in browsers.
 *                   tools/package.mjs adds their declarations
 *
 * Invariants:
 *  1. Chunks are beside troupe.js, so `new URL('./web/', import.meta.url)` means dist/web in each.
 *  2. The chunks of an older build stay for a day after the next one, so that a running program can
 *     load its own.
 *  3. dist/build.json names every input with size and time, to detect a stale build, and every
 *     output.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { directImports } from './direct-imports.mjs';
import { lightHttp } from './light-http.mjs';
import { lightPackages } from './light-packages.mjs';
import { ensureInstalled, root } from './install.mjs';
import { buildMerged } from './merge-chunks.mjs';
import { isAbandoned, writeWhole } from './whole-file.mjs';

const dist = join(root, 'dist');
const record = join(dist, 'build.json');
export const bundle = join(dist, 'troupe.js');

/**
 * Not bundled, because they load native code or programs by a path beside their own files, are
 * optional (`elkjs`), compare names of classes, which a bundler changes (clients of messengers), or
 * must be one module for troupe and the programs that import it (`xstate`).
 * Those that are our dependencies are installed in an image.
 */
export const external = [
  'esbuild',
  'lmdb',
  'xstate',
  'msgpackr',
  'bufferutil',
  'utf-8-validate',
  'playwright-core',
  'elkjs',
  'grammy',
  '@slack/web-api',
  '@discordjs/rest',
  '@discordjs/ws',
];

/** CommonJS packages inside an ES module bundle still call require(). */
const requireBanner =
  "import { createRequire as troupeRequire } from 'node:module';\n" +
  'const require = troupeRequire(import.meta.url);';

const chunkAgeMsMax = 24 * 3600 * 1000;

/** Common settings of all bundles for Node. */
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
  // A function that a list of light-packages.mjs lacks.
  logOverride: { 'import-is-undefined': 'error' },
};

/** The program itself. */
export const program = {
  ...nodeBundle,
  plugins: [directImports, lightHttp, lightPackages],
  entryPoints: {
    troupe: 'cli/main.ts',
    // Worker threads have entry files of their own.
    'page-reader': 'agent/tools/web/net/page-reader.ts',
    // What other programs import.
    index: 'library/index.ts',
    agents: 'library/agents.ts',
    'client-node': 'library/client-node.ts',
    test: 'library/test.ts',
    hooks: 'agent/hooks/define-hooks.ts',
  },
  outdir: 'dist',
  splitting: true,
  chunkNames: '[name]-[hash]',
  // Names stay, so that stack traces are readable; without white space the package is a fifth
  // smaller, and so is the source that V8 keeps in memory.
  minifyWhitespace: true,
  lineLimit: 160,
  sourcesContent: false,
  legalComments: 'none',
  metafile: true,
  write: false,
};

/** What the bundler puts into the program of a plugin: no banner, which that program has. */
const pluginParts = {
  ...program,
  entryPoints: {
    'plugin-sdk': 'agent/plugins/plugin-sdk.ts',
    'serve-plugin': 'agent/plugins/child/serve-plugin.ts',
  },
  splitting: false,
  banner: {},
};

/** The entry of the package that also runs in browsers: it shares no chunk with the program. */
const client = {
  ...program,
  entryPoints: { client: 'library/client.ts' },
  splitting: false,
  packages: 'external',
  sourcemap: false,
  banner: {},
};

/** A page for browsers: what a view loads later is a chunk of its own. */
const pageBundle = {
  absWorkingDir: root,
  outdir: 'dist/web',
  bundle: true,
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  assetNames: 'fonts/[name]-[hash]',
  loader: { '.woff2': 'file' },
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

/** The two pages share no chunks, so that each loads few files. */
export const pageBundles = [
  { ...pageBundle, entryPoints: { main: 'web/main.tsx' } },
  { ...pageBundle, entryPoints: { node: 'web/node/main.tsx' } },
  { ...pageBundle, entryPoints: { style: 'web/style.css' } },
];

/** The page that MCP clients show beside a task: one file, so its script is written into it. */
export const taskAppBundle = {
  ...pageBundle,
  entryPoints: { 'task-app': 'web/task-app/main.tsx' },
  outdir: 'dist',
  splitting: false,
  sourcemap: false,
};

/** The page with this script. Its own policy allows nothing else, whatever a client allows. */
export function taskAppPage(script) {
  const hash = createHash('sha256').update(script).digest('base64');
  const policy = `default-src 'none'; script-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Task</title></head>',
    '<body><main></main>',
    '<noscript>The state of the task is in the answer of its tool.</noscript>',
    `<script type="module">${script}</script></body></html>`,
    '',
  ].join('\n');
}

/** For client programs on any platform: not bundled, so that the source stays readable. */
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

/** Folders that are copied unchanged: source and target. */
const copies = [
  { from: 'web', to: 'web', without: ['.ts', '.tsx', '.css', '.map'] },
  { from: 'protocols/sdk', to: 'sdk', without: ['.pyc'] },
];

/** Files that are copied: source by target, relative to the repository. */
function copiedFiles() {
  return new Map(copies.flatMap(filesOf));
}

/** A second package.json inside of a package confuses bundlers; `troupe sdk` restores its name. */
const asTemplate = (path) => path.replace(/\bpackage\.json$/, 'package.template.json');

function filesOf({ from, to, without }) {
  if (!fs.existsSync(join(root, from))) return [];
  return fs
    .readdirSync(join(root, from), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !without.includes(extname(entry.name)))
    .map((entry) => relative(join(root, from), join(entry.parentPath ?? entry.path, entry.name)))
    .map((path) => [join('dist', to, asTemplate(path)), join(from, path)]);
}

/** The day of the chunks that this build replaces begins now: a running program may need them. */
function keepLastBuild() {
  if (!fs.existsSync(record)) return;
  const { outputs = [] } = JSON.parse(fs.readFileSync(record, 'utf8'));
  const now = new Date();
  for (const path of outputs.map(inRoot))
    if (dirname(path) === dist && fs.existsSync(path)) fs.utimesSync(path, now, now);
}

function removeOldChunks(kept, ageMsMax) {
  for (const entry of fs.readdirSync(dist, { withFileTypes: true })) {
    const path = join(dist, entry.name);
    if (!entry.isFile() || kept.has(path) || path === record) continue;
    // Another build may have removed, or renamed, what it was writing.
    const stat = fs.statSync(path, { throwIfNoEntry: false });
    const isOld = stat !== undefined && Date.now() - stat.mtimeMs > ageMsMax;
    if (isAbandoned(path) ?? isOld) fs.rmSync(path, { force: true });
  }
}

/** Folders that are served as a whole keep nothing of an older build. */
function removeOldFiles(folder, kept) {
  if (!fs.existsSync(folder)) return;
  for (const entry of fs.readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isFile() && !kept.has(path) && (isAbandoned(path) ?? true))
      fs.rmSync(path, { force: true });
  }
}

const inRoot = (path) => join(root, path);

const stampOf = (path) => {
  const { size, mtimeMs } = fs.statSync(join(root, path));
  return `${size} ${mtimeMs}`;
};

/** What decides what is written, beside the sources. */
const parts = [
  'build',
  'chunk-files',
  'direct-imports',
  'light-http',
  'light-packages',
  'merge-chunks',
  'whole-file',
];

function inputsOf(results) {
  const bundled = results.flatMap((result) => Object.keys(result.metafile.inputs));
  const ours = bundled.filter((path) => !path.startsWith('node_modules/') && !path.includes(':'));
  return [
    ...ours,
    ...copiedFiles().values(),
    'package-lock.json',
    'tsconfig.json',
    ...parts.map((name) => `tools/${name}.mjs`),
  ];
}

/**
 * True when dist/ is missing or one of its inputs has changed. A new source file counts as soon as
 * an input imports it.
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

const bytesOf = (file) =>
  dirname(file.path) === dist && file.path.endsWith('.js') ? inAscii(file.text) : file.contents;

/**
 * Escapes what esbuild leaves unescaped: comments and regular expressions. V8 keeps two bytes for
 * each character of a file in which one character needs two. Code with a template stays unchanged,
 * because a tag sees the difference.
 */
const inAscii = (text) =>
  text.replace(/^(?:\s*(?:\*|\/[/*]).*|[^`\n]*[\u0080-\uffff][^`\n]*)$/gm, (line) =>
    line.replace(/[\u0080-\uffff]/g, (unit) => `\\u${hexOf(unit)}`),
  );

const hexOf = (unit) => unit.charCodeAt(0).toString(16).padStart(4, '0');

/** The entry points whose files exist: a test builds a clone with few of them. */
function presentOf(entryPoints) {
  const isThere = (path) => fs.existsSync(join(root, path));
  return Array.isArray(entryPoints)
    ? entryPoints.filter(isThere)
    : Object.fromEntries(Object.entries(entryPoints).filter(([, path]) => isThere(path)));
}

/** The program is the only bundle for Node with chunks. */
const bundled = (esbuild, options) =>
  options.platform === 'node' && options.splitting
    ? buildMerged(esbuild, options)
    : esbuild.build(options);

/** Builds everything. @throws esbuild's BuildFailure, whose errors esbuild has printed */
export async function build() {
  const esbuild = await import('esbuild');
  // Recorded before the build: a file that changes during the build makes the result stale, never
  // wrongly fresh.
  const startedMs = Date.now();
  const present = [program, pluginParts, client, ...pageBundles, taskAppBundle, sdk]
    .map((options) => ({ ...options, entryPoints: presentOf(options.entryPoints) }))
    .filter(({ entryPoints }) => Object.keys(entryPoints).length > 0);
  const results = await Promise.all(present.map((options) => bundled(esbuild, options)));
  const outputs = results.flatMap((result) => result.outputFiles).map(asPage);
  // Chunks are written before the entry that imports them.
  const ordered = outputs.toSorted((a, b) => Number(a.path === bundle) - Number(b.path === bundle));
  // `npx troupe` runs the bundle itself, and npm makes it executable only when it links it
  const modeOf = (path) => (path === bundle ? 0o777 : 0o666);
  for (const file of ordered) writeWhole(file.path, bytesOf(file), modeOf(file.path));
  const copied = copiedFiles();
  for (const [to, from] of copied) writeWhole(join(root, to), fs.readFileSync(join(root, from)));
  const stamps = inputsOf(results).map((path) => [path, stampUnlessNewer(path, startedMs)]);
  const written = [...outputs.map((file) => file.path), ...[...copied.keys()].map(inRoot)];
  const outputPaths = written.map((path) => relative(root, path));
  const made = { inputs: Object.fromEntries(stamps), outputs: outputPaths };
  keepLastBuild();
  writeWhole(record, JSON.stringify(made, null, 1));
  removeOldChunks(new Set(written), chunkAgeMsMax);
  for (const served of ['sdk', 'web']) removeOldFiles(join(dist, served), new Set(written));
}

/**
 * Removes what older builds left, for a package. A program of this checkout that was started before
 * the last build cannot load the rest of its code any more.
 */
export function removeOtherBuilds() {
  const { outputs } = JSON.parse(fs.readFileSync(record, 'utf8'));
  removeOldChunks(new Set(outputs.map(inRoot)), 0);
}

/** The script of the page for MCP clients becomes the page. */
const asPage = (file) =>
  file.path === join(dist, 'task-app.js')
    ? { path: join(dist, 'task-app.html'), contents: Buffer.from(taskAppPage(file.text)) }
    : file;

const stampUnlessNewer = (path, startedMs) =>
  fs.statSync(join(root, path)).mtimeMs < startedMs ? stampOf(path) : 'changed during the build';

/**
 * Builds a stale dist/ in a separate process, so that esbuild's memory is free when the program
 * starts. Several processes may call it at once: they write the same bytes.
 * @throws when the build fails; esbuild has printed the reason on stderr
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
    // esbuild has printed its errors with their source.
    if (!Array.isArray(error.errors)) console.error(error);
    process.exitCode = 1;
  });
}
