/**
 * WorkspaceNotes: the notes in a workspace: `MEMORY.md`, and `*.md` below `memory/`.
 *
 * Invariant: links are ignored, and no file outside the workspace is read.
 */
import { type BigIntStats, lstatSync } from 'node:fs';
import { lstat, realpath } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import {
  type FilePart,
  MAIN_MEMORY,
  MEMORY_FOLDER,
  type MemoryFiles,
  NOTE_BYTES_MAX,
  type NoteFile,
  NOTES_MAX,
} from '../../../memory/index.ts';
import { pathsBelow, systemClock } from '../../../runtime/index.ts';
import { isClean, maskedLines, maskedNote, type NoteMask } from './masked-note.ts';
import type { SecretMask } from '../secret-mask.ts';
import { openToRead, PathRefused, workspacePath } from '../files/paths.ts';
import { readPart } from './note-part.ts';

/** Whether the path could be that of a note; one with `..` or `./` could not. */
export const isNotePath = (path: string): boolean =>
  path === MAIN_MEMORY ||
  (path === posix.normalize(path) && path.startsWith(`${MEMORY_FOLDER}/`) && path.endsWith('.md'));

/**
 * One more than the index takes, so that it can say that some are left out. As deep as the files of
 * a workspace in a cluster.
 */
const LIST_LIMITS = { entriesMax: NOTES_MAX + 1, depthMax: 32 };
/** A file that was just written may be written again without a change of its times. */
const UNSETTLED_MS = 50;
const text = new TextDecoder('utf-8', { fatal: true });

/** The text of a note that was read elsewhere; undefined if it is not UTF-8. */
export function noteOf(
  bytes: Uint8Array | undefined,
  secrets: Pick<SecretMask, 'text'>,
): string | undefined {
  const note = bytes && decoded(bytes);
  return note === undefined ? undefined : maskedLines(note, secrets);
}

/** undefined: it is not UTF-8 */
function decoded(bytes: Uint8Array): string | undefined {
  try {
    return text.decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Files of one turn: others need a few microseconds each. */
const STATS_AT_ONCE = 64;
/** So many calls in a row that take longer wait for a disk or a network, not for the processor. */
const SLOW_CALLS_MAX = 2;
const PROMPT_MS = 2;

export class WorkspaceNotes implements MemoryFiles {
  readonly #root: string;
  readonly #secrets: NoteMask;
  #slowCalls = 0;

  /** @param secrets masked before a text is cut, which could leave a part of a value */
  constructor(root: string, secrets: NoteMask) {
    this.#root = root;
    this.#secrets = secrets;
  }

  async list(): Promise<readonly NoteFile[]> {
    const below = await pathsBelow(this.#root, MEMORY_FOLDER, LIST_LIMITS, isNotePath);
    const paths = [MAIN_MEMORY, ...below];
    const files: NoteFile[] = [];
    this.#slowCalls = 0;
    for (let at = 0; at < paths.length; at += STATS_AT_ONCE) {
      if (at > 0) await turn();
      const some = paths.slice(at, at + STATS_AT_ONCE).map((path) => this.#stamped(path));
      files.push(...(await Promise.all(some)).filter((file) => file !== undefined));
    }
    return files;
  }

  async #stamped(path: string): Promise<NoteFile | undefined> {
    const place = join(this.#root, path);
    const now = { bigint: true, throwIfNoEntry: false } as const;
    const found = this.#isPrompt
      ? this.#promptly(() => lstatSync(place, now))
      : await lstat(place, { bigint: true }).catch(unlessGone);
    return found?.isFile() ? { path, stamp: stampOf(found), bytes: Number(found.size) } : undefined;
  }

  /**
   * Whether the file system answers at once. Then a call costs a fifth of what it costs in a
   * thread; otherwise calls are made in threads until the next list.
   */
  get #isPrompt(): boolean {
    return this.#slowCalls < SLOW_CALLS_MAX;
  }

  /** undefined: the file is gone */
  #promptly<Result>(call: () => Result): Result | undefined {
    const begun = performance.now();
    try {
      return call();
    } catch (error) {
      return unlessGone(error);
    } finally {
      this.#slowCalls = performance.now() - begun > PROMPT_MS ? this.#slowCalls + 1 : 0;
    }
  }

  async readPart(path: string, part: FilePart): Promise<string | undefined> {
    if (!this.#isPrompt) return undefined;
    const found = this.#promptly(() => readPart(this.#root, path, part));
    if (found === undefined || stampOf(found.stats) !== part.stamp) return undefined;
    // a secret could begin before the part
    if (!isClean({ path: found.path, stamp: part.stamp }, this.#secrets)) return undefined;
    return decoded(found.bytes);
  }

  async read(path: string): Promise<string | undefined> {
    try {
      const at = await workspacePath(this.#root, path);
      // a link could name a file that the session may not see
      if (at.path !== join(await realpath(this.#root), path)) return undefined;
      const file = await openToRead(this.#root, at);
      try {
        const found = await file.stat({ bigint: true });
        if (found.size > NOTE_BYTES_MAX) return undefined;
        const note = text.decode(await file.readFile());
        const [before, after] = [stampOf(found), stampOf(await file.stat({ bigint: true }))];
        const stamp = before === after ? before : undefined;
        return await maskedNote(note, { path: at.path, stamp }, this.#secrets);
      } finally {
        await file.close();
      }
    } catch (error) {
      if (error instanceof PathRefused || error instanceof TypeError || isGone(error))
        return undefined;
      throw error;
    }
  }
}

/** undefined: it may change again without a change of its times. */
function stampOf({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string | undefined {
  // the file system's clock, not the time of the call, says whether it may change unseen
  const isSettled = Number(ctimeNs / 1_000_000n) < systemClock.wallMs() - UNSETTLED_MS;
  return isSettled ? `${ino} ${size} ${mtimeNs} ${ctimeNs}` : undefined;
}

const isGone = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '');

function unlessGone(error: unknown): undefined {
  if (!isGone(error)) throw error;
}
