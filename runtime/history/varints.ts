/** Unsigned integers in as few bytes as they need (LEB128), up to 2^53. */

const FIRST_BYTES = 4_096;
/** Of one integer. */
const BYTES_MAX = 8;

export class VarintWriter {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #at = 0;

  get length(): number {
    return this.#at;
  }

  put(value: number): void {
    if (this.#at + BYTES_MAX > this.#bytes.length) this.#grow();
    if (value < 0x80) {
      this.#bytes[this.#at++] = value;
      return;
    }
    let rest = value;
    while (rest > 0x7f) {
      this.#bytes[this.#at++] = (rest % 0x80) + 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#at++] = rest;
  }

  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  #grow(): void {
    const larger = Buffer.allocUnsafe(this.#bytes.length * 2);
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

export class VarintReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** How many bytes were read. */
  get at(): number {
    return this.#at;
  }

  get hasMore(): boolean {
    return this.#at < this.#bytes.length;
  }

  next(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = this.#bytes[this.#at++] ?? 0;
      if (byte <= 0x7f) return value + byte * scale;
      value += (byte - 0x80) * scale;
    }
  }
}
