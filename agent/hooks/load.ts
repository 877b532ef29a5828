/**
 * Loads the hooks of an installation: the files of one folder, each a module with a default export
 * of `defineHooks`, or with exported functions that are named like hooks.
 *
 * Boundary: it reads and executes these files; the folder belongs to the user who runs troupe. It
 * never throws because of a file's content: it reports a fault with the name of the file.
 *
 * Each file is bundled in memory. Without files, the bundler is not loaded.
 */
import { readdir } from 'node:fs/promises';
import { join, parse } from 'node:path';
import { errorData } from '../../protocols/errors.ts';
import { bundleOf, withBundler } from '../bundle.ts';
import type { HookModule } from './define-hooks.ts';
import { type HookName, HOOKS } from './hooks.ts';

/** Time limit for the evaluation of a file, milliseconds. */
const LOAD_MS = 10_000;

export type LoadHooksOptions = {
  /** absolute; the folder may be missing */
  readonly folder: string;
  /** names of modules to skip */
  readonly disabled?: readonly string[];
};

/** A module and the file that defines it. */
export type LoadedHooks = { readonly file: string; readonly module: HookModule };
/** A fault in a file, for users. */
export type HookFault = { readonly file: string; readonly why: string };

export type HooksFolder = {
  /** in order of their file names */
  readonly loaded: readonly LoadedHooks[];
  readonly disabled: readonly LoadedHooks[];
  readonly faults: readonly HookFault[];
};

/** @throws Error when the folder exists and cannot be read */
export const loadHooks = async (options: LoadHooksOptions): Promise<HooksFolder> => {
  const files = await filesIn(options.folder);
  return files.length === 0
    ? { loaded: [], disabled: [], faults: [] }
    : withBundler(() => loadFiles(files, options));
};

const loadFiles = async (
  files: readonly string[],
  { disabled = [] }: LoadHooksOptions,
): Promise<HooksFolder> => {
  const loaded: LoadedHooks[] = [];
  const left: LoadedHooks[] = [];
  const faults: HookFault[] = [];
  for (const file of files) {
    try {
      const module = moduleOf(file, await exportsOf(file));
      if (disabled.includes(module.name)) left.push({ file, module });
      else if (loaded.some((other) => other.module.name === module.name))
        faults.push({ file, why: `there is another module named ${module.name}; rename one` });
      else loaded.push({ file, module });
    } catch (error) {
      faults.push({ file, why: errorData(error).message });
    }
  }
  return { loaded, disabled: left, faults };
};

const filesIn = async (folder: string): Promise<readonly string[]> => {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return names
    .filter((name) => /^[^.].*\.(?:js|mjs|ts)$/.test(name) && !name.endsWith('.d.ts'))
    .sort()
    .map((name) => join(folder, name));
};

type Exports = Readonly<Record<string, unknown>>;

/** Evaluates a file. */
const exportsOf = async (file: string): Promise<Exports> => {
  const code = await bundleOf({ file, modules: ownModules });
  const url = `data:text/javascript;base64,${Buffer.from(code).toString('base64')}`;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), LOAD_MS);
  try {
    return await Promise.race([
      import(/* @vite-ignore */ url) as Promise<Exports>,
      new Promise<never>((_, reject) => {
        const error = new Error(`it did not end within ${LOAD_MS / 1_000} s`);
        late.signal.addEventListener('abort', () => reject(error), { once: true });
      }),
    ]);
  } finally {
    clearTimeout(timer);
  }
};

/** `troupe/hooks` is the running program's, wherever the file is. */
const ownModules = {
  'troupe/hooks': { source: 'export const defineHooks = (module) => module;' },
} as const;

/**
 * The default export. Without one, the exported functions that are named like hooks, as a module
 * with the name of the file.
 */
const moduleOf = (file: string, { default: exported, ...named }: Exports): HookModule => {
  const hooks = Object.entries(named).filter(([name]) => Object.hasOwn(HOOKS, name));
  if (exported !== undefined || hooks.length === 0) return hooksOf(exported);
  return hooksOf({ name: parse(file).name, hooks: Object.fromEntries(hooks) });
};

/** @throws Error that describes the fault */
const hooksOf = (exported: unknown): HookModule => {
  if (!isObject(exported))
    throw new Error('it has no default export; write: export default defineHooks({ … })');
  const { name, priority, hooks } = exported;
  if (typeof name !== 'string' || !/^[a-z0-9][a-z0-9_-]{0,63}$/.test(name))
    throw new Error('its name has to be small letters, digits, - and _, at most 64');
  if (priority !== undefined && !Number.isFinite(priority))
    throw new Error('its priority has to be a number');
  if (!isObject(hooks)) throw new Error('it has no hooks: { … }');
  for (const [hook, handler] of Object.entries(hooks)) {
    if (!Object.hasOwn(HOOKS, hook))
      throw new Error(`there is no hook ${hook}; there are ${Object.keys(HOOKS).join(', ')}`);
    if (typeof handler !== 'function') throw new Error(`its hook ${hook} has to be a function`);
  }
  return { name, hooks, ...(priority === undefined ? {} : { priority: Number(priority) }) };
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** Names of the hooks of a module, in the order of HOOKS. */
export const hookNamesOf = ({ hooks }: HookModule): readonly HookName[] =>
  (Object.keys(HOOKS) as HookName[]).filter((name) => hooks[name] !== undefined);
