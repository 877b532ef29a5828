/**
 * The last `bytesMax` bytes of a command's output; earlier bytes are only counted. Positions count
 * from the command's first byte, so they stay valid when the beginning is dropped.
 */

export type OutputPart = {
  readonly text: string;
  /** position of the first returned byte: later than requested when that one was dropped */
  readonly from: number;
  readonly to: number;
};

/** Maximum number of separate chunks before they are merged: small chunks have a large overhead. */
const CHUNKS_MAX = 256;

export class KeptOutput {
  readonly #bytesMax: number;
  #chunks: Buffer[] = [];
  #kept = 0;
  #total = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** total bytes, kept or dropped */
  get total(): number {
    return this.#total;
  }

  add(chunk: Buffer): void {
    this.#total += chunk.length;
    this.#kept += chunk.length;
    this.#chunks.push(chunk);
    if (this.#kept > 2 * this.#bytesMax || this.#chunks.length > CHUNKS_MAX) this.#joined();
  }

  /** The last `bytes` bytes. */
  tail(bytes: number): OutputPart {
    return this.from(Math.max(0, this.#total - bytes), bytes);
  }

  /** At most `bytes` bytes from position `at`, without incomplete characters. */
  from(at: number, bytes: number): OutputPart {
    const kept = this.#joined();
    const first = this.#total - kept.length;
    const from = Math.min(Math.max(at, first), this.#total);
    let begin = from - first;
    // inside a character: its continuation bytes begin with the bits 10
    if (from > 0) while (begin < kept.length && ((kept[begin] ?? 0) & 0xc0) === 0x80) begin++;
    const part = kept.subarray(begin, begin + bytes);
    const text = new TextDecoder().decode(part, { stream: true });
    const cut = Math.min(3, part.length - Buffer.byteLength(text));
    return { text, from: first + begin, to: first + begin + part.length - Math.max(0, cut) };
  }

  #joined(): Buffer {
    const joined = Buffer.concat(this.#chunks);
    const kept = joined.length > this.#bytesMax ? joined.subarray(-this.#bytesMax) : joined;
    this.#chunks = [kept];
    this.#kept = kept.length;
    return kept;
  }
}
