/**
 * MemoryIndex: finds notes of one agent by their words, and with an embedder also by their meaning.
 *
 * Invariants:
 *  1. A search compares the files with the index first, so it knows every change that was made
 *     before it. What it cannot know is named in the answer.
 *  2. What it answers is read from the file at that moment, and is the text that was ranked; the
 *     index has no text. So no answer is stale.
 *  3. Work gives way to other work of the process every few milliseconds.
 *  4. Without a vector of every chunk it ranks by words alone, and says so.
 *
 * Boundary: it lives in memory and is built again from the files when the process starts; vectors
 * are stored. One call runs at a time, the others wait.
 */
import { defined } from '../protocols/defined.ts';
import { NO_USAGE, type Usage } from '../protocols/models/model-usage.ts';
import type { NoteHit, NotesState } from '../protocols/memory.ts';
import { unlessAborted } from '../protocols/time-limit.ts';
import { type ChunkPlace, ChunkReader } from './chunk-reader.ts';
import { type Chunk, chunksOf, LineBytes } from './chunks.ts';
import type { Embedder } from './embedder.ts';
import { CHUNKS_MAX, FILE_BYTES_MAX, FILES_MAX, type MemoryFiles, type NoteFile } from './files.ts';
import { excerptOf } from './excerpt.ts';
import { aged, type Candidate, diverse, fused, type Weights } from './fusion.ts';
import { Pace } from './pace.ts';
import { SameTexts } from './same-texts.ts';
import { TextIndex } from './text/text-index.ts';
import { tokensOf } from './tokens.ts';
import { keyOf } from './vectors/segment.ts';
import type { GraphState } from './vectors/graph.ts';
import { type Meaning, VectorSearch, type VectorSearchOptions } from './vectors/vector-search.ts';

export type MemoryIndexOptions = VectorSearchOptions & {
  /** without it, notes are found by their words */
  readonly embedder?: Embedder | undefined;
};

/** How candidates are ranked. */
export type Ranking = {
  /** of both lists; default 0.5 each. Without an embedder they mean nothing */
  readonly weights?: Weights | undefined;
  /** notes of a day lose half of their score in so many days; default: never */
  readonly halfLifeDays?: number | undefined;
  /** 0 to 1, see `diverse`; default: by score alone */
  readonly lambda?: number | undefined;
};

export type Question = Ranking & {
  readonly query: string;
  /** at least 1 */
  readonly maxResults: number;
  /** 0 to 1; hits whose scores by words and by meaning are both lower are left out */
  readonly minScore: number;
  /** the present time, milliseconds since the epoch; for `halfLifeDays` */
  readonly now?: number;
  /** No request to the embedder begins after this time. Default 15,000 */
  readonly embedMs?: number;
  /** the number of chunks without a vector, after each request */
  readonly onProgress?: (missing: number) => void;
  /** Files that it refuses are as if they did not exist. */
  readonly allows?: (path: string) => boolean;
  readonly signal?: AbortSignal;
};

export type Answer = Omit<NotesState, 'model'> & {
  /** best first; no two with the same lines. By words alone, a score is that of `TextIndex.best` */
  readonly hits: readonly NoteHit[];
  /** texts that the model refused; they are found by their words */
  readonly refused: number;
  /** why new vectors are not stored, so that they must be paid again after a restart */
  readonly notStored?: string;
  /** of the embedder since the last answer */
  readonly usage: Usage;
};

export type TextsWithoutVector = {
  /** by the keys of their vectors */
  readonly texts: ReadonlyMap<string, string>;
  /** how many there are in all */
  readonly missing: number;
};

type IndexedFile = Pick<NoteFile, 'stamp'> & { readonly chunks: readonly number[] };
type Left = Map<string, string>;

/** Files may change again between the comparison and the answer. */
const ATTEMPTS_MAX = 3;
/** Hits with the same lines as a better one are left out, so more than asked for are ranked. */
const CANDIDATES = 4;
/** Of each list, for the fusion. */
const CANDIDATES_MIN = 40;
const EMBED_MS = 15_000;
/** Different words of a question that are looked for; each takes time. */
const QUESTION_WORDS_MAX = 256;
const EQUAL: Weights = { text: 0.5, vector: 0.5 };

export class MemoryIndex {
  readonly #vectors: VectorSearch | undefined;
  #text = new TextIndex();
  readonly #files = new Map<string, IndexedFile>();
  /** by the number of the chunk: no map, which doubles in one step */
  #chunks: (ChunkPlace | undefined)[] = [];
  #size = 0;
  /** of the chunks that have or need a vector */
  readonly #sameTexts = new SameTexts();
  #last: Promise<unknown> = Promise.resolve();

  constructor({ embedder, ...options }: MemoryIndexOptions = {}) {
    this.#vectors = embedder && new VectorSearch(embedder, () => this.#keys(), options);
  }

  /** chunks that it has at present */
  get size(): number {
    return this.#size;
  }

  /** of its vectors, if it has begun one */
  get graph(): GraphState | undefined {
    return this.#vectors?.graph;
  }

  /** Ends the thread of a graph. Searches still work. */
  close(): void {
    this.#vectors?.close();
  }

  /** @throws the errors of `files`, and the reason of the signal */
  search(files: MemoryFiles, question: Question): Promise<Answer> {
    const mine = this.#last.then(() => this.#search(files, question));
    this.#last = mine.catch(() => {});
    return question.signal ? unlessAborted(mine, question.signal) : mine;
  }

  /**
   * The texts without a vector, as they are sent to the embedder. They wait for other calls.
   * @param textsMax further ones are only counted
   * @throws as `search`, and errors of the store
   */
  withoutVector(files: MemoryFiles, textsMax: number): Promise<TextsWithoutVector> {
    const mine = this.#last.then(async () => {
      await this.#follow(files);
      const keys = (await this.#vectors?.withoutVector()) ?? [];
      const texts = await this.#embeddedTexts(keys.slice(0, textsMax), files);
      return { texts, missing: keys.length };
    });
    this.#last = mine.catch(() => {});
    return mine;
  }

  async #search(files: MemoryFiles, question: Question): Promise<Answer> {
    question.signal?.throwIfAborted();
    for (let attempt = 1; ; attempt++) {
      const left = await this.#follow(files, question.signal);
      const meaning = await this.#meaning(files, question);
      const { hits, changed } = await this.#hits(files, question, meaning);
      for (const path of changed) await this.#forget(path, new Pace());
      if (changed.size > 0 && attempt < ATTEMPTS_MAX) continue;
      for (const path of changed) left.set(path, 'it changes while it is searched');
      const { allows = () => true } = question;
      return {
        hits,
        left: [...left].filter(([path]) => allows(path)).map(([path, why]) => ({ path, why })),
        files: this.#files.size,
        chunks: this.#size,
        mode: meaning?.status === 'ready' ? 'hybrid' : 'text',
        ...(meaning?.status === 'not_ready' && defined({ whyText: meaning.why })),
        missing: this.#vectors?.missing ?? 0,
        refused: this.#vectors?.refused ?? 0,
        ...defined({ notStored: this.#vectors?.notStored }),
        usage: this.#vectors?.takeUsage() ?? NO_USAGE,
      };
    }
  }

  // ---- the index follows the files

  async #follow(files: MemoryFiles, signal?: AbortSignal): Promise<Left> {
    const pace = new Pace();
    if (this.#text.isSparse) await this.#clear(pace);
    const left: Left = new Map();
    const listed = await files.list();
    const found = new Set(listed.map(({ path }) => path));
    for (const path of this.#files.keys()) if (!found.has(path)) await this.#forget(path, pace);
    for (const [at, file] of listed.entries()) {
      signal?.throwIfAborted();
      if (pace.isDue) await pace.pause();
      if (at < FILES_MAX && this.#has(file)) continue;
      const why = at < FILES_MAX ? await this.#update(file, files, pace) : tooMany;
      if (why !== undefined) left.set(file.path, why);
    }
    return left;
  }

  #has({ path, stamp }: NoteFile): boolean {
    return stamp !== undefined && this.#files.get(path)?.stamp === stamp;
  }

  /** Returns why the file is not in the index. */
  async #update(
    { path, stamp, bytes }: NoteFile,
    files: MemoryFiles,
    pace: Pace,
  ): Promise<string | undefined> {
    await this.#forget(path, pace);
    if (bytes > FILE_BYTES_MAX)
      return `it has ${bytes} bytes, at most ${FILE_BYTES_MAX} are indexed`;
    const text = await files.read(path);
    if (text === undefined) return 'it cannot be read as UTF-8 text';
    const added: number[] = [];
    const [starts, ends] = [new LineBytes(text), new LineBytes(text)];
    for (const chunk of chunksOf(text)) {
      if (this.#size >= CHUNKS_MAX) {
        for (const id of added) {
          this.#remove(id);
          await pace.pause();
        }
        return tooMany;
      }
      const from = starts.startOf(chunk.startLine);
      const end = ends.startOf(chunk.endLine + 1);
      added.push(this.#add(chunk, { path, from, bytes: end - from }));
      await pace.pause();
    }
    this.#files.set(path, { stamp, chunks: added });
    return undefined;
  }

  #add(
    { text, startLine, endLine }: Chunk,
    { path, from, bytes }: Pick<ChunkPlace, 'path' | 'from' | 'bytes'>,
  ): number {
    const id = this.#text.add(withoutComments(text));
    const key = keyOf(text);
    // by name: an object that others are spread into takes 240 bytes more
    this.#chunks[id] = { path, startLine, endLine, from, bytes, key };
    this.#size += 1;
    if (this.#vectors && embeddedOf(text) !== '') {
      this.#sameTexts.add(key, id);
      this.#vectors.add(key);
    }
    return id;
  }

  /** Until it is done, the file is as if it had never been read. */
  async #forget(path: string, pace: Pace): Promise<void> {
    const { chunks = [] } = this.#files.get(path) ?? {};
    this.#files.delete(path);
    for (const id of chunks) {
      this.#remove(id);
      await pace.pause();
    }
  }

  #remove(id: number): void {
    const { key } = this.#chunks[id]!;
    this.#text.remove(id);
    this.#chunks[id] = undefined;
    this.#size -= 1;
    if (this.#sameTexts.remove(key, id)) this.#vectors!.remove(key);
  }

  *#keys(): Generator<string, undefined> {
    for (const chunk of this.#chunks) if (chunk) yield chunk.key;
  }

  async #clear(pace: Pace): Promise<void> {
    for (const path of this.#files.keys()) await this.#forget(path, pace);
    this.#text = new TextIndex();
    this.#chunks = [];
  }

  // ---- answers

  /** undefined without an embedder */
  async #meaning(files: MemoryFiles, question: Question): Promise<Meaning | undefined> {
    const { query, embedMs = EMBED_MS, signal = NEVER, onProgress } = question;
    return this.#vectors?.prepare(query.trim(), {
      waitMs: embedMs,
      signal,
      texts: (keys) => this.#embeddedTexts(keys, files),
      ...(onProgress && { onProgress }),
    });
  }

  /** Each file is cut once. */
  async #embeddedTexts(keys: readonly string[], files: MemoryFiles) {
    const texts = new Map<string, string>();
    const wanted = new Set(keys);
    const pathOf = (key: string) => {
      const [id] = this.#sameTexts.idsOf(key);
      return id === undefined ? undefined : this.#chunks[id]!.path;
    };
    const pace = new Pace();
    for (const path of new Set(keys.map(pathOf))) {
      const text = path === undefined ? undefined : await files.read(path);
      for (const chunk of text === undefined ? [] : chunksOf(text)) {
        const key = keyOf(chunk.text);
        if (wanted.has(key)) texts.set(key, embeddedOf(chunk.text));
        await pace.pause();
      }
    }
    return texts;
  }

  async #candidates(
    words: readonly string[],
    { maxResults, minScore, allows, weights = EQUAL, halfLifeDays, now = 0 }: Question,
    meaning: Meaning | undefined,
  ): Promise<readonly Candidate[]> {
    const pathOf = (id: number) => this.#chunks[id]!.path;
    const isAllowed = (id: number) => allows?.(pathOf(id)) ?? true;
    const count = Math.max(maxResults * CANDIDATES, CANDIDATES_MIN);
    const among = { allows: isAllowed, isBefore: this.#isBefore };
    const byWords = await this.#text.best(words, count, among, new Pace());
    const ranked =
      meaning?.status === 'ready'
        ? fused(
            byWords,
            await this.#byMeaning(meaning.query, count, isAllowed),
            weights,
            this.#isBefore,
          )
        : byWords.map((one): Candidate => ({ ...one, textScore: one.score }));
    const good = ranked.filter(
      ({ textScore = 0, vectorScore = 0 }) => Math.max(textScore, vectorScore) >= minScore,
    );
    if (halfLifeDays === undefined) return good;
    const older = good.map((one) => ({
      ...one,
      score: aged(one.score, pathOf(one.id), now, halfLifeDays),
    }));
    return older.sort((a, b) => b.score - a.score);
  }

  /** The order of equal hits is that of their places, whatever the index has seen before. */
  readonly #isBefore = (id: number, other: number): boolean => {
    const [one, two] = [this.#chunks[id]!, this.#chunks[other]!];
    if (one.path !== two.path) return one.path < two.path;
    if (one.startLine !== two.startLine) return one.startLine < two.startLine;
    return one.key < two.key;
  };

  async #byMeaning(query: Float32Array, count: number, isAllowed: (id: number) => boolean) {
    const allowed = (key: string) => this.#sameTexts.idsOf(key).filter(isAllowed);
    const nearest = await this.#vectors!.nearest(query, count, (key) => allowed(key).length > 0);
    return nearest.flatMap(({ id: key, score }) => allowed(key).map((id) => ({ id, score })));
  }

  /** `changed`: files that no longer have what the index ranked. */
  async #hits(files: MemoryFiles, question: Question, meaning: Meaning | undefined) {
    const { maxResults, lambda } = question;
    const words = [...new Set(tokensOf(question.query))].slice(0, QUESTION_WORDS_MAX);
    const candidates = await this.#candidates(words, question, meaning);
    const first = lambda === undefined ? maxResults : maxResults * CANDIDATES;
    const reader = new ChunkReader(files, (path) => this.#files.get(path)?.stamp);
    const chunkOf = ({ id }: Candidate) => reader.read(this.#chunks[id]!);
    // the chunks of most answers, read at once
    const chunks = await Promise.all(candidates.slice(0, first).map(chunkOf));
    const changed = new Set<string>();
    const found: NoteHit[] = [];
    for (const [at, candidate] of candidates.entries()) {
      if (found.length === first) break;
      const place = this.#chunks[candidate.id]!;
      const { path } = place;
      if (found.some((one) => one.path === path && overlap(one, place))) continue;
      const chunk = at < first ? chunks[at] : await chunkOf(candidate);
      if (chunk) found.push({ ...scoresOf(candidate), path, ...excerptOf(chunk, words) });
      else changed.add(path);
    }
    const wordsOf = ({ excerpt }: NoteHit) => new Set(tokensOf(excerpt));
    const hits = lambda === undefined ? found : diverse(found, lambda, maxResults, wordsOf);
    return { hits, changed };
  }
}

const NEVER = new AbortController().signal;

const scoresOf = ({ id: _, ...scores }: Candidate) => scores;

const tooMany = `only ${FILES_MAX} files and ${CHUNKS_MAX} chunks are indexed`;

/** Marks of the daily log and the like are no words of a note. */
const withoutComments = (text: string): string => text.replaceAll(/<!--[^]*?-->/g, ' ');

/** What a vector is made of; '' has none. */
const embeddedOf = (text: string): string => withoutComments(text).trim();

type Lines = { readonly startLine: number; readonly endLine: number };

const overlap = (one: Lines, other: Lines): boolean =>
  one.startLine <= other.endLine && other.startLine <= one.endLine;
