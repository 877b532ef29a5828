/**
 * Vocabulary: the words of an index, by small numbers. A number is used again when its word is
 * removed.
 *
 * Words are UTF-8 in packed lists. A hash table with open addressing finds them: as strings in a
 * Map they take twice the time, several times the memory, and long pauses when the Map grows. The
 * table has parts that grow one at a time, so none of its steps is long.
 */
import { randomInt } from 'node:crypto';
import { PackedLists } from './packed-lists.ts';

const PART_BITS = 6;
const PART_SLOTS_MIN = 16;

/** Of the hash table. A slot is the number of a word plus 1, or 0, and the hash of the word. */
type Part = { slots: Int32Array; used: number };
const SLOT = 2;
/** An empty slot, at which a look-up ends. It is never written to. */
const NO_SLOTS = new Int32Array(SLOT);

export class Vocabulary {
  readonly #bytes = new PackedLists();
  readonly #parts = Array.from(
    { length: 1 << PART_BITS },
    (): Part => ({ slots: NO_SLOTS, used: 0 }),
  );
  readonly #free: number[] = [];
  #end = 0;

  /** All numbers are smaller. */
  get numbersEnd(): number {
    return this.#end;
  }

  /** undefined: unknown */
  numberOf(word: string): number | undefined {
    const bytes = Buffer.from(word);
    const number = this.find(bytes, 0, bytes.length);
    return number < 0 ? undefined : number;
  }

  /** The number of a word in UTF-8; -1: unknown */
  find(bytes: Uint8Array, from: number, to: number): number {
    const hash = hashOf(bytes, from, to);
    const { slots } = this.#partOf(hash);
    const last = slots.length - 1;
    for (let at = (hash << 1) & last; ; at = (at + SLOT) & last) {
      const number = slots[at]! - 1;
      if (number < 0) return -1;
      if (slots[at + 1] === hash && this.#bytes.isBytes(number, bytes, from, to)) return number;
    }
  }

  /** The word with this number, which exists. */
  wordOf(number: number): string {
    return this.#bytes.text(number);
  }

  /** Adds an unknown word, which has at least one byte. */
  add(bytes: Uint8Array, from: number, to: number): number {
    const number = this.#free.pop() ?? this.#end++;
    const hash = hashOf(bytes, from, to);
    this.#bytes.appendBytes(number, bytes, from, to);
    const part = this.#partOf(hash);
    part.used += 1;
    if (part.used * SLOT * 2 > part.slots.length) grow(part);
    insert(part.slots, number, hash);
    return number;
  }

  /** @param number of a word that exists */
  remove(number: number): void {
    const bytes = this.#bytes.bytes(number);
    const hash = hashOf(bytes, 0, bytes.length);
    const part = this.#partOf(hash);
    takeOut(part.slots, number, hash);
    part.used -= 1;
    this.#bytes.clear(number);
    this.#free.push(number);
  }

  #partOf(hash: number): Part {
    return this.#parts[hash >>> (32 - PART_BITS)]!;
  }
}

function grow(part: Part): void {
  const slots = new Int32Array(Math.max(PART_SLOTS_MIN * SLOT, part.slots.length * 2));
  for (let at = 0; at < part.slots.length; at += SLOT)
    if (part.slots[at] !== 0) insert(slots, part.slots[at]! - 1, part.slots[at + 1]!);
  part.slots = slots;
}

function insert(slots: Int32Array, number: number, hash: number): void {
  const last = slots.length - 1;
  let at = (hash << 1) & last;
  while (slots[at] !== 0) at = (at + SLOT) & last;
  slots[at] = number + 1;
  slots[at + 1] = hash;
}

/** Later words move up as far as they may, because a look-up ends at an empty slot. */
function takeOut(slots: Int32Array, number: number, hash: number): void {
  const last = slots.length - 1;
  let empty = (hash << 1) & last;
  while (slots[empty] !== number + 1) empty = (empty + SLOT) & last;
  for (let at = (empty + SLOT) & last; slots[at] !== 0; at = (at + SLOT) & last) {
    const first = (slots[at + 1]! << 1) & last;
    if (((at - first) & last) < ((at - empty) & last)) continue;
    slots.copyWithin(empty, at, at + SLOT);
    empty = at;
  }
  slots.fill(0, empty, empty + SLOT);
}

/**
 * Where the hash begins, and its factor, different in each process: otherwise notes could have
 * thousands of words that are known to share one hash, and each look-up would compare all of them.
 * The beginning alone does not prevent that: of it, only the lowest seven bits matter for whether
 * two words of ASCII letters have one hash. The factor has at least the bits of FNV's.
 */
const BEGIN = randomInt(2 ** 32) | 0;
const FACTOR = randomInt(2 ** 32) | 0x01_00_01_93;

/** FNV-1a with them, its upper bits mixed into the lower ones and these into the uppermost. */
function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = BEGIN;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ bytes[at]!, FACTOR);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85_eb_ca_6b);
  return hash ^ (hash >>> 13);
}
