/**
 * Fields: reads a few fields of an encoded map and skips the rest, for readers of many rows that
 * keep few. It is an order of magnitude cheaper than a complete decode, and creates only what is
 * requested.
 *
 * Boundary: MessagePack as `protocols/codec.ts` writes it; values are as its `decode` returns them.
 */
import { decode } from '../../protocols/codec.ts';
import { TroupeError } from '../../protocols/errors.ts';

/**
 * A reader of these fields of maps; a field that a map does not have is absent.
 *
 * The reader throws TroupeError INTERNAL for bytes that are no map, or are cut.
 */
export const fieldReader = <F extends string>(
  fields: readonly F[],
): ((bytes: Uint8Array) => Partial<Record<F, unknown>>) => {
  const wanted = fields.map((name) => ({ name, bytes: Buffer.from(name, 'utf8') }));
  return (bytes) => {
    const from = new Cursor(bytes);
    const found: Partial<Record<F, unknown>> = {};
    let missing = wanted.length;
    for (let left = from.map(); left > 0 && missing > 0; left--) {
      const key = from.key();
      const field = wanted.find(({ bytes: name }) => from.holds(key, name));
      const start = from.at;
      from.skip();
      if (field === undefined) continue;
      found[field.name] = from.value(start);
      missing--;
    }
    return found;
  };
};

/** Where a text lies. */
type Span = { start: number; end: number };

class Cursor {
  at = 0;
  readonly #bytes: Buffer;
  /** of the last key; one for all of them */
  readonly #span: Span = { start: 0, end: 0 };

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Entries of the map that begins here. */
  map(): number {
    const head = this.#byte();
    if (head >= 0x80 && head <= 0x8f) return head & 0x0f;
    if (head === 0xde) return this.#unsigned(2);
    if (head === 0xdf) return this.#unsigned(4);
    throw noMap(`it begins with 0x${head.toString(16)}`);
  }

  /** A map's next key, which is a text. */
  key(): Span {
    const head = this.#byte();
    const length = this.#textLength(head);
    if (length === undefined) throw noMap(`a key begins with 0x${head.toString(16)}`);
    this.#span.start = this.at;
    this.at += length;
    this.#span.end = this.at;
    return this.#span;
  }

  holds({ start, end }: Span, name: Buffer): boolean {
    if (end - start !== name.length) return false;
    for (let at = 0; at < name.length; at++) if (this.#bytes[start + at] !== name[at]) return false;
    return true;
  }

  /** Skips the value that begins here, with all its parts. */
  skip(): void {
    for (let left = 1; left > 0; left--) left += this.#passOne();
    if (this.at > this.#bytes.length) throw noMap('it is cut');
  }

  /** The value that lies from `start` to here. Texts and numbers, the most of them, at once. */
  value(start: number): unknown {
    const head = this.#bytes[start]!;
    if (head <= 0x7f) return head;
    if (head === 0xcb) return this.#bytes.readDoubleBE(start + 1);
    if (head >= 0xa0 && head <= 0xbf) return this.#bytes.toString('utf8', start + 1, this.at);
    if (head === 0xd9) return this.#bytes.toString('utf8', start + 2, this.at);
    return decode(this.#bytes.subarray(start, this.at));
  }

  /** Skips a head and its own bytes; returns how many values follow as its parts. */
  #passOne(): number {
    const head = this.#byte();
    if (head <= 0x7f || head >= 0xe0) return 0;
    if (head <= 0x8f) return 2 * (head & 0x0f);
    if (head <= 0x9f) return head & 0x0f;
    const text = this.#textLength(head);
    if (text !== undefined) {
      this.at += text;
      return 0;
    }
    if (head === 0xdc || head === 0xdd) return this.#unsigned(head === 0xdc ? 2 : 4);
    if (head === 0xde || head === 0xdf) return 2 * this.#unsigned(head === 0xde ? 2 : 4);
    if (head >= 0xc4 && head <= 0xc9) {
      const long = this.#unsigned(1 << ((head - 0xc4) % 3));
      this.at += head >= 0xc7 ? long + 1 : long;
    } else this.at += FIXED[head - 0xc0]!;
    return 0;
  }

  /** Length of the text that a head begins; undefined: it begins none. */
  #textLength(head: number): number | undefined {
    if (head >= 0xa0 && head <= 0xbf) return head & 0x1f;
    return head >= 0xd9 && head <= 0xdb ? this.#unsigned(1 << (head - 0xd9)) : undefined;
  }

  #byte(): number {
    const byte = this.#bytes[this.at++];
    if (byte === undefined) throw noMap('it is cut');
    return byte;
  }

  #unsigned(size: number): number {
    if (this.at + size > this.#bytes.length) throw noMap('it is cut');
    const value = this.#bytes.readUIntBE(this.at, size);
    this.at += size;
    return value;
  }
}

/**
 * Bytes behind the heads 0xc0 to 0xd8: nothing, booleans, numbers, extensions of fixed size. Those
 * with a length of their own are not looked up here.
 */
const FIXED = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 3, 5, 9, 17] as const;

const noMap = (why: string): TroupeError =>
  new TroupeError('INTERNAL', `the bytes of a row are not a MessagePack map: ${why}`);
