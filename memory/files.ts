/**
 * MemoryFiles: the notes of an agent, as the index reads them. The files are the truth: people and
 * agents change them at any time, and the index follows.
 */

/** A file, before it is read. */
export type NoteFile = {
  /** relative to the workspace, with `/`: `MEMORY.md` or below `memory/` */
  readonly path: string;
  /** differs after every change of the file; undefined: it may have changed, so it is read again */
  readonly stamp: string | undefined;
  readonly bytes: number;
};

/** Whole lines of a file with this stamp, in bytes of UTF-8. */
export type FilePart = {
  readonly stamp: string;
  readonly from: number;
  readonly bytes: number;
};

export interface MemoryFiles {
  /** All notes: plain files, no links. */
  list(): Promise<readonly NoteFile[]>;
  /** undefined: it is gone, is no longer a plain file, or is not UTF-8 */
  read(path: string): Promise<string | undefined>;
  /**
   * The same text as `read` has there. undefined: the file has another stamp, or nothing is known
   * about its parts, so the whole file is to be read. Absent: nothing is ever known.
   */
  readPart?(path: string, part: FilePart): Promise<string | undefined>;
}

/** The file that only the main session of an agent sees. */
export const MAIN_MEMORY = 'MEMORY.md';
export const MEMORY_FOLDER = 'memory';

/** What is indexed of one agent. What is beyond is named in the answer of a search. */
export const FILES_MAX = 10_000;
export const FILE_BYTES_MAX = 1_048_576;
export const CHUNKS_MAX = 100_000;
