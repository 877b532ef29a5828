/**
 * Bundles code of an installation, hook files and plugins, into one ES module in memory.
 *
 * Boundary: reads the entry and what it imports; executes nothing. Code may use TypeScript,
 * CommonJS or ES modules, files beside it, and packages in its `node_modules`. esbuild is loaded
 * with the first call.
 */
import { pathToFileURL } from 'node:url';
import type { Plugin } from 'esbuild';
import { errorData } from '../protocols/errors.ts';

/** A module of this program: the file that has it, or its source. */
export type OwnModule = { readonly file: string } | { readonly source: string };

export type BundleOptions = {
  /** absolute; `import.meta.url` in the bundle is the URL of this file */
  readonly file: string;
  /** source of the entry; default: the file itself */
  readonly entry?: string;
  /** modules of this program by the name under which code imports them */
  readonly modules: Readonly<Record<string, OwnModule>>;
};

/** To be called within `withBundler`. @throws Error with the first fault and its line */
export const bundleOf = async ({ file, entry, modules }: BundleOptions): Promise<string> => {
  const { build } = await import('esbuild');
  const here = JSON.stringify(pathToFileURL(file).href);
  const built = await build({
    ...(entry === undefined
      ? { entryPoints: [file] }
      : { stdin: { contents: entry, resolveDir: '/', sourcefile: 'entry.js' } }),
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'silent',
    define: { 'import.meta.url': here },
    banner: {
      js: `import { createRequire as ownRequire } from 'node:module';const require = ownRequire(${here});`,
    },
    plugins: [ownModules(modules)],
  }).catch((error: unknown) => {
    throw new Error(buildFault(error), { cause: error });
  });
  return built.outputFiles[0]?.text ?? '';
};

let users = 0;

/** Runs work that bundles. esbuild's process ends with the last work that runs at a time. */
export const withBundler = async <T>(work: () => Promise<T>): Promise<T> => {
  users++;
  try {
    return await work();
  } finally {
    if (--users === 0) await (await import('esbuild')).stop();
  }
};

/** Names of this program resolve to it, wherever the importing file is. */
const ownModules = (modules: BundleOptions['modules']): Plugin => ({
  name: 'troupe',
  setup(build) {
    build.onResolve({ filter: /^troupe\// }, ({ path: name }) => {
      const own = modules[name];
      if (own === undefined) return undefined;
      return 'file' in own ? { path: own.file } : { path: name, namespace: 'troupe' };
    });
    build.onLoad({ filter: /.*/, namespace: 'troupe' }, ({ path: name }) => {
      const own = modules[name];
      return { contents: own && 'source' in own ? own.source : '' };
    });
  },
});

type BuildError = {
  readonly text: string;
  readonly location: { readonly line: number; readonly column: number } | null;
};

/** The first of esbuild's errors, with its line. */
const buildFault = (error: unknown): string => {
  const [first] = (error as { errors?: readonly BuildError[] }).errors ?? [];
  if (!first) return errorData(error).message;
  const { text, location } = first;
  return location ? `line ${location.line}: ${text}` : text;
};
