/** `troupe init`: writes a project with an actor, an effect, a tool and a test. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { quoted } from '../../agent/policy/shell-line.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { makeFolder } from '../../runtime/make-folder.ts';
import { exitCodes } from '../exit.ts';
import { printJson } from '../output.ts';
import { version } from '../version.ts';
import { templateFiles } from './template.ts';

export type InitOptions = {
  readonly javascript?: boolean;
  readonly json?: boolean;
};

/** Packages of a project besides troupe; it uses the versions that troupe uses. */
const SHARED = ['@sinclair/typebox', 'xstate'];
const COMPILER = ['typescript', '@types/node'];
/** It draws the charts of own actors in the page; without it they are outlines. */
const DRAWING = ['elkjs'];

type PackageJson = {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
};

/**
 * @param folder is created; a `package.json` that npm made keeps what it has
 * @throws TroupeError CONFLICT when another of the files exists; nothing is written
 */
export async function init(folder: string, options: InitOptions): Promise<number> {
  const target = resolve(folder);
  const own = packageFolder();
  const facts = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8')) as PackageJson;
  const language = options.javascript ? 'javascript' : 'typescript';
  const files = templateFiles({
    name: nameOf(target),
    language,
    dependencies: { troupe: dependencyOn(own, target), ...versionsOf(facts.dependencies, SHARED) },
    devDependencies: versionsOf(facts.devDependencies, [
      ...(options.javascript ? [] : COMPILER),
      ...DRAWING,
    ]),
  });
  const taken = Object.keys(files).filter((path) => existsSync(join(target, path)));
  const blocking = taken.filter((path) => path !== 'package.json');
  if (blocking.length > 0)
    throw new TroupeError('CONFLICT', `${target} already has ${blocking.join(', ')}`);
  for (const [path, text] of Object.entries(files)) {
    const file = join(target, path);
    makeFolder(dirname(file), 0o777);
    writeFileSync(file, taken.includes(path) ? merged(readFileSync(file, 'utf8'), text) : text);
  }
  if (options.json) printJson({ folder: target, files: Object.keys(files) });
  else
    process.stdout.write(
      `${target}: a project in ${language === 'typescript' ? 'TypeScript (JavaScript: --js in another folder)' : 'JavaScript'}\n` +
        `Next: ${folder === '.' ? '' : `cd ${quoted(folder)} && `}npm install && npm test && npm run dev\n`,
    );
  return exitCodes.ok;
}

/** The folder of the package, or of the checkout, that this program belongs to. */
const packageFolder = (): string => fileURLToPath(new URL('..', import.meta.url));

/** A release by its version; a checkout, or an unpublished package, by its folder. */
function dependencyOn(own: string, target: string): string {
  const isInstalled = resolve(own) === join(target, 'node_modules', 'troupe');
  if (!isInstalled) return `file:${relative(target, own)}`;
  const file = join(target, 'package.json');
  const present = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as PackageJson) : {};
  return present.dependencies?.['troupe'] ?? `^${version}`;
}

const versionsOf = (all: Readonly<Record<string, string>> = {}, names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, all[name] ?? 'latest']));

/** What npm accepts as a name. */
const nameOf = (folder: string): string =>
  basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+/, '') || 'my-agents';

/** The package.json that npm made when it installed troupe, with the parts of the project. */
function merged(present: string, wanted: string): string {
  const [old, own] = [present, wanted].map((text) => JSON.parse(text) as Record<string, object>);
  const parts = ['scripts', 'dependencies', 'devDependencies'].map((key) => [
    key,
    { ...own![key], ...old![key] },
  ]);
  const all: Record<string, object | string> & { scripts?: object } = {
    ...own,
    ...old,
    type: 'module',
    ...Object.fromEntries(parts),
  };
  // What `npm init` writes is no test.
  const { test } = (old!['scripts'] ?? {}) as { readonly test?: string };
  if (test?.includes('no test specified')) Object.assign(all.scripts!, own!['scripts']);
  return `${JSON.stringify(all, null, 2)}\n`;
}
