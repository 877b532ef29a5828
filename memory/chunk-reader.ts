/**
 * ChunkReader: the chunks of one answer, as their files have them now. Of a file that is as it was
 * indexed, only the lines of the chunk are read.
 */
import { type Chunk, chunksWithin } from './chunks.ts';
import type { MemoryFiles } from './files.ts';
import { keyOf } from './vectors/segment.ts';

/** Where a chunk was when its file was indexed. */
export type ChunkPlace = Omit<Chunk, 'text'> & {
  readonly path: string;
  /** of its text */
  readonly key: string;
  /** of its lines, in the UTF-8 bytes of the file */
  readonly from: number;
  readonly bytes: number;
};

export class ChunkReader {
  readonly #files: MemoryFiles;
  readonly #stampOf: (path: string) => string | undefined;
  readonly #whole = new Map<string, Promise<string | undefined>>();

  /** @param stampOf of the file when it was indexed; undefined: it is read as a whole */
  constructor(files: MemoryFiles, stampOf: (path: string) => string | undefined) {
    this.#files = files;
    this.#stampOf = stampOf;
  }

  /** undefined: the file does not have the chunk at these lines any more */
  async read(place: ChunkPlace): Promise<Chunk | undefined> {
    const { path, startLine, endLine, from, bytes } = place;
    const stamp = this.#stampOf(path);
    const part =
      stamp === undefined ? undefined : await this.#files.readPart?.(path, { stamp, from, bytes });
    const ofPart = part === undefined ? [] : chunksWithin(part, 1, endLine - startLine + 1);
    const text = textWith(place.key, ofPart) ?? (await this.#readWhole(place));
    return text === undefined ? undefined : { startLine, endLine, text };
  }

  /** Each file once. */
  async #readWhole({ path, startLine, endLine, key }: ChunkPlace): Promise<string | undefined> {
    const reading = this.#whole.get(path) ?? this.#files.read(path);
    this.#whole.set(path, reading);
    const text = await reading;
    return text === undefined ? undefined : textWith(key, chunksWithin(text, startLine, endLine));
  }
}

const textWith = (key: string, texts: readonly string[]): string | undefined =>
  texts.find((text) => keyOf(text) === key);
