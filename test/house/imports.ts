/**
 * The import rules: which folder may import which one. oxlint already refuses most violations.
 * These rules list what is allowed instead of what is forbidden, so that a new folder is refused by
 * default.
 */
import { posix } from 'node:path';
import type { Finding, Sources } from './sources.ts';

/** `target` is a path of this repository, or a package as it is imported. */
type Import = { readonly target: string; readonly typeOnly: boolean; readonly line: number };

const statement =
  /^[ \t]*(?:(?:import|export)\b(?<clause>[^'"`;=(]*)\bfrom|import)\s*['"](?<fixed>[^'"]+)['"]|\bimport\(\s*['"](?<dynamic>[^'"]+)['"]/gm;

const ours = (target: string): boolean => !target.startsWith('package:');
const inFolder = (folder: string) => (target: string) => target.startsWith(`${folder}/`);
const oneOf =
  (...targets: string[]) =>
  (target: string) =>
    targets.includes(target);
const any =
  (...tests: ((target: string) => boolean)[]) =>
  (target: string) =>
    tests.some((test) => test(target));

const protocols = inFolder('protocols');
/** How charts look: pure, so that the command line and the page draw the same picture. */
const charts = inFolder('charts');
const runtimeEntry = oneOf('runtime/index.ts', 'runtime/config/index.ts');
const memoryEntry = oneOf('memory/index.ts');
/** The files with which agents outside `actors` define their actions and processes. */
const actionsAndProcesses = oneOf(
  'actors/task/action.ts',
  'actors/task/artifact.ts',
  'actors/process/define.ts',
);

const outsideProduct = any(inFolder('test'), inFolder('bench'), inFolder('web'));

/** By folder, the files of this repository that it may import beside its own. */
const mayImport: Readonly<Record<string, (target: string) => boolean>> = {
  protocols: () => false,
  charts: () => false,
  client: protocols,
  memory: protocols,
  runtime: any(protocols, charts),
  agent: any(protocols, runtimeEntry, memoryEntry),
  actors: any(protocols, runtimeEntry, memoryEntry, inFolder('agent')),
  'sample-agents': any(protocols, runtimeEntry, actionsAndProcesses),
  conformance: any(
    protocols,
    runtimeEntry,
    actionsAndProcesses,
    oneOf('runtime/pubsub/nats-client.ts'),
  ),
  operations: any(protocols, charts, runtimeEntry),
  channels: any(protocols, runtimeEntry, inFolder('operations')),
  // A client of an installation: it knows the protocols, not the runtime.
  loadtest: any(protocols, inFolder('client')),
  web: any(protocols, charts, inFolder('client')),
  // As users do: the public entry points to define actions and processes and to start an
  // installation.
  examples: any(protocols, runtimeEntry, memoryEntry, oneOf('actors/index.ts', 'main.ts')),
  installation: (target) => !any(inFolder('cli'), inFolder('compose'), outsideProduct)(target),
  cli: (target) => !outsideProduct(target),
  compose: (target) => !outsideProduct(target),
  library: (target) => !outsideProduct(target),
  'main.ts': (target) => !outsideProduct(target),
  tools: (target) => !any(inFolder('test'), inFolder('bench'))(target),
  'vitest.config.ts': inFolder('tools'),
  test: () => true,
  bench: () => true,
};

/** The only file of `client` that does not run in a browser. */
const NODE_CLIENT = 'client/operator-client.ts';

const adapter = /^(runtime|memory)\/.*(lmdb|nats)[^/]*\.ts$/;
const store = /^package:(lmdb$|@nats-io\/)/;
const inputOutput =
  /^package:node:(fs|net|http|https|tls|dgram|dns|child_process|worker_threads|cluster)/;

/** Every import of a file: static, type-only, dynamic, and `export … from`. */
export function importsOf(path: string, text: string): Import[] {
  return [...text.matchAll(statement)].map((match) => {
    const { clause = '', fixed, dynamic } = match.groups ?? {};
    const specifier = fixed ?? dynamic ?? '';
    const line = text.slice(0, match.index + match[0].search(/\S/)).split('\n').length;
    const target = specifier.startsWith('.')
      ? posix.join(posix.dirname(path), specifier)
      : `package:${specifier}`;
    return { target, typeOnly: /^\s*type\b/.test(clause), line };
  });
}

/** The reason why this import is refused; undefined when it is allowed. */
function refusal(path: string, { target, typeOnly }: Import): string | undefined {
  const home = path.split('/')[0] ?? '';
  if (store.test(target) && home !== 'test' && home !== 'bench')
    return adapter.test(path) ? undefined : 'only an adapter imports a store: use the port';
  if (home === 'protocols' && inputOutput.test(target)) return 'protocols does no I/O';
  const inBrowser =
    home === 'web' || home === 'charts' || (home === 'client' && path !== NODE_CLIENT);
  if (inBrowser && /^package:(node:|ws$)/.test(target)) return 'this file runs in browsers';
  if (home === 'web' && target === NODE_CLIENT) return 'this file runs in Node only';
  if (!ours(target) || target.startsWith(`${home}/`)) return undefined;
  if (home === 'web' && protocols(target) && !typeOnly)
    return 'web takes types only from protocols: write `import type`';
  const allowed = mayImport[home];
  if (!allowed) return `${home} has no import law yet: add it to test/house/imports.ts`;
  return allowed(target)
    ? undefined
    : `${home} may not import ${target}: send a message, or use a public entry point`;
}

const isMachine = (path: string): boolean =>
  /(^|\/)machine\.ts$/.test(path) && !path.startsWith('test/');

/** The packages and folders that a machine, and every file that it imports, may import (I7). */
const isPure = (target: string): boolean =>
  target === 'package:xstate' || protocols(target) || pureActor(target);
const pureActor = (target: string): boolean =>
  any(inFolder('actors'), inFolder('agent'))(target) && !target.includes('/effects/');

/**
 * Machines and the files of this repository that they import, directly or indirectly, without
 * protocols.
 */
function chartFiles(files: Sources): ReadonlySet<string> {
  const found = new Set([...files.keys()].filter(isMachine));
  for (const path of found) {
    for (const { target } of importsOf(path, files.get(path) ?? '')) {
      if (pureActor(target) && files.has(target)) found.add(target);
    }
  }
  return found;
}

/** Every import that the rules refuse. */
export function importFindings(files: Sources): Finding[] {
  const pure = chartFiles(files);
  return [...files].flatMap(([path, text]) =>
    importsOf(path, text).flatMap((found): Finding[] => {
      const remedy =
        pure.has(path) && !isPure(found.target)
          ? 'a machine and the files it imports know only xstate, protocols and pure files of actors'
          : refusal(path, found);
      return remedy ? [{ path, line: found.line, rule: 'imports', remedy }] : [];
    }),
  );
}
