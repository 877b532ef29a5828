/**
 * `fs.list`, `fs.read`, `fs.write`: access to files below the folders that the node's owner
 * configured. No path or link leads out of them; `ro` folders are never written to.
 */
import { opendir } from 'node:fs/promises';
import { isAbsolute, relative } from 'node:path';
import { Type } from '@sinclair/typebox';
import {
  isWithin,
  openFolder,
  openToRead,
  PathOutside,
  PathRefused,
  workspacePath,
} from '../../agent/tools/files/paths.ts';
import { replaceFile } from '../../agent/tools/files/replace-file.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { defineCommand, type HostCommand } from './command.ts';

export type Root = { readonly path: string; readonly access: 'ro' | 'rw' };

/**
 * Limit of a file that is read. As JSON in JSON it may become seven times longer and must still fit
 * in a frame.
 */
const FILE_BYTES_MAX = 3 * 2 ** 20;
/** Limit of a file that is written: the size limit of a command's parameters. */
const WRITE_CHARACTERS_MAX = 240_000;
const NAMES_MAX = 1_000;

const Path = Type.String({ minLength: 1, maxLength: 4_096 });
const Encoding = Type.Optional(Type.Union([Type.Literal('utf8'), Type.Literal('base64')]));

export const fileCommands = (roots: readonly Root[]): readonly HostCommand[] =>
  roots.length === 0 ? [] : [listCommand(roots), readCommand(roots), ...writeCommands(roots)];

const listCommand = (roots: readonly Root[]): HostCommand =>
  defineCommand({
    name: 'fs.list',
    description: 'Lists a folder: `path`, absolute; default: the folders that this node offers.',
    params: Type.Object({ path: Type.Optional(Path) }),
    run: ({ path }) =>
      path === undefined
        ? Promise.resolve({ roots: roots.map((root) => ({ ...root })) })
        : orForbidden(path, () => list(roots, path)),
  });

const list = async (roots: readonly Root[], given: string) => {
  const root = rootOf(roots, given);
  const at = await workspacePath(root.path, relative(root.path, given) || '.');
  const folder = await openFolder(root.path, at);
  const entries: { name: string; type: string }[] = [];
  try {
    for await (const entry of await opendir(folder.at)) {
      if (entries.length >= NAMES_MAX) break;
      const type = entry.isDirectory() ? 'folder' : entry.isFile() ? 'file' : 'other';
      entries.push({ name: entry.name, type });
    }
  } finally {
    await folder.close();
  }
  const sorted = entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return {
    path: given,
    access: root.access,
    entries: sorted,
    truncated: entries.length >= NAMES_MAX,
  };
};

const readCommand = (roots: readonly Root[]): HostCommand =>
  defineCommand({
    name: 'fs.read',
    description: 'Reads a file: `path`, absolute; `encoding` utf8 (default) or base64.',
    params: Type.Object({ path: Path, encoding: Encoding }),
    run: ({ path, encoding = 'utf8' }) =>
      orForbidden(path, async () => {
        const root = rootOf(roots, path);
        const at = await workspacePath(root.path, relative(root.path, path) || '.');
        const file = await openToRead(root.path, at);
        try {
          const { size } = await file.stat();
          if (size > FILE_BYTES_MAX) {
            throw new TroupeError(
              'PAYLOAD_TOO_LARGE',
              `${path} has ${size} bytes; the limit is ${FILE_BYTES_MAX}`,
            );
          }
          const bytes = await file.readFile();
          return { path, bytes: bytes.length, encoding, content: bytes.toString(encoding) };
        } finally {
          await file.close();
        }
      }),
  });

const writeCommands = (roots: readonly Root[]): readonly HostCommand[] => {
  const writable = roots.filter(({ access }) => access === 'rw');
  if (writable.length === 0) return [];
  return [
    defineCommand({
      name: 'fs.write',
      description: 'Writes a whole file and creates its folders: `path`, `content`, `encoding`.',
      params: Type.Object({
        path: Path,
        content: Type.String({ maxLength: WRITE_CHARACTERS_MAX }),
        encoding: Encoding,
      }),
      run: ({ path, content, encoding = 'utf8' }) =>
        orForbidden(path, async () => {
          const root = rootOf(roots, path);
          if (root.access !== 'rw') throw new PathRefused(`${root.path} is read-only.`);
          const at = await workspacePath(root.path, relative(root.path, path));
          const bytes = Buffer.from(content, encoding);
          await replaceFile(root.path, at, bytes);
          return { path, bytes: bytes.length };
        }),
    }),
  ];
};

/** The innermost folder that contains the path. */
const rootOf = (roots: readonly Root[], path: string): Root => {
  const holds = roots
    .filter((root) => isAbsolute(path) && isWithin(root.path, path))
    .toSorted((a, b) => b.path.length - a.path.length)[0];
  if (holds) return holds;
  throw new PathRefused(
    `${path.slice(0, 200)} is in none of the folders that this node offers: fs.list shows them.`,
  );
};

const orForbidden = async <T>(path: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof PathRefused)) throw error;
    const leadsOut = `${path.slice(0, 200)} leads out of the folder that this node offers`;
    throw new TroupeError('FORBIDDEN', error instanceof PathOutside ? leadsOut : error.message);
  }
};
