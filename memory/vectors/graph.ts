/**
 * VectorGraph: the nearest of very many vectors, by an HNSW graph (Malkov and Yashunin, 2016) in a
 * worker thread. Comparing all vectors (`VectorRows`) is exact and fast enough for most agents; the
 * graph is for those who have installed hnswlib-node.
 *
 * Invariants:
 *  1. The graph only proposes keys. Whether a key exists, and its score, is what the rows say. So a
 *     stale or damaged graph may miss a vector, but its answer has no deleted one and no wrong
 *     score.
 *  2. It answers only when it has every vector of the rows, after a sample of searches has shown
 *     that it misses few. Otherwise it does not answer, and the caller compares all vectors.
 *  3. It is built and searched outside of the event loop. After an error it is not used again.
 *
 * The graph is never stored, because hnswlib-node does not detect a damaged file.
 */
import { unlessAborted } from '../../protocols/time-limit.ts';
import type { Scored } from '../best.ts';
import { Pace } from '../pace.ts';
import type { VectorRows } from './vector-rows.ts';

/** A graph of vectors with numbers; its calls are answered in order. */
export type GraphThread = {
  /** Removes known numbers, and adds new ones with their vectors, one after the other. */
  change(
    removed: readonly number[],
    added: readonly number[],
    vectors: Float32Array<ArrayBuffer>,
  ): Promise<void>;
  /** Numbers of vectors with a great inner product with the query; it may miss some. */
  nearest(query: Float32Array, count: number): Promise<readonly number[]>;
  close(): void;
};

/** undefined: it is not installed. @param room so many vectors are expected */
export type OpenGraph = (dimensions: number, room: number) => GraphThread | undefined;

export type GraphState =
  | { readonly status: 'building' | 'ready' }
  | { readonly status: 'off'; readonly why: string };

const ROWS_AT_ONCE = 128;
/** Proposed beside the wanted ones, because some are refused or not among the best. */
const SPARE = 10;
const ANSWER_MS = 10_000;
/** Removed vectors stay in the graph and make it slower: more of them, and it is built again. */
const REMOVED_MAX = 1_000;
/** Searches of the sample, for the vectors nearest to one of the rows. */
const SAMPLE = 50;
const SAMPLE_NEAREST = 10;
/** Share of the nearest vectors that the sample must find. */
const RECALL_MIN = 0.97;

export class VectorGraph {
  readonly rows: VectorRows;
  readonly #open: OpenGraph;
  #thread: GraphThread | undefined;
  #state: GraphState = { status: 'building' };
  #isFollowing = false;
  /** keys whose vectors differ from those of the graph */
  #changed = new Set<string>();
  #numbers = new Map<string, number>();
  #keys = new Map<number, string>();
  #numberNext = 0;

  /** Builds the graph of these rows, and follows their changes. */
  constructor(rows: VectorRows, open: OpenGraph) {
    this.rows = rows;
    this.#open = open;
    rows.onChange = (key) => {
      this.#changed.add(key);
      void this.#follow();
    };
    this.#begin();
    void this.#follow();
  }

  get state(): GraphState {
    return this.#state;
  }

  /**
   * The vectors with the greatest cosine to the query, best first. undefined: compare all vectors,
   * because the graph is not complete or proposes too few that are allowed.
   */
  async nearest(
    query: Float32Array,
    count: number,
    allows: (key: string) => boolean,
  ): Promise<readonly Scored<string>[] | undefined> {
    if (!this.#isCurrent || !this.#thread) return undefined;
    try {
      const best = await this.#proposed(this.#thread, query, count, allows);
      return best.length === count && this.#isCurrent ? best : undefined;
    } catch (error) {
      this.#end(String(error));
      return undefined;
    }
  }

  /** From now on it does not answer. */
  close(): void {
    this.#end('it is closed');
  }

  get #isCurrent(): boolean {
    return this.#state.status === 'ready' && !this.#isFollowing;
  }

  async #proposed(
    thread: GraphThread,
    query: Float32Array,
    count: number,
    allows: (key: string) => boolean,
  ): Promise<readonly Scored<string>[]> {
    const numbers = await answerOf(thread.nearest(query, count + SPARE));
    const keys = new Set<string>();
    for (const number of numbers) {
      const key = this.#keys.get(number);
      if (key !== undefined && allows(key)) keys.add(key);
    }
    return this.rows.bestOf(keys, query, count);
  }

  // ---- the graph follows the rows

  #begin(): void {
    this.#thread?.close();
    this.#changed = new Set(this.rows.keys());
    this.#numbers = new Map();
    this.#keys = new Map();
    this.#numberNext = 0;
    this.#thread = this.#open(this.rows.dimensions, this.rows.size);
    if (this.#thread) this.#state = { status: 'building' };
    else this.#end('hnswlib-node is not installed');
  }

  #end(why: string): void {
    if (this.#state.status === 'off') return;
    this.#thread?.close();
    this.#thread = undefined;
    this.#state = { status: 'off', why };
    this.rows.onChange = undefined;
    for (const all of [this.#changed, this.#numbers, this.#keys]) all.clear();
  }

  async #follow(): Promise<void> {
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    try {
      while (this.#thread && this.#changed.size > 0) await this.#followSome(this.#thread);
    } catch (error) {
      this.#end(String(error));
    } finally {
      this.#isFollowing = false;
    }
  }

  async #followSome(thread: GraphThread): Promise<void> {
    await this.#change(thread);
    const removed = this.#numberNext - this.#keys.size;
    if (removed > REMOVED_MAX + this.rows.size / 2) this.#begin();
    if (this.#changed.size > 0 || this.#state.status !== 'building') return;
    const recall = await this.#recall(thread);
    if (recall < RECALL_MIN)
      this.#end(`it finds ${Math.floor(recall * 100)} % of the nearest vectors`);
    else if (this.#thread) this.#state = { status: 'ready' };
  }

  async #change(thread: GraphThread): Promise<void> {
    const keys: string[] = [];
    for (const key of this.#changed) {
      if (keys.length === ROWS_AT_ONCE) break;
      keys.push(key);
      this.#changed.delete(key);
    }
    const removed = keys.flatMap((key) => this.#numbers.get(key) ?? []);
    for (const number of removed) {
      this.#numbers.delete(this.#keys.get(number)!);
      this.#keys.delete(number);
    }
    const known = keys.filter((key) => this.rows.has(key));
    const vectors = new Float32Array(known.length * this.rows.dimensions);
    const added = known.map((key, at) => {
      this.rows.copy(key, vectors, at * this.rows.dimensions);
      const number = this.#numberNext++;
      this.#numbers.set(key, number);
      this.#keys.set(number, key);
      return number;
    });
    await answerOf(thread.change(removed, added, vectors));
  }

  /** The share of the nearest vectors of a sample that the graph finds. */
  async #recall(thread: GraphThread): Promise<number> {
    const { rows } = this;
    const pace = new Pace();
    const all = () => true;
    const step = Math.max(1, Math.floor(rows.size / SAMPLE));
    const sample = rows.keys().filter((_, at) => at % step === 0);
    let [wanted, found] = [0, 0];
    for (const key of sample) {
      const query = new Float32Array(rows.dimensions);
      if (!rows.has(key)) continue;
      rows.copy(key, query, 0);
      const exact = await rows.nearest(query, SAMPLE_NEAREST, all, pace);
      const proposed = await this.#proposed(thread, query, SAMPLE_NEAREST, all);
      const least = exact.at(-1)?.score ?? 0;
      wanted += exact.length;
      found += proposed.filter(({ score }) => score >= least).length;
    }
    return wanted === 0 ? 1 : found / wanted;
  }
}

const answerOf = <Result>(answer: Promise<Result>): Promise<Result> =>
  unlessAborted(answer, AbortSignal.timeout(ANSWER_MS));
