import type { Chunk } from './chunk-files.mjs';
/** The name of each file, without extension, by its chunks. */
export function namesOf(
  files: readonly (readonly string[])[],
  outputs: Readonly<Record<string, Chunk>>,
  entryPoints: Readonly<Record<string, string>>,
): ReadonlyMap<readonly string[], string>;
