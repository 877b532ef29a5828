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

/** By their keys. */
type Texts = ReadonlyMap<string, string>;

export class ChunkReader {
  readonly #files: MemoryFiles;
  readonly #stampOf: (path: string) => string | undefined;
  readonly #whole = new Map<string, Promise<string | undefined>>();
  /** by lines and path: a long line has hundreds of chunks */
  readonly #texts = new Map<string, Promise<Texts>>();

  /** @param stampOf of the file when it was indexed; undefined: it is read as a whole */
  constructor(files: MemoryFiles, stampOf: (path: string) => string | undefined) {
    this.#files = files;
    this.#stampOf = stampOf;
  }

  /** undefined: the file does not have the chunk at these lines any more */
  async read(place: ChunkPlace): Promise<Chunk | undefined> {
    const { path, startLine, endLine, key } = place;
    const lines = `${startLine} ${endLine} ${path}`;
    const reading = this.#texts.get(lines) ?? this.#textsOf(place);
    this.#texts.set(lines, reading);
    const text = (await reading).get(key);
    return text === undefined ? undefined : { startLine, endLine, text };
  }

  /** Of all chunks at the lines of this one. */
  async #textsOf(place: ChunkPlace): Promise<Texts> {
    const { path, startLine, endLine, from, bytes, key } = place;
    const stamp = this.#stampOf(path);
    const part =
      stamp === undefined ? undefined : await this.#files.readPart?.(path, { stamp, from, bytes });
    const texts = textsWithin(part, 1, endLine - startLine + 1);
    return texts.has(key) ? texts : textsWithin(await this.#readWhole(path), startLine, endLine);
  }

  /** Each file once. */
  #readWhole(path: string): Promise<string | undefined> {
    const reading = this.#whole.get(path) ?? this.#files.read(path);
    this.#whole.set(path, reading);
    return reading;
  }
}

const textsWithin = (text: string | undefined, startLine: number, endLine: number): Texts =>
  new Map(
    text === undefined
      ? []
      : chunksWithin(text, startLine, endLine).map((one) => [keyOf(one), one] as const),
  );
