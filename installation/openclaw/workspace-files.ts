/** The files of an agent of OpenClaw that agents here use, too: persona, notes, skills. */
import { type Dirent, existsSync, readdirSync } from 'node:fs';
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

function filesIn(folder: string): readonly string[] {
  const files: string[] = [];
  const queue = [
    { path: folder, entries: entriesOf(folder) },
    ...['memory', 'skills'].map((name) => {
      const path = join(folder, name);
      return { path, entries: entriesOf(path) };
    }),
  ];
  const isTop = (path: string) => path === folder;
  for (let next = queue.shift(); next && files.length < FILES_MAX; next = queue.shift()) {
    for (const entry of next.entries) {
      const path = join(next.path, entry.name);
      if (entry.isFile()) files.push(path);
      else if (entry.isDirectory() && !isTop(next.path) && entry.name !== '.git')
        queue.push({ path, entries: entriesOf(path) });
    }
  }
  return files.toSorted();
}
