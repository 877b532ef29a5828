/**
 * The output of a command, as much as is kept: the last `bytesMax` bytes. What came before is
 * counted. Positions are bytes from the command's first, so they stay right when the beginning is
 * gone.
 */

export type OutputPart = {
  readonly text: string;
  /** position of its first byte: later than asked for when that is gone */
  readonly from: number;
  readonly to: number;
};

/** Chunks that are kept apart before they are put together: small ones cost more than they hold. */
const CHUNKS_MAX = 256;

export class KeptOutput {
  readonly #bytesMax: number;
  #chunks: Buffer[] = [];
  #kept = 0;
  #total = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** all that came, kept or not */
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

  /** At most `bytes` bytes from position `at`; characters that were cut in two are left out. */
  from(at: number, bytes: number): OutputPart {
    const kept = this.#joined();
    const first = this.#total - kept.length;
    const from = Math.min(Math.max(at, first), this.#total);
    let begin = from - first;
    // within a character: its other bytes begin with the bits 10
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
