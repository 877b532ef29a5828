/** Notes in memory, for tests of the index. */
import type { MemoryFiles } from '../../memory/index.ts';

export type HeldFiles = MemoryFiles & {
  readonly texts: Map<string, string>;
  put(this: void, path: string, text: string): void;
  /** called before each read, also of a part */
  onRead: (path: string) => void;
  /** of whole files, and of parts */
  reads: number;
  partReads: number;
};

export function heldFiles(texts: Iterable<readonly [string, string]> = []): HeldFiles {
  const held = new Map(texts);
  const stamps = new Map<string, number>();
  const stampOf = (path: string) => String(stamps.get(path) ?? 0);
  let changes = 0;
  const files: HeldFiles = {
    texts: held,
    reads: 0,
    partReads: 0,
    onRead() {},
    put(path, text) {
      held.set(path, text);
      stamps.set(path, ++changes);
    },
    list: async () =>
      [...held].map(([path, text]) => ({
        path,
        stamp: stampOf(path),
        bytes: Buffer.byteLength(text),
      })),
    async read(path) {
      files.reads += 1;
      files.onRead(path);
      return held.get(path);
    },
    async readPart(path, { stamp, from, bytes }) {
      files.onRead(path);
      const text = held.get(path);
      if (text === undefined || stampOf(path) !== stamp) return undefined;
      files.partReads += 1;
      return Buffer.from(text)
        .subarray(from, from + bytes)
        .toString();
    },
  };
  return files;
}
