/**
 * What Node needs to load the tests itself, as hooks of its module loader: the entries of the
 * package are sources, and JSX is compiled. vitest.config.ts has it imported before each test file.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transformSync } from 'esbuild';
import { packageEntries } from './test-files.mjs';

const compile = (url) => {
  const options = {
    loader: 'tsx',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    sourcemap: 'inline',
  };
  return transformSync(readFileSync(fileURLToPath(url), 'utf8'), options).code;
};

/** The SDK names its modules as they are when it is built. */
const isBuiltName = (name, { parentURL = '' }) =>
  /^\..*\.js$/.test(name) && parentURL.includes('/protocols/sdk/');

registerHooks({
  resolve(name, context, next) {
    const path = packageEntries[name];
    if (path) return { url: pathToFileURL(path).href, shortCircuit: true };
    return next(isBuiltName(name, context) ? name.replace(/\.js$/, '.ts') : name, context);
  },
  load: (url, context, next) =>
    url.endsWith('.tsx')
      ? { format: 'module', source: compile(url), shortCircuit: true }
      : next(url, context),
});
