/**
 * DailyLog: `memory/YYYY-MM-DD.md` in an agent's workspace, where notes go before a conversation is
 * shortened (AL8). Written once per id, whole or not at all, and never through a link.
 */
import { constants } from 'node:fs';
import { lstat, mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';

export type Notes = {
  /** the effect's id: the same for every attempt */
  readonly id: string;
  readonly sessionKey: string;
  readonly text: string;
  /** epoch milliseconds; the day is the host's */
  readonly at: number;
};

const DAY_MS = 86_400_000;
/** Of a day's file; a longer one is full. */
const LOG_BYTES_MAX = 4 * 1024 * 1024;

/**
 * False when it can not be written: `memory` is a file or a link, or the day's file is one, or it
 * is full. May be repeated, also on the next day.
 *
 * @throws what the file system says
 */
export async function logNotes(workspace: string, notes: Notes): Promise<boolean> {
  const folder = join(workspace, 'memory');
  await mkdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  if (!(await lstat(folder)).isDirectory()) return false;
  const mark = `<!-- notes ${notes.id.replaceAll('--', '-')} -->`;
  const file = join(folder, `${dayName(notes.at)}.md`);
  const today = await textOf(file);
  if (today === undefined) return false;
  const yesterday = await textOf(join(folder, `${dayName(notes.at - DAY_MS)}.md`));
  if (today.includes(mark) || yesterday?.includes(mark)) return true;
  const before = today === '' ? `# ${dayName(notes.at)}\n` : today;
  const whole = `${before}\n${mark}\n## ${notes.sessionKey}\n\n${notes.text.trim()}\n`;
  if (Buffer.byteLength(whole) > LOG_BYTES_MAX) return false;
  await replace(file, whole);
  return true;
}

/** '' when it is not there, undefined when it is no file. */
async function textOf(file: string): Promise<string | undefined> {
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      return (await handle.stat()).isFile() ? await handle.readFile('utf8') : undefined;
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return '';
    if (code === 'ELOOP' || code === 'EISDIR') return undefined;
    throw error;
  }
}

async function replace(file: string, text: string): Promise<void> {
  const next = `${file}.next`;
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
  const handle = await open(next, flags, 0o600);
  try {
    await handle.writeFile(text, 'utf8');
  } finally {
    await handle.close();
  }
  await rename(next, file);
}

/** `2026-11-21`, in the zone of the host. */
function dayName(at: number): string {
  const day = new Date(at);
  const two = (part: number) => String(part).padStart(2, '0');
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}
