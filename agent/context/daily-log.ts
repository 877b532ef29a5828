/**
 * DailyLog: `memory/YYYY-MM-DD.md` in an agent's workspace. It receives notes before a conversation
 * is compacted. Each id is written once, completely or not at all, and never through a symbolic
 * link.
 */
import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, PathRefused } from '../tools/files/paths.ts';
import { replaceFile } from '../tools/files/replace-file.ts';

export type Notes = {
  /** the effect's id: the same for every attempt */
  readonly id: string;
  readonly sessionKey: string;
  readonly text: string;
  /** epoch milliseconds; the day is in the host's time zone */
  readonly at: number;
};

const DAY_MS = 86_400_000;
/** Maximum size of one day's file. */
const LOG_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Returns false when the file cannot be written: `memory` is a file or a link, the day's file is a
 * link, or it is full. May be repeated, also on the next day.
 *
 * @throws errors of the file system
 */
export async function logNotes(workspace: string, notes: Notes): Promise<boolean> {
  const path = join(await realpath(workspace), 'memory');
  try {
    const before = await lastDays(workspace, path, notes.at);
    if (!before) return false;
    const mark = `<!-- notes ${notes.id.replaceAll('--', '-')} -->`;
    if (before.today.includes(mark) || before.yesterday.includes(mark)) return true;
    const day = dayName(notes.at);
    const head = before.today === '' ? `# ${day}\n` : before.today;
    const whole = `${head}\n${mark}\n## ${notes.sessionKey}\n\n${notes.text.trim()}\n`;
    if (Buffer.byteLength(whole) > LOG_BYTES_MAX) return false;
    const shown = `memory/${day}.md`;
    await replaceFile(workspace, { path: join(path, `${day}.md`), shown }, whole);
    return true;
  } catch (error) {
    if (error instanceof PathRefused) return false;
    throw error;
  }
}

/** undefined when today's file cannot be read; yesterday's file is optional. */
async function lastDays(workspace: string, path: string, at: number) {
  const folder = await makeFolder(workspace, { path, shown: 'memory' });
  try {
    const today = await textOf(join(folder.at, `${dayName(at)}.md`));
    if (today === undefined) return undefined;
    const yesterday = (await textOf(join(folder.at, `${dayName(at - DAY_MS)}.md`))) ?? '';
    return { today, yesterday };
  } finally {
    await folder.close();
  }
}

/** '' when the file does not exist, undefined when it is not a plain file or is too large. */
async function textOf(file: string): Promise<string | undefined> {
  try {
    // without O_NONBLOCK, opening a named pipe would block
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const handle = await open(file, flags);
    try {
      const found = await handle.stat();
      if (!found.isFile() || found.size > LOG_BYTES_MAX) return undefined;
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return '';
    if (code === 'ELOOP' || code === 'EISDIR' || code === 'ENXIO') return undefined;
    throw error;
  }
}

/** The files of today and yesterday, in a workspace. */
export const dailyLogPaths = (at: number): readonly string[] =>
  [at, at - DAY_MS].map((day) => `memory/${dayName(day)}.md`);

/** Whether a path relative to the workspace is that of a day's notes, today's or an older one's. */
export const isDailyLog = (path: string): boolean => /^memory[\\/]\d{4}-\d\d-\d\d\.md$/i.test(path);

/** `2026-11-21`, in the host's time zone. */
function dayName(at: number): string {
  const day = new Date(at);
  const two = (part: number) => String(part).padStart(2, '0');
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}
