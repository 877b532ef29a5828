/**
 * A plugin of the bundler: an import from an index file of ours, which only names what other files
 * export, becomes imports from those files.
 *
 * Why: with code splitting, esbuild counts an index file as a whole, so one name of it would load
 * everything that it names. A command that needs the clock of `runtime/index.ts` would load LMDB.
 *
 * Boundary: it reads the forms that our formatter writes. Other forms stay as they are, which is
 * slower, never wrong.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withTypeNamespace } from './light-packages.mjs';

const STATEMENT = /^(import|export) \{([^{}]*)\} from '(\.[^']*)';$/gm;
const isIndex = (path) => path.endsWith('/index.ts');

const namesIn = (list) =>
  list
    .replaceAll(/\/\/.*$/gm, '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && !name.startsWith('type '))
    .map((name) => name.split(' as '))
    .map(([from, to = from]) => ({ from, to }));

/** Where an index file has its names from; undefined if it contains anything else. */
function sourcesOf(index) {
  const text = readFileSync(index, 'utf8');
  const rest = text
    .replaceAll(STATEMENT, '')
    .replaceAll(/^export type (\*|\{[^{}]*\}) from '[^']*';$/gm, '')
    .replaceAll(/\/\*[^]*?\*\/|\s/g, '');
  if (rest !== '') return undefined;
  const sources = new Map();
  for (const [, kind, list, from] of text.matchAll(STATEMENT))
    if (kind === 'export')
      for (const name of namesIn(list))
        sources.set(name.to, { file: join(dirname(index), from), name: name.from });
  return sources;
}

/** The same statement without the index file, on as many lines, so that source maps stay right. */
function direct([statement, kind, list, from], folder, known) {
  const index = join(folder, from);
  if (!known.has(index)) known.set(index, sourcesOf(index));
  const sources = known.get(index);
  const names = namesIn(list);
  if (sources === undefined || !names.every((name) => sources.has(name.from))) return statement;
  const lines = names.map((name) => {
    const source = sources.get(name.from);
    return `${kind} { ${source.name} as ${name.to} } from ${JSON.stringify(source.file)};`;
  });
  return lines.join(' ') + statement.replaceAll(/[^\n]/g, '');
}

export const directImports = {
  name: 'direct-imports',
  setup(build) {
    const known = new Map();
    build.onLoad({ filter: /\.tsx?$/ }, ({ path }) => {
      if (path.includes('/node_modules/')) return undefined;
      const text = readFileSync(path, 'utf8');
      const contents = withTypeNamespace(text).replaceAll(STATEMENT, (...found) =>
        isIndex(found[3]) ? direct(found, dirname(path), known) : found[0],
      );
      return { contents, loader: path.endsWith('x') ? 'tsx' : 'ts' };
    });
  },
};
