/**
 * Which modules the built program loads. A command is quick when it loads little: its time depends
 * on the machine, what it loads does not (bench `commands` measures the time).
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { scratchFolder } from '../runtime/config/folder.ts';
import { runProgram } from './program.ts';

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

it.each(cases)(
  'troupe $line loads $loads',
  async ({ heavy, args }) => {
    const folder = scratchFolder();
    const home = join(folder, 'home');
    mkdirSync(home);
    const loaded = join(folder, 'loaded');
    writeFileSync(join(folder, 'hooks.mjs'), HOOKS);
    writeFileSync(join(folder, 'register.mjs'), REGISTER);
    const NODE_OPTIONS = `--import ${pathToFileURL(join(folder, 'register.mjs')).href}`;
    await runProgram(args, { home, env: { NODE_OPTIONS, LOADED: loaded, TROUPE_PORT: '1' } });
    const modules = readFileSync(loaded, 'utf8').trim().split('\n');
    expect(modules.some((url) => url.endsWith('/dist/troupe.js'))).toBe(true);
    expect(modules.filter((url) => heavy.test(url))).toEqual([]);
  },
  60_000,
);

it('imports nothing from node:http that would load fetch and WebSocket', () => {
  const { outputs } = JSON.parse(readFileSync('dist/build.json', 'utf8')) as { outputs: string[] };
  const chunks = outputs.filter((path) => /^dist\/[^/]+\.js$/.test(path));
  expect(chunks.length).toBeGreaterThan(100);
  const whole = /(?:from|import)\s*["'](?:node:)?http["']/;
  expect(chunks.filter((path) => whole.test(readFileSync(path, 'utf8')))).toEqual([]);
});
