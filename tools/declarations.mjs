/**
 * The declarations (.d.ts) of the package's entries, in dist/types/. The compiler writes those of
 * every source file below dist/declarations/; those that an entry reaches are copied from there,
 * and import each other as `.js`, which every compiler resolves.
 */
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { root } from './install.mjs';

const home = join(root, 'dist', 'declarations');
/** Of this process: several may run at once. */
const emitted = join(home, String(process.pid));
const partial = join(home, `types-${process.pid}`);
const types = join(root, 'dist', 'types');
const record = join(home, 'record.json');
const project = join(root, 'tsconfig.library.json');

/** Declarations of each entry, by its name in `exports` of package.json. */
export const entryTypes = () => {
  const { exports } = JSON.parse(fs.readFileSync(join(root, 'package.json'), 'utf8'));
  const paths = Object.entries(exports).filter(([, target]) => target.types);
  return new Map(paths.map(([name, { types: path }]) => [name, join(root, path)]));
};

/** A relative import of a declaration file, with its extension. */
const imported = /((?:\bfrom|\bimport)\s*\(?\s*["'])(\.{1,2}\/[^"']+?)\.(?:ts|tsx|js)(["'])/g;
const withoutComments = (text) => text.replace(/\/\*[\s\S]*?\*\//g, '');

const stampOf = (path) => (fs.existsSync(path) ? fs.statSync(path).mtimeMs : 0);

function isStale() {
  if (!fs.existsSync(record)) return true;
  const { inputs } = JSON.parse(fs.readFileSync(record, 'utf8'));
  return (
    Object.entries(inputs).some(([path, stamp]) => stampOf(join(root, path)) !== stamp) ||
    [...entryTypes().values()].some((path) => !fs.existsSync(path))
  );
}

/** Files of `folder`, relative to it. */
const filesOf = (folder) =>
  fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath ?? entry.path, entry.name)));

function emit() {
  fs.rmSync(emitted, { recursive: true, force: true });
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  if (!fs.existsSync(tsc))
    throw new Error('declarations need the development packages: run `npm install` first');
  // `npm run check:types` checks; here, a type without a name matters only if an entry reaches it,
  // and then the test of the package fails.
  spawnSync(process.execPath, [tsc, '-p', project, '--noCheck', '--outDir', emitted], {
    cwd: root,
    stdio: 'ignore',
  });
}

/** Copies the declarations that `path` of dist/declarations reaches. */
function copy(path, copied) {
  if (copied.has(path)) return;
  copied.add(path);
  const source = join(emitted, path);
  if (!fs.existsSync(source)) throw new Error(`the compiler wrote no ${path}`);
  const text = fs.readFileSync(source, 'utf8');
  for (const [, , target] of withoutComments(text).matchAll(imported))
    copy(join(dirname(path), `${target}.d.ts`), copied);
  const target = join(partial, path);
  fs.mkdirSync(dirname(target), { recursive: true });
  fs.writeFileSync(target, text.replace(imported, '$1$2.js$3'));
}

/** Makes dist/types match the sources; takes some seconds if they changed. */
export function ensureDeclarations() {
  if (!isStale()) return;
  const inputs = [
    'package.json',
    'tsconfig.json',
    'tsconfig.library.json',
    'tools/declarations.mjs',
  ];
  const before = new Map(inputs.map((path) => [path, stampOf(join(root, path))]));
  emit();
  const sources = filesOf(emitted).map((path) => path.replace(/\.d\.ts$/, '.ts'));
  for (const path of sources) before.set(path, stampOf(join(root, path)));
  const copied = new Set();
  for (const path of entryTypes().values()) copy(relative(types, path), copied);
  // Another process may have made them meanwhile, and reads them now.
  if (isStale()) {
    fs.rmSync(types, { recursive: true, force: true });
    fs.renameSync(partial, types);
  }
  fs.rmSync(partial, { recursive: true, force: true });
  fs.rmSync(emitted, { recursive: true, force: true });
  fs.writeFileSync(record, JSON.stringify({ inputs: Object.fromEntries(before) }));
}
