/**
 * StoredVectors: the vectors of one model, in memory and in segments of a store. What another
 * process has stored is found, too.
 *
 * Invariants:
 *  1. A damaged segment is removed, and its texts are embedded again.
 *  2. A segment is removed only after others with its used vectors are durable. Vectors without a
 *     text are left out, so those of deleted notes go.
 *  3. Segments of a model for which a batch is under way stay, although another model is complete.
 *  4. A text that is erased while its vector is made leaves no stored vector. An erasure first
 *     removes the text and then lists the segments; here a segment is first written, and then the
 *     texts are looked for again. So one of both finds it.
 */
import { Pace } from '../pace.ts';
import { isAwaited, modelsAwaited, readAwaited } from './awaited-texts.ts';
import { keyOf, nameOf, rowsOfSegment, segmentOf } from './segment.ts';
import type { SegmentStore } from './segment-store.ts';
import { rowOf, VectorRows } from './vector-rows.ts';

/** Reading a segment keeps other work of the process waiting. */
export const SEGMENT_ROWS_MAX = 1_000;
/** More segments that are not full are merged. */
const PARTIAL_MAX = 16;
/** More vectors without a text, and more than used ones, begin a merge of all segments. */
const UNUSED_MAX = 1_000;
/** Another process may merge segments while they are read. */
const LOADS_MAX = 3;

/** Of these keys, those of texts that exist now. */
type Existing = (keys: readonly string[]) => Promise<Pick<ReadonlySet<string>, 'has'>>;

export class StoredVectors {
  /** undefined: there is no vector yet, so their length is unknown */
  rows: VectorRows | undefined;
  readonly #store: SegmentStore | undefined;
  /** name of the folder of the model's segments */
  readonly #model: string;
  /** segments whose rows are in memory, with the keys of these */
  readonly #segments = new Map<string, readonly string[]>();
  readonly #unsaved = new Set<string>();

  constructor(identity: string, store: SegmentStore | undefined) {
    this.#store = store;
    this.#model = keyOf(identity);
  }

  has(key: string): boolean {
    return this.rows?.has(key) ?? false;
  }

  get unsaved(): number {
    return this.#unsaved.size;
  }

  /** @returns whether it has the length of the others; otherwise it is not stored */
  put(key: string, vector: Float32Array): boolean {
    this.rows ??= new VectorRows(vector.length);
    if (vector.length !== this.rows.dimensions) return false;
    this.rows.put(key, rowOf(vector));
    this.#unsaved.add(key);
    return true;
  }

  /**
   * Reads the segments that it does not know yet. If all that it knew are gone, they were removed
   * on purpose, and their vectors are forgotten. @throws errors of the store
   */
  async load(pace: Pace): Promise<void> {
    for (let attempt = 1; attempt <= LOADS_MAX; attempt++) {
      const names = await this.#names();
      const known = [...this.#segments.keys()];
      if (known.length > 0 && !known.some((name) => names.includes(name))) this.#forget();
      let isWhole = true;
      for (const name of names) isWhole = (await this.#read(name, pace)) && isWhole;
      // A segment that was removed meanwhile is part of another one.
      if (isWhole) return;
    }
  }

  #forget(): void {
    this.rows = undefined;
    this.#segments.clear();
    this.#unsaved.clear();
  }

  /** Returns whether the segment still exists. One of another length is left alone. */
  async #read(name: string, pace: Pace): Promise<boolean> {
    if (this.#segments.has(name)) return true;
    const bytes = await this.#store!.read(name);
    if (bytes === undefined) return false;
    const segment = await rowsOfSegment(bytes);
    if (segment === undefined) {
      await this.#store!.remove(name);
      return true;
    }
    this.rows ??= new VectorRows(segment.dimensions);
    if (segment.dimensions !== this.rows.dimensions) return true;
    const keys: string[] = [];
    for (const row of segment.rows) {
      this.rows.put(row.key, row);
      keys.push(row.key);
      if (pace.isDue) await pace.pause();
    }
    this.#segments.set(name, keys);
    return true;
  }

  /**
   * Stores the new vectors. @param isUsed whether a text had this vector when the files were read
   * @throws errors of the store and of `existing`: then they are stored at the next call
   */
  async save(isUsed: (key: string) => boolean, existing: Existing): Promise<void> {
    if (!this.#store || !this.rows) return;
    const saved = [...this.#unsaved].filter((key) => this.has(key));
    await this.#write(saved, existing);
    for (const key of saved) this.#unsaved.delete(key);
    if ((await this.#unused(isUsed)) > UNUSED_MAX + this.rows.size / 2)
      return this.#merge([...this.#segments], isUsed, existing);
    const partial = [...this.#segments].filter(([, keys]) => keys.length < SEGMENT_ROWS_MAX);
    if (partial.length > PARTIAL_MAX) await this.#merge(partial, isUsed, existing);
  }

  /**
   * Removes the segments of other models, but not of those for which a batch is under way.
   * @returns whether there are none any more
   */
  async removeOthers(): Promise<boolean> {
    if (!this.#store) return true;
    const names = await this.#store.list();
    const awaited = modelsAwaited(names);
    const others = names.filter((name) => !isAwaited(name) && modelOf(name) !== this.#model);
    const left = others.filter((name) => awaited.has(modelOf(name)));
    for (const name of others) if (!left.includes(name)) await this.#store.remove(name);
    return left.length === 0 && [...awaited].every((model) => model === this.#model);
  }

  /** Keys of the texts that a batch of the model's provider embeds. */
  async awaited(): Promise<ReadonlySet<string>> {
    return this.#store ? readAwaited(this.#store, this.#model) : new Set();
  }

  async #unused(isUsed: (key: string) => boolean): Promise<number> {
    const pace = new Pace();
    let unused = 0;
    for (const key of this.rows!.keys()) {
      if (!isUsed(key)) unused += 1;
      if (pace.isDue) await pace.pause();
    }
    return unused;
  }

  /** Writes the used vectors of these segments into fewer ones. */
  async #merge(
    segments: readonly (readonly [name: string, keys: readonly string[]])[],
    isUsed: (key: string) => boolean,
    existing: Existing,
  ): Promise<void> {
    const keys = [...new Set(segments.flatMap(([, own]) => own))].filter((key) => this.has(key));
    const written = await this.#write(keys.filter(isUsed), existing);
    for (const [name] of segments) {
      if (written.includes(name)) continue;
      await this.#store!.remove(name);
      this.#segments.delete(name);
    }
    for (const key of keys) if (!isUsed(key)) this.rows!.delete(key);
  }

  /** Returns the names of the segments. Vectors whose text is gone are forgotten. */
  async #write(keys: readonly string[], existing: Existing): Promise<readonly string[]> {
    const names: string[] = [];
    const left = [...keys];
    while (left.length > 0) {
      const own = await this.#forgetOthers(left.splice(0, SEGMENT_ROWS_MAX), existing);
      if (own.length === 0) continue;
      const segment = await segmentOf(this.rows!, own);
      const name = `${this.#model}/${nameOf(segment)}`;
      await this.#store!.write(name, segment);
      const found = await this.#forgetOthers(own, existing);
      if (found.length === own.length) {
        this.#segments.set(name, own);
        names.push(name);
      } else {
        await this.#store!.remove(name);
        left.unshift(...found);
      }
    }
    return names;
  }

  /** Returns the keys of texts that exist. */
  async #forgetOthers(keys: readonly string[], existing: Existing): Promise<string[]> {
    const found = await existing(keys);
    for (const key of keys) if (!found.has(key)) this.rows!.delete(key);
    return keys.filter((key) => found.has(key));
  }

  async #names(): Promise<readonly string[]> {
    const all = (await this.#store?.list()) ?? [];
    return all.filter((name) => modelOf(name) === this.#model);
  }
}

/** Of the name of a segment. */
const modelOf = (name: string): string => name.slice(0, name.indexOf('/'));
