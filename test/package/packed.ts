/**
 * The package as its users have it: packed, and installed in an empty folder. The dependencies that
 * package.json declares are linked from this repository, so no network is needed; a package that is
 * used and not declared is missing there.
 */
import { execFile } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../../tools/install.mjs';

const run = promisify(execFile);

type PackageJson = {
  readonly exports: Readonly<Record<string, { readonly types: string } | string>>;
  readonly dependencies: Readonly<Record<string, string>>;
};

export type PackedFile = { readonly path: string; readonly size: number };

export type Packed = {
  /** the folder of the consumer, which has a node_modules */
  readonly folder: string;
  readonly tarball: string;
  /** bytes */
  readonly size: number;
  readonly files: readonly PackedFile[];
  /** `troupe`, `troupe/agents`, ... */
  readonly entries: readonly string[];
  /** Writes a file of the consumer; returns its path. */
  write(name: string, text: string): string;
  /** Runs Node in the folder. Returns stdout. @throws with stderr when it fails */
  node(args: readonly string[]): Promise<string>;
  /** The same with a program of this repository's node_modules. */
  tool(path: string, args: readonly string[]): Promise<string>;
  remove(): void;
};

/** Packages of types that a TypeScript program has anyway. */
const TYPES = ['@types/node'];

export async function packed(): Promise<Packed> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-package-'));
  const modules = join(folder, 'node_modules');
  const installed = join(modules, 'troupe');
  mkdirSync(installed, { recursive: true });
  await run(process.execPath, ['tools/package.mjs'], { cwd: root });
  // The build was made just now, so the script `prepack` need not check it again.
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const { stdout } = await run('npm', pack, { cwd: root, maxBuffer: 16 * 2 ** 20 });
  const [facts] = JSON.parse(stdout) as [
    { filename: string; size: number; files: readonly PackedFile[] },
  ];
  const tarball = join(folder, facts.filename);
  await run('tar', ['xzf', tarball, '-C', installed, '--strip-components', '1']);
  const packageJson = JSON.parse(
    readFileSync(join(installed, 'package.json'), 'utf8'),
  ) as PackageJson;
  for (const name of [...Object.keys(packageJson.dependencies), ...TYPES]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  const node = async (args: readonly string[]) =>
    (await run(process.execPath, args, { cwd: folder, maxBuffer: 16 * 2 ** 20 })).stdout;
  return {
    folder,
    tarball,
    size: facts.size,
    files: facts.files,
    entries: Object.entries(packageJson.exports)
      .filter(([, target]) => typeof target !== 'string')
      .map(([name]) => name.replace('.', 'troupe')),
    write(name, text) {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    },
    node,
    tool: (path, args) => node([join(root, 'node_modules', path), ...args]),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export type Description = {
  /** it has a docstring */
  readonly isDescribed: boolean;
  /** the code of the example in it */
  readonly example?: string;
};

/** The docstring of an export that is a value, from the declarations of the package. */
export function descriptionOf({ folder }: Packed, entry: string, name: string): Description {
  const types = join(folder, 'node_modules', 'troupe', 'dist', 'types');
  const declaration = new RegExp(
    `/\\*\\*((?:(?!\\*/)[\\s\\S])*)\\*/\\s*export declare (?:abstract )?(?:class|function|const) ${name}\\b`,
  );
  let isDescribed = false;
  for (const path of readdirSync(types, { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.d.ts') || (entry !== 'troupe/client' && path.includes('/sdk/'))) continue;
    const comment = declaration.exec(readFileSync(join(types, path), 'utf8'))?.[1];
    if (comment === undefined) continue;
    isDescribed = true;
    const example = /```ts\n([\s\S]*?)```/.exec(comment)?.[1];
    if (example !== undefined) return { isDescribed, example: example.replaceAll(/^ *\* ?/gm, '') };
  }
  return { isDescribed };
}
