/**
 * Splits messages that exceed the server's limit into parts, and joins them again. A message with a
 * missing part is dropped after a while, and waiting parts are bounded, so neither losses nor a
 * sender can fill the memory.
 */

/** Bytes of all messages that wait for parts, and so of any one of them: 64 MiB. */
export const PARTS_BYTES_MAX = 64 * 1024 * 1024;
/** How long a message waits for its last part after the first. */
export const PARTS_WAIT_MS = 30_000;

export type Part = {
  /** the message's, the same in all its parts and in no other message's */
  readonly id: string;
  /** 0 to count - 1 */
  readonly index: number;
  readonly count: number;
  readonly bytes: Uint8Array;
};

/** @param bytesMax of each part, at least 1 */
export const partsOf = (id: string, bytes: Uint8Array, bytesMax: number): Part[] => {
  const count = Math.max(1, Math.ceil(bytes.length / bytesMax));
  return Array.from({ length: count }, (_, index) => ({
    id,
    index,
    count,
    bytes: bytes.subarray(index * bytesMax, (index + 1) * bytesMax),
  }));
};

type Assembly = {
  readonly parts: Uint8Array[];
  missing: number;
  bytes: number;
  readonly untilMs: number;
};

export class Assemblies {
  /** by receiver and message, in the order of their first parts, which is that of `untilMs` */
  readonly #open = new Map<string, Assembly>();
  #bytes = 0;

  /** of all that wait */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Returns the complete message with its last part. Parts arrive in any order; duplicates are
   * ignored. The bytes are copied. @param receiver each receiver of the same message joins it
   * separately
   */
  add(receiver: number, part: Part, nowMs: number): Buffer | undefined {
    this.drop(nowMs);
    const key = `${receiver} ${part.id}`;
    const assembly = this.#open.get(key) ?? this.#begin(key, part, nowMs);
    if (assembly.parts[part.index] !== undefined || part.index >= assembly.parts.length)
      return undefined;
    assembly.parts[part.index] = Buffer.from(part.bytes);
    assembly.missing -= 1;
    assembly.bytes += part.bytes.length;
    this.#bytes += part.bytes.length;
    if (assembly.missing > 0) {
      this.#makeRoom();
      return undefined;
    }
    this.#end(key, assembly);
    return Buffer.concat(assembly.parts);
  }

  /** Discards what has waited too long. */
  drop(nowMs: number): void {
    for (const [key, assembly] of this.#open) {
      if (assembly.untilMs > nowMs) return;
      this.#end(key, assembly);
    }
  }

  #begin(key: string, { count }: Part, nowMs: number): Assembly {
    const parts = new Array<Uint8Array>(count);
    const assembly = { parts, missing: count, bytes: 0, untilMs: nowMs + PARTS_WAIT_MS };
    this.#open.set(key, assembly);
    return assembly;
  }

  /** The oldest go first: they are the likeliest to miss a part permanently. */
  #makeRoom(): void {
    for (const [key, assembly] of this.#open) {
      if (this.#bytes <= PARTS_BYTES_MAX) return;
      this.#end(key, assembly);
    }
  }

  #end(key: string, assembly: Assembly): void {
    this.#open.delete(key);
    this.#bytes -= assembly.bytes;
  }
}
