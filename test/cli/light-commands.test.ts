/**
 * Which modules the built program loads. A command is quick when it loads little: its time depends
 * on the machine, what it loads does not (bench `commands` measures the time).
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { scratchFolder } from '../runtime/config/folder.ts';
import { announced, runProgram, startProgram } from './program.ts';

/** Records the URL of every loaded module. */
const HOOKS = `
import { appendFileSync } from 'node:fs';
export async function load(url, context, next) {
  appendFileSync(process.env.LOADED, url + '\\n');
  return next(url, context);
}`;
const REGISTER = `import { register } from 'node:module'; register('./hooks.mjs', import.meta.url);`;

const light = [
  ['--help'],
  ['config', 'check'],
  ['config', 'show'],
  ['hooks', 'list'],
  ['mcp', 'list'],
  ['a2a', 'list'],
  ['plugins', 'check'],
  ['memory', 'status'],
  ['agents', 'policy'],
  ['token', '--sub', 'ada'],
  ['sessions'],
  ['actors'],
  ['tasks'],
  ['dlq'],
  ['replay', 'default/session/main'],
  ['upgrade', 'status'],
  ['conformance'],
  ['agent', 'prompt'],
];
/** It shows statecharts, so it loads XState. */
const withoutStore = [['charts']];
const store = /node_modules\/lmdb\//;
const storeAndSystem = /node_modules\/(?:lmdb|xstate)\//;

const cases = [
  ...light.map((args) => ({ args, loads: 'neither the store nor XState', heavy: storeAndSystem })),
  ...withoutStore.map((args) => ({ args, loads: 'no store', heavy: store })),
].map((each) => ({ ...each, line: each.args.join(' ') }));

/** Options of a program that records what it loads, and what it has loaded. */
function recording(port: string) {
  const folder = scratchFolder();
  const home = join(folder, 'home');
  mkdirSync(home);
  const loaded = join(folder, 'loaded');
  writeFileSync(join(folder, 'hooks.mjs'), HOOKS);
  writeFileSync(join(folder, 'register.mjs'), REGISTER);
  const NODE_OPTIONS = `--import ${pathToFileURL(join(folder, 'register.mjs')).href}`;
  return {
    options: { home, env: { NODE_OPTIONS, LOADED: loaded, TROUPE_PORT: port } },
    modules: () => readFileSync(loaded, 'utf8').trim().split('\n'),
  };
}

it.each(cases)(
  'troupe $line loads $loads',
  async ({ heavy, args }) => {
    const { options, modules } = recording('1');
    await runProgram(args, options);
    expect(modules().some((url) => url.endsWith('/dist/troupe.js'))).toBe(true);
    expect(modules().filter((url) => heavy.test(url))).toEqual([]);
  },
  60_000,
);

/** What an installation loads when a request, a search or its configuration needs it. */
const loadedLater = [
  'agent/models/offline/reply.ts',
  'agent/tools/memory/open-index.ts',
  'channels/gateway/methods/index.ts',
  'channels/gateway/transport/socket-server.ts',
  'channels/gateway/transport/tls-server.ts',
  'channels/http/documents.ts',
  'compose/cluster.ts',
  'memory/memory-index.ts',
  'operations/index.ts',
  'runtime/artifacts/s3.ts',
  'runtime/cluster/nats-ports.ts',
  'runtime/inspect/live-actors.ts',
  'node_modules/@modelcontextprotocol/',
  'node_modules/@sinclair/typebox/build/esm/value/convert/',
  'node_modules/@sinclair/typebox/build/esm/type/module/',
  'node_modules/mrmime/',
  'node_modules/pino/lib/transport.js',
  'node_modules/prom-client/lib/summary.js',
  'node_modules/ws/',
];

/** Sources of the program's chunks among the modules, relative to the repository. */
const sourcesOf = (modules: readonly string[]): readonly string[] =>
  modules
    .filter((url) => /\/dist\/[^/]+\.js$/.test(url) && !url.includes('/node_modules/'))
    .map((url) => JSON.parse(readFileSync(new URL(`${url}.map`), 'utf8')) as { sources: string[] })
    .flatMap(({ sources }) => sources.map((path) => path.replace(/^\.\.\//, '')));

it('troupe start loads no code that only a later request needs', async () => {
  const { options, modules } = recording('0');
  const program = startProgram(['start', '--json'], options);
  await announced(program);
  program.child.kill('SIGTERM');
  expect(await program.ended).toMatchObject({ code: 0 });
  const files = modules().filter((url) => /\/dist\/[^/]+\.js$/.test(url));
  // of 262 chunks of esbuild, which cost an eighth of its processor time
  expect(files.filter((url) => !url.includes('/node_modules/')).length).toBeLessThan(90);
  const sources = sourcesOf(modules());
  expect(sources).toContain('compose/embedded.ts');
  expect(loadedLater.filter((name) => sources.some((path) => path.startsWith(name)))).toEqual([]);
  // They cost 10 ms and 2 MB.
  expect(modules().filter((url) => /^node:(?:https|tls)$/.test(url))).toEqual([]);
}, 60_000);

it('imports nothing from node:http that would load fetch and WebSocket', () => {
  const { outputs } = JSON.parse(readFileSync('dist/build.json', 'utf8')) as { outputs: string[] };
  const chunks = outputs.filter((path) => /^dist\/[^/]+\.js$/.test(path));
  expect(chunks.length).toBeGreaterThan(100);
  const whole = /(?:from|import)\s*["'](?:node:)?http["']/;
  expect(chunks.filter((path) => whole.test(readFileSync(path, 'utf8')))).toEqual([]);
});
