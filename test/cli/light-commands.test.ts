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
];

it.each(light.map((args) => [args.join(' '), args] as const))(
  'troupe %s loads neither the store nor the actor system',
  async (_, args) => {
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
    expect(modules.filter((url) => /node_modules\/(?:lmdb|xstate)\//.test(url))).toEqual([]);
  },
  60_000,
);
