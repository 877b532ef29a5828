#!/usr/bin/env node
/**
 * The command `troupe`. It starts the built program in this process, so that signals reach it, and
 * says what to run when a checkout is not built yet. It is tracked, so that `npx troupe` finds it
 * in a fresh clone and never looks for a package of that name elsewhere.
 *
 * Boundary: it runs before anything is installed or built, on any Node, so it imports only Node's
 * own modules, and uses no new syntax.
 */
import { existsSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const program = new URL('../dist/troupe.js', import.meta.url);
const isThere = (path) => existsSync(new URL(path, import.meta.url));

/** Why the program cannot start; undefined if it can. */
function problem() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19))
    return `needs Node 20.19 or newer and this is ${process.version}. Install a newer Node.`;
  if (existsSync(program)) return undefined;
  const folder = fileURLToPath(new URL('..', import.meta.url));
  if (isThere('../tools/build.mjs'))
    return `is not built yet. Run this once, in ${folder}:\n  npm run build`;
  return `is incomplete: ${fileURLToPath(program)} is missing. Install the package again.`;
}

/**
 * Keeps compiled code in the user's cache folder, where Node can (22.8). `troupe start` then takes an
 * eighth less processor time until it is ready, and 4 MB more memory. Where there is no such folder,
 * or it cannot be written, nothing is kept. NODE_COMPILE_CACHE names another folder,
 * NODE_DISABLE_COMPILE_CACHE=1 turns it off.
 */
function keepCompiledCode() {
  const enable = nodeModule.enableCompileCache;
  if (enable === undefined) return;
  const named = process.env.NODE_COMPILE_CACHE;
  if (named) return void enable(named);
  try {
    const caches = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
    // A relative one (HOME= in a container) would put files into the folder of the user's project.
    if (isAbsolute(caches)) enable(join(caches, 'troupe', 'compiled'));
  } catch {
    // A user without an entry in /etc/passwd, and without HOME, has no home folder.
  }
}

/**
 * The program is many files beside each other. Node looks for each by several calls to the
 * file system, which takes a quarter of the time of a short command. Their address is known, so
 * where Node allows it (22.15) the answer is given here.
 */
function findOwnFilesFast() {
  const folder = new URL('.', program).href;
  nodeModule.registerHooks?.({
    resolve: (specifier, context, next) =>
      /^\.\/[\w-]+\.js$/.test(specifier) && context.parentURL?.startsWith(folder)
        ? { url: folder + specifier.slice(2), format: 'module', shortCircuit: true }
        : next(specifier, context),
  });
}

const why = problem();
if (why === undefined) {
  keepCompiledCode();
  findOwnFilesFast();
  await import(program.href);
} else {
  console.error(`troupe ${why}`);
  process.exitCode = 1;
}
