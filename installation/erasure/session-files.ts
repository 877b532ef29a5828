/**
 * The files of workspaces that sessions wrote: what their calls of `write` and `edit` put into a
 * file is removed from it, and a file with nothing else is removed. A command may write any file;
 * whose text that is cannot be known.
 *
 * A folder that the configuration names belongs to its user, and is not touched.
 */
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PathRefused, workspacePath } from '../../agent/tools/files/paths.ts';
import { replaceFile } from '../../agent/tools/files/replace-file.ts';
import type { Address } from '../../protocols/address.ts';
import type { SessionEntry } from '../../protocols/session.ts';
import type { Workspaces } from '../../runtime/workspaces/workspaces.ts';

/** Texts by path, in the order of the calls. */
export type WrittenTexts = Map<string, string[]>;

/** Texts below this length are too common to be recognized as the session's. */
const TEXT_MIN = 8;

/** Adds what the calls of an entry write. */
export function addWritten(written: WrittenTexts, entry: SessionEntry): void {
  if (entry.type !== 'assistant') return;
  for (const { name, args } of entry.calls ?? []) {
    const { path, content, edits } = argsOf(args);
    if (typeof path !== 'string') continue;
    const texts = written.get(path) ?? [];
    if (name === 'write' && typeof content === 'string') texts.push(content);
    if (name === 'edit' && Array.isArray(edits))
      for (const { newText } of edits as { newText?: unknown }[])
        if (typeof newText === 'string') texts.push(newText);
    if (texts.length > 0) written.set(path, texts);
  }
}

const argsOf = (args: unknown): Record<string, unknown> => {
  if (typeof args === 'object' && args !== null) return args as Record<string, unknown>;
  try {
    return (JSON.parse(String(args)) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
};

/**
 * Removes the texts from the files of a workspace.
 * @returns how many files had one of them
 */
export async function eraseWritten(
  workspaces: Workspaces,
  owner: Address,
  written: WrittenTexts,
  { signal, isDryRun }: { readonly signal: AbortSignal; readonly isDryRun: boolean },
): Promise<number> {
  if (written.size === 0) return 0;
  const workspace = await workspaces.open(owner, { signal });
  let files = 0;
  try {
    for (const [path, texts] of written)
      if (await eraseIn(workspace.path, path, texts, isDryRun)) files++;
    if (files > 0 && !isDryRun) await workspace.save();
  } finally {
    await workspace.close();
  }
  return files;
}

async function eraseIn(
  root: string,
  path: string,
  texts: readonly string[],
  isDryRun: boolean,
): Promise<boolean> {
  try {
    const at = await workspacePath(root, path);
    const before = await readFile(at.path, 'utf8').catch(() => undefined);
    if (before === undefined) return false;
    let rest = before;
    // The longest first: a text may be part of another one.
    for (const text of [...texts].sort((a, b) => b.length - a.length))
      if (text.length >= TEXT_MIN) rest = rest.replaceAll(text, '');
    if (rest === before && !texts.includes(before)) return false;
    if (isDryRun) return true;
    if (rest.trim() === '' || texts.includes(before)) await rm(at.path, { force: true });
    else await replaceFile(root, at, rest);
    return true;
  } catch (error) {
    if (error instanceof PathRefused) return false;
    throw error;
  }
}

/** Removes every file of a workspace. @returns how many entries it had at its top */
export async function clearWorkspace(
  workspaces: Workspaces,
  owner: Address,
  { signal, isDryRun }: { readonly signal: AbortSignal; readonly isDryRun: boolean },
): Promise<number> {
  const workspace = await workspaces.open(owner, { signal });
  try {
    const names = await readdir(workspace.path);
    if (isDryRun) return names.length;
    for (const name of names)
      await rm(join(workspace.path, name), { recursive: true, force: true });
    if (names.length > 0) await workspace.save();
    return names.length;
  } finally {
    await workspace.close();
  }
}
