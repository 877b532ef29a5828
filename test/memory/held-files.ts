/** Notes in memory, for tests of the index. */
import type { MemoryFiles } from '../../memory/index.ts';

export type HeldFiles = MemoryFiles & {
  readonly texts: Map<string, string>;
  put(this: void, path: string, text: string): void;
  /** called before each read */
  onRead: (path: string) => void;
  reads: number;
};

export function heldFiles(texts: Iterable<readonly [string, string]> = []): HeldFiles {
  const held = new Map(texts);
  const stamps = new Map<string, number>();
  let changes = 0;
  const files: HeldFiles = {
    texts: held,
    reads: 0,
    onRead() {},
    put(path, text) {
      held.set(path, text);
      stamps.set(path, ++changes);
    },
    list: async () =>
      [...held].map(([path, text]) => ({
        path,
        stamp: String(stamps.get(path) ?? 0),
        bytes: Buffer.byteLength(text),
      })),
    async read(path) {
      files.reads += 1;
      files.onRead(path);
      return held.get(path);
    },
  };
  return files;
}
