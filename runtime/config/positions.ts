/**
 * The positions of all keys and list elements in a JSON5 document, so that a problem can name its
 * line. The package json5 reports positions of syntax errors only; this walks a text that it has
 * accepted.
 *
 * Boundary: text in, positions out. The text must be valid JSON5.
 */
import JSON5 from 'json5';
import { childPointer } from './pointer.ts';

/** Both count from 1. */
export type Position = { readonly line: number; readonly column: number };

export type Positions = {
  /** by JSON Pointer; a member's position is that of its key */
  readonly at: ReadonlyMap<string, Position>;
  /** duplicate members of one object: JSON5 silently uses the last one */
  readonly repeated: readonly string[];
};

/** Positions of every member and element of a valid JSON5 text. */
export function positionsOf(text: string): Positions {
  const scanner = new Scanner(text);
  scanner.value('');
  return { at: scanner.at, repeated: scanner.repeated };
}

const blank = /(?:\s|\uFEFF|\/\/[^\n\r\u2028\u2029]*|\/\*[^]*?\*\/)*/y;
const quoted = /"(?:\\[^]|[^"\\])*"|'(?:\\[^]|[^'\\])*'/y;
/** An identifier as a key, a number, true, false, null, Infinity, NaN. */
const bare = /[^\s,:{}[\]"'/\uFEFF]+/y;

class Scanner {
  readonly at = new Map<string, Position>();
  readonly repeated: string[] = [];
  readonly #text: string;
  #index = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(pointer: string): void {
    this.#take(blank);
    if (!this.at.has(pointer)) this.#mark(pointer);
    if (this.#next('{')) this.#members(pointer);
    else if (this.#next('[')) this.#elements(pointer);
    else this.#scalar();
  }

  #members(pointer: string): void {
    while (!this.#next('}')) {
      this.#take(blank);
      const start = this.#index;
      const member = childPointer(pointer, keyName(this.#scalar()));
      if (this.at.has(member)) this.repeated.push(member);
      this.#mark(member, start);
      this.#next(':');
      this.value(member);
      this.#next(',');
    }
  }

  #elements(pointer: string): void {
    for (let index = 0; !this.#next(']'); index += 1) {
      this.value(childPointer(pointer, index));
      this.#next(',');
    }
  }

  /** Steps over the sign if it comes next, blanks before it included. */
  #next(sign: string): boolean {
    this.#take(blank);
    const found = this.#text.startsWith(sign, this.#index);
    if (found) this.#index += sign.length;
    return found;
  }

  #scalar(): string {
    const token = this.#take(quoted) || this.#take(bare);
    if (token === '') throw new Error(`not valid JSON5 at offset ${this.#index}`);
    return token;
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#index;
    const found = pattern.exec(this.#text)?.[0] ?? '';
    this.#index += found.length;
    return found;
  }

  #mark(pointer: string, index = this.#index): void {
    const before = this.#text.slice(0, index).split(/\r\n|[\n\r\u2028\u2029]/);
    this.at.set(pointer, { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 });
  }
}

/** The key as JSON5 reads it: quotes and escapes resolved. */
function keyName(token: string): string {
  return Object.keys(JSON5.parse<Record<string, unknown>>(`{${token}:0}`))[0] ?? '';
}
