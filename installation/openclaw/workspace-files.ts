/** The files of an agent of OpenClaw that agents here use, too: persona, notes, skills. */
import { type Dirent, existsSync, lstatSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join, relative, resolve } from 'node:path';
import type { FoundAgent } from './config-file.ts';
import { type Fields, fieldsOf, textOf } from './found.ts';

const TOP = /^(AGENTS|SOUL|USER|TOOLS|IDENTITY|MEMORY|HEARTBEAT)\.md$/;
const BELOW = /^(memory\/.*\.md|skills\/.+)$/;
const FILES_MAX = 10_000;

export type FoundFile = { readonly path: string; readonly source: string };
export type FoundFiles = {
  readonly files: readonly FoundFile[];
  /** files and folders at the top that are not imported */
  readonly others: readonly string[];
};

/** Links are not followed. */
export function workspaceFiles(state: string, config: Fields, agent: FoundAgent): FoundFiles {
  const found = new Map<string, string>();
  const others = new Set<string>();
  for (const folder of foldersOf(state, config, agent)) {
    for (const { name } of entriesOf(folder))
      if (!TOP.test(name) && !/^(memory|skills|\..*)$/.test(name)) others.add(name);
    for (const path of filesIn(folder)) {
      const name = relative(folder, path).replaceAll('\\', '/');
      if ((TOP.test(name) || BELOW.test(name)) && !found.has(name)) found.set(name, path);
    }
  }
  const files = [...found].map(([path, source]) => ({ path, source }));
  return { files, others: [...others] };
}

/** The folders that OpenClaw's versions use for an agent, the most specific first. */
function foldersOf(state: string, config: Fields, agent: FoundAgent): readonly string[] {
  const shared = textOf(fieldsOf(fieldsOf(config['agents'])['defaults'])['workspace']);
  const own = textOf(agent.config['workspace']);
  const candidates = own
    ? [own]
    : [
        ...(shared ? [join(shared, agent.id)] : []),
        join(state, `workspace-${agent.id}`),
        // Written by a version that kept the case.
        ...(agent.written.toLowerCase() === agent.id
          ? [join(state, `workspace-${agent.written}`)]
          : []),
        ...(agent.isDefault ? [shared ?? join(state, 'workspace')] : []),
      ];
  return candidates.map((folder) => {
    const path = resolve(folder.replace(/^~(?=[\\/]|$)/, homedir()));
    if (existsSync(path)) return path;
    // A state folder that was moved, or comes from another machine.
    const moved = folder === shared || folder === own ? basename(path) : undefined;
    if (moved) return join(state, moved);
    return shared ? join(state, basename(shared), agent.id) : path;
  });
}

const entriesOf = (folder: string): readonly Dirent[] =>
  existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [];

/** Files of the folder itself, and those below `memory` and `skills`. */
function filesIn(folder: string): readonly string[] {
  const top = entriesOf(folder).filter((entry) => entry.isFile());
  const below = ['memory', 'skills'].flatMap((name) =>
    filesBelow(join(folder, name)).map(({ source }) => source),
  );
  return [...top.map(({ name }) => join(folder, name)), ...below];
}

/** All files below a folder, by their paths in it; without links and `.git`. */
export function filesBelow(folder: string): readonly FoundFile[] {
  const files: FoundFile[] = [];
  const isFolder = lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false;
  const queue = isFolder ? [folder] : [];
  for (let next = queue.shift(); next && files.length < FILES_MAX; next = queue.shift()) {
    for (const entry of entriesOf(next)) {
      const source = join(next, entry.name);
      const path = relative(folder, source).replaceAll('\\', '/');
      if (entry.isFile()) files.push({ path, source });
      else if (entry.isDirectory() && entry.name !== '.git') queue.push(source);
    }
  }
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}
