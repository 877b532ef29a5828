/**
 * VectorSearch: finds chunks by their meaning. It has a vector of each chunk's text as soon as the
 * model has embedded it; identical texts share one.
 *
 * Invariants:
 *  1. It ranks only when every chunk has a vector, or was refused by the model. Otherwise it says
 *     why not, and the next call continues.
 *  2. After a failure the model is left alone for a while.
 *  3. Texts that a batch of the provider embeds are left to it.
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { Usage } from '../../protocols/models/model-usage.ts';
import type { Scored } from '../best.ts';
import { EMBEDDED_AT_ONCE, type Embedder } from '../embedder.ts';
import { KeyMap } from '../key-map.ts';
import { Pace } from '../pace.ts';
import { type GraphState, type OpenGraph, VectorGraph } from './graph.ts';
import { EmbeddingRequests, type RequestLimits } from './requests.ts';
import type { SegmentStore } from './segment-store.ts';
import { SEGMENT_ROWS_MAX, StoredVectors } from './stored-vectors.ts';
import type { VectorRows } from './vector-rows.ts';

export type Meaning =
  | { readonly status: 'ready'; readonly query: Float32Array }
  /** `why`: for people; absent when nothing was asked */
  | { readonly status: 'not_ready'; readonly why?: string };

export type CompleteOptions = {
  /** Texts of chunks by key, as the files have them now; those that changed are left out. */
  texts(keys: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** No request begins after this time. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
  onProgress?(missing: number): void;
};

export type VectorSearchOptions = {
  /** without it, vectors end with the process */
  readonly segments?: SegmentStore | undefined;
  /**
   * without it, all vectors are compared; for processes that live long, because it is not stored
   */
  readonly graph?: OpenGraph | undefined;
  /** fewer vectors have no graph; default GRAPH_ROWS_MIN */
  readonly graphRowsMin?: number | undefined;
};

export const GRAPH_ROWS_MIN = 50_000;

const REQUESTS_AT_ONCE = 2;
/** New vectors are stored at this interval, because a crash loses the others. */
const SAVE_EVERY_MS = 1_000;

export class VectorSearch {
  readonly #requests: EmbeddingRequests;
  readonly #vectors: StoredVectors;
  /** texts of chunks without a vector, in the order of their files, which are then read once */
  readonly #missing = new Set<string>();
  readonly #refused = new Set<string>();
  /** texts that a batch embeds */
  #awaited: ReadonlySet<string> = new Set();
  readonly #used = new KeyMap<true>();
  /** whether segments of other models are removed */
  #isOnly = false;
  #notStored: string | undefined;
  #savedAt = 0;
  #saving = Promise.resolve();
  #openGraph: OpenGraph | undefined;
  readonly #graphRowsMin: number;
  #graph: VectorGraph | undefined;

  readonly #keys: () => Iterable<string>;

  /** @param keys those of all chunks, also of ones without a text, in the order of their files */
  constructor(
    embedder: Embedder,
    keys: () => Iterable<string>,
    { segments, graph, graphRowsMin }: VectorSearchOptions = {},
  ) {
    this.#keys = keys;
    this.#requests = new EmbeddingRequests(embedder);
    this.#vectors = new StoredVectors(embedder.identity, segments);
    this.#openGraph = graph;
    this.#graphRowsMin = graphRowsMin ?? GRAPH_ROWS_MIN;
  }

  get missing(): number {
    return this.#missing.size;
  }

  /** texts that the model refused */
  get refused(): number {
    return this.#refused.size;
  }

  /** Chunks with this text exist now. */
  add(key: string): void {
    this.#used.set(key, true);
    if (!this.#vectors.has(key) && !this.#refused.has(key)) this.#missing.add(key);
  }

  /** No chunk has this text any more. */
  remove(key: string): void {
    this.#used.delete(key);
    this.#missing.delete(key);
    this.#refused.delete(key);
  }

  /** Why new vectors are not stored, so that they end with the process. */
  get notStored(): string | undefined {
    return this.#notStored;
  }

  /** What was used since the last call. */
  takeUsage(): Usage {
    return this.#requests.takeUsage();
  }

  /** Embeds the question, and the chunks without a vector. @throws the reason of the signal */
  async prepare(question: string, options: CompleteOptions): Promise<Meaning> {
    const { signal } = options;
    const limits = { until: performance.now() + options.waitMs, signal };
    try {
      const asked = question === '' ? undefined : this.#requests.question(question, limits);
      const completed = this.#complete(options, limits);
      await Promise.allSettled([asked, completed]);
      await completed;
      const query = await asked?.catch((error: unknown) => {
        // another question may be answered
        if (isRefusal(error)) return undefined;
        throw error;
      });
      if (query === undefined && question !== '')
        return notReady('the model refuses this question');
      if (query !== undefined) this.#checkLength(question, query);
      if (this.#missing.size > 0) return notReady(this.#whyMissing());
      return query === undefined ? { status: 'not_ready' } : { status: 'ready', query };
    } catch (error) {
      signal.throwIfAborted();
      const why = messageOf(error);
      this.#requests.pauseAfter(error, why);
      return notReady(why);
    }
  }

  /**
   * Keys of the chunks without a vector, also of those that a batch embeds. @throws errors of the
   * store
   */
  async withoutVector(): Promise<readonly string[]> {
    await this.#load();
    return [...this.#missing];
  }

  /** Cosines, best first. @param allows keys that it refuses are not ranked */
  async nearest(
    query: Float32Array,
    count: number,
    allows: (key: string) => boolean,
  ): Promise<readonly Scored<string>[]> {
    const isRanked = (key: string) => this.#used.has(key) && allows(key);
    const { rows } = this.#vectors;
    if (rows === undefined) return [];
    const proposed = await this.#graphOf(rows)?.nearest(query, count, isRanked);
    return proposed ?? rows.nearest(query, count, isRanked, new Pace());
  }

  /** undefined: none was built, because there are few vectors or none was asked for */
  get graph(): GraphState | undefined {
    return this.#graph?.state;
  }

  /** Ends the graph; it is not built again. */
  close(): void {
    this.#openGraph = undefined;
    this.#graph?.close();
  }

  #graphOf(rows: VectorRows): VectorGraph | undefined {
    if (this.#graph && this.#graph.rows !== rows) {
      this.#graph.close();
      this.#graph = undefined;
    }
    if (this.#openGraph && rows.size >= this.#graphRowsMin)
      this.#graph ??= new VectorGraph(rows, this.#openGraph);
    return this.#graph;
  }

  #whyMissing(): string {
    const awaited = [...this.#missing].filter((key) => this.#awaited.has(key)).length;
    return awaited > 0
      ? `${awaited} chunks wait for a batch of the model's provider (troupe memory status)`
      : `${this.#missing.size} chunks have no vector yet`;
  }

  /** The vectors of chunks may have been read after the question was embedded. */
  #checkLength(question: string, { length }: Float32Array): void {
    const { dimensions = length } = this.#vectors.rows ?? {};
    if (length === dimensions) return;
    this.#requests.forgetQuestion(question);
    throw otherLength(length, dimensions);
  }

  // ---- texts that have no vector yet

  async #complete(options: CompleteOptions, limits: RequestLimits): Promise<void> {
    if (this.#missing.size > 0) await this.#load();
    const waiting = [...this.#missing].filter((key) => !this.#awaited.has(key));
    const embed = async () => {
      while (waiting.length > 0 && performance.now() < limits.until) {
        const texts = await options.texts(waiting.splice(0, EMBEDDED_AT_ONCE));
        await this.#embedChunks([...texts], limits).catch((error: unknown) => {
          waiting.length = 0;
          throw error;
        });
        options.onProgress?.(this.#missing.size);
        if (this.#isSavingDue()) await this.#save(options);
      }
    };
    try {
      const requests = Array.from({ length: REQUESTS_AT_ONCE }, embed);
      await Promise.allSettled(requests);
      await Promise.all(requests);
    } finally {
      if (this.#vectors.unsaved > 0) await this.#save(options);
    }
    const isComplete = this.#missing.size === 0 && this.#used.size > this.#refused.size;
    if (!isComplete || this.#isOnly) return;
    this.#isOnly = await this.#vectors.removeOthers();
  }

  async #load(): Promise<void> {
    // First the list, which is removed after the vectors of the batch are stored.
    this.#awaited = await this.#vectors.awaited();
    const pace = new Pace();
    await this.#vectors.load(pace);
    for (const key of this.#keys()) {
      if (!this.#used.has(key)) continue;
      if (this.#vectors.has(key)) this.#missing.delete(key);
      else if (!this.#refused.has(key)) this.#missing.add(key);
      if (pace.isDue) await pace.pause();
    }
  }

  #isSavingDue(): boolean {
    const { unsaved } = this.#vectors;
    const isLate = performance.now() - this.#savedAt > SAVE_EVERY_MS;
    return unsaved >= SEGMENT_ROWS_MAX || (unsaved > 0 && isLate);
  }

  /** One at a time. */
  #save({ texts }: Pick<CompleteOptions, 'texts'>): Promise<void> {
    const existing = async (keys: readonly string[]) => {
      const found = await texts(keys);
      for (const key of keys) if (!found.has(key) && this.#used.has(key)) this.#missing.add(key);
      return found;
    };
    this.#saving = this.#saving.then(() => this.#saveNow(existing));
    return this.#saving;
  }

  /** A failure loses nothing as long as the process lives: the next call stores them. */
  async #saveNow(existing: CompleteOptions['texts']): Promise<void> {
    this.#savedAt = performance.now();
    try {
      await this.#vectors.save((key) => this.#used.has(key), existing);
      this.#notStored = undefined;
    } catch (error) {
      this.#notStored = messageOf(error);
    }
  }

  /**
   * A request that the model refuses is repeated in halves, until the refused texts are known. A
   * model that refuses everything has another problem.
   */
  async #embedChunks(
    chunks: readonly (readonly [key: string, text: string])[],
    limits: RequestLimits,
  ): Promise<void> {
    if (chunks.length === 0 || performance.now() >= limits.until) return;
    const texts = chunks.map(([, text]) => text);
    const vectors = await this.#requests
      .embed(texts, 'document', limits)
      .catch((error: unknown) => {
        const hasWorked = this.#requests.hasAnswered || this.#vectors.rows !== undefined;
        if (isRefusal(error) && (texts.length > 1 || hasWorked)) return undefined;
        throw error;
      });
    if (vectors) return this.#put(chunks, vectors);
    if (chunks.length === 1) return this.#refuse(chunks[0]![0]);
    const half = Math.ceil(chunks.length / 2);
    await this.#embedChunks(chunks.slice(0, half), limits);
    await this.#embedChunks(chunks.slice(half), limits);
  }

  #put(chunks: readonly (readonly [string, string])[], vectors: readonly Float32Array[]): void {
    for (const [at, [key]] of chunks.entries()) {
      if (!this.#vectors.put(key, vectors[at]!))
        throw otherLength(vectors[at]!.length, this.#vectors.rows!.dimensions);
      this.#missing.delete(key);
    }
  }

  #refuse(key: string): void {
    if (this.#missing.delete(key)) this.#refused.add(key);
  }
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

const notReady = (why: string): Meaning => ({ status: 'not_ready', why });

const isRefusal = (error: unknown): boolean =>
  error instanceof TroupeError && ['INVALID_ARGUMENT', 'PAYLOAD_TOO_LARGE'].includes(error.code);

const otherLength = (length: number, before: number): TroupeError =>
  new TroupeError(
    'CONFLICT',
    `the model answers vectors of ${length} components, and before of ${before}; ` +
      'run "troupe memory reset"',
  );
