/**
 * What is written down, layer over layer, and who wrote each value.
 *
 * Boundary: keeps values as they were written; checks nothing but the document as such.
 */
import type { Finding } from './checks/check.ts';
import {
  childPointer,
  isWithin,
  leaves,
  parentPointer,
  setAt,
  showPointer,
  valueAt,
} from './pointer.ts';
import type { Positions } from './positions.ts';
import type { Problem } from './checks/problems.ts';
import type { Config } from './schema/schema.ts';
import { isObject } from '../../protocols/is-object.ts';

/** A file as it was read; `raw` is whatever JSON5 it holds. */
export type Document = {
  readonly raw: unknown;
  readonly file?: string;
  readonly positions?: Positions;
};

/** The values written down, and who wrote each. */
export class Layers {
  readonly raw: Record<string, unknown>;
  readonly file: string | undefined;
  readonly #positions: Positions | undefined;
  readonly #setBy = new Map<string, string>();
  /** pointers by which the document has a value, by the pointer of the value here */
  readonly #written = new Map<string, string>();
  readonly #isDocument: boolean;

  constructor({ raw, file, positions }: Document) {
    this.#isDocument = isObject(raw);
    this.raw = isObject(raw) ? structuredClone(raw) : {};
    delete this.raw.$schema;
    this.file = file;
    this.#positions = positions;
  }

  /** Lays one value over the others; undefined and the empty text set nothing. */
  set(pointer: string, value: unknown, source: string): void {
    if (value === undefined || value === '') return;
    setAt(this.raw, pointer, value);
    for (const key of this.#setBy.keys()) if (isWithin(key, pointer)) this.#setBy.delete(key);
    this.#setBy.set(pointer, source);
  }

  /**
   * Moves a value of an object from a key to its place below the object, unless something is there.
   * Problems name the place in the document.
   */
  move(owner: string, key: string, place: string): void {
    const object = valueAt(this.raw, owner);
    if (!isObject(object) || object[key] === undefined) return;
    if (valueAt(object, place) !== undefined) return;
    setAt(object, place, object[key]);
    delete object[key];
    this.#written.set(owner + place, childPointer(owner, key));
  }

  /** The pointer of the value in the document. */
  #inDocument(pointer: string): string {
    return [...this.#written].reduceRight(
      (at, [to, from]) => (isWithin(at, to) ? from + at.slice(to.length) : at),
      pointer,
    );
  }

  /** Where the value at a pointer was written; undefined for a default. */
  sourceOf(pointer: string): string | undefined {
    const position = this.#positions?.at.get(this.#inDocument(pointer));
    const inFile = position && `${this.file}:${position.line}:${position.column}`;
    return this.#setBy.get(pointer) ?? inFile;
  }

  /** What is wrong with the document as such. */
  findings(): Finding[] {
    const findings: Finding[] = (this.#positions?.repeated ?? []).map((pointer) => ({
      pointer,
      message: 'is set a second time; JSON5 would silently ignore the first',
    }));
    for (const pointer of this.#positions?.at.keys() ?? []) {
      // As a key it would change the object's prototype and be gone.
      if (pointer.endsWith('/__proto__'))
        findings.push({ pointer, message: 'cannot be used as a key' });
    }
    if (!this.#isDocument) {
      findings.push({ pointer: '', message: 'must hold one object: { … }' });
    }
    return findings;
  }

  problem({ pointer, ...rest }: Finding): Problem {
    let at = pointer;
    while (at !== '' && this.sourceOf(at) === undefined) at = parentPointer(at);
    const where = this.sourceOf(at) ?? this.file;
    return { path: showPointer(this.#inDocument(pointer)), ...rest, ...(where && { where }) };
  }

  sources(config: Config): Record<string, string> {
    const found: [string, string][] = [];
    for (const [pointer] of leaves(config)) {
      const source = this.sourceOf(pointer);
      if (source) found.push([showPointer(pointer), source]);
    }
    return Object.fromEntries(found);
  }
}
