/**
 * The second pass of the build of the program: it makes the files that `chunk-files.mjs` decides of
 * esbuild's chunks.
 *
 * Invariant: the name of a file changes with each file that it can load, so that a running program
 * never mixes two builds.
 */
import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { chunkFiles, withImports } from './chunk-files.mjs';

const hashOf = (text) => createHash('sha256').update(text).digest('hex').slice(0, 8).toUpperCase();

/** The graph of chunks in which a chunk imports all that its file contains and imports. */
const asFiles = (files, outputs) =>
  Object.fromEntries(
    files.flatMap(([first, ...others]) => {
      const all = [first, ...others];
      const imports = all.flatMap((path) => [{ path }, ...outputs[path].imports]);
      return [
        [first, { imports }],
        ...others.map((path) => [path, { imports: [{ path: first }] }]),
      ];
    }),
  );

/**
 * The name of each file, without extension, by its chunks. The names of chunks have a hash of their
 * content; that of a file has one of all chunks that it can load.
 * @param files the chunks of each, by path, which `outputs` of esbuild describe
 * @param entryPoints sources of entries by their name, which gets no hash
 */
export function namesOf(files, outputs, entryPoints) {
  const graph = asFiles(files, outputs);
  const given = new Map(Object.entries(entryPoints).map(([name, source]) => [source, name]));
  return new Map(
    files.map((members) => {
      const [path] = members;
      const own = given.get(outputs[path].entryPoint);
      if (own !== undefined) return [members, own];
      const reached = [...withImports(members, graph, () => true)].toSorted();
      const base = members.length > 1 ? 'shared' : basename(path).replace(/-\w+\.js$/, '');
      return [members, `${base}-${hashOf([...members, ...reached].join(' '))}`];
    }),
  );
}

/** How a file exports the names of each of its chunks: pairs of the chunk's and its own. */
function exportsOf(members, outputs) {
  const used = new Set();
  const nameOf = (name) => {
    let own = name;
    for (let n = 2; used.has(own); n++) own = `${name}_${n}`;
    used.add(own);
    return [name, own];
  };
  return members.map((path) => [path, outputs[path].exports.map(nameOf)]);
}

/**
 * A plugin that makes files of the chunks of the first pass. A module of the namespace `whole`
 * is the N-th file; one of `outside` is in place of a chunk of another file, with its exports.
 */
function merging({ files, names, outputs, texts, dist }) {
  const fileOf = new Map(files.flatMap((members) => members.map((path) => [path, members])));
  const chunkOf = new Map(Object.keys(outputs).map((path) => [basename(path), path]));
  const exported = new Map(files.flatMap((members) => exportsOf(members, outputs)));
  const module = (lines) => ({ contents: lines.join('\n'), resolveDir: dist });
  // An entry that a shell can run begins with the name of its interpreter: the bundler keeps that
  // of the entry only, which is a module of this plugin.
  const interpreterOf = ([first]) => /^#!.*/.exec(texts.get(join(dist, basename(first)))) ?? [];
  const clause = (pairs, from) =>
    `export {${pairs.map(([name, as]) => `${name} as ${as}`).join()}} from './${from}';`;

  const resolve = ({ path, importer, kind, namespace }) => {
    if (kind === 'entry-point') return { path, namespace: 'whole', sideEffects: true };
    const chunk = chunkOf.get(path.replace('./', ''));
    if (chunk === undefined || namespace === 'outside') return { path, external: true };
    const members = fileOf.get(chunk);
    if (kind === 'dynamic-import') return { path: `./${names.get(members)}.js`, external: true };
    const isInside = namespace === 'whole' || members.includes(chunkOf.get(basename(importer)));
    return isInside
      ? { path: join(dist, path), sideEffects: true }
      : { path: chunk, namespace: 'outside', sideEffects: true };
  };
  return {
    name: 'merge-chunks',
    setup(build) {
      build.onResolve({ filter: /.*/ }, resolve);
      build.onLoad({ filter: /.*/, namespace: 'whole' }, ({ path }) =>
        module([
          ...interpreterOf(files[Number(path)]),
          ...files[Number(path)].map((chunk) => clause(exported.get(chunk), basename(chunk))),
        ]),
      );
      build.onLoad({ filter: /.*/, namespace: 'outside' }, ({ path }) => {
        const pairs = exported.get(path).map(([name, own]) => [own, name]);
        return module([clause(pairs, `${names.get(fileOf.get(path))}.js`)]);
      });
      build.onLoad({ filter: /.*/ }, ({ path }) => {
        const map = Buffer.from(texts.get(`${path}.map`)).toString('base64');
        const url = `data:application/json;base64,${map}`;
        return { contents: `${texts.get(path)}\n//# sourceMappingURL=${url}`, loader: 'js' };
      });
    },
  };
}

/**
 * Bundles with code splitting as `esbuild.build` does, and merges the chunks.
 * @returns the written files, and the metafile of the first pass, which knows the sources
 * @throws esbuild's BuildFailure
 */
export async function buildMerged(esbuild, options) {
  // The second pass adds the banner and breaks lines; both would be in its way.
  const first = await esbuild.build({ ...options, banner: {}, lineLimit: 0 });
  const { outputs } = first.metafile;
  const texts = new Map(first.outputFiles.map((file) => [file.path, file.text]));
  const files = chunkFiles(outputs);
  const names = namesOf(files, outputs, options.entryPoints);
  const dist = join(options.absWorkingDir, options.outdir);
  const { outputFiles } = await esbuild.build({
    ...options,
    entryPoints: Object.fromEntries(files.map((each, at) => [names.get(each), String(at)])),
    plugins: [merging({ files, names, outputs, texts, dist })],
    splitting: false,
    // The first pass has reported what is to be said about the code.
    logLevel: 'error',
    metafile: false,
  });
  return { outputFiles, metafile: first.metafile };
}
