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

const why = problem();
if (why === undefined) {
  await import(program.href);
} else {
  console.error(`troupe ${why}`);
  process.exitCode = 1;
}
