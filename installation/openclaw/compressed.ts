/** Texts that OpenClaw compressed with zstd, which `node:zlib` has since Node 22.15 and 23.8. */
import * as zlib from 'node:zlib';

/** In newer versions of Node than the types. */
type Zstd = {
  readonly zstdDecompressSync?: (
    data: Uint8Array,
    options: { readonly maxOutputLength: number },
  ) => Uint8Array;
};

/** This Node has no zstd: the item is skipped, and nothing is wrong with it. */
export class NeedsNewerNode extends Error {}

/** The largest event that OpenClaw stores. */
export const EVENT_BYTES_MAX = 4 * 2 ** 20;
/** The largest archive of a transcript that is read. */
export const ARCHIVE_BYTES_MAX = 256 * 2 ** 20;

/**
 * @param place of the data, for messages
 * @param bytesMax of the text; more is refused before it is in memory
 * @throws NeedsNewerNode; Error when the data is damaged, or its text is too large
 */
export function decompressed(data: Uint8Array, place: string, bytesMax: number): string {
  const { zstdDecompressSync } = zlib as Zstd;
  if (zstdDecompressSync === undefined)
    throw new NeedsNewerNode(
      `compressed with zstd, which needs Node 22.15 or newer (this is ${process.versions.node}): ` +
        'import again with Node 22',
    );
  try {
    const bytes = zstdDecompressSync(data, { maxOutputLength: bytesMax });
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${place} cannot be decompressed: ${why}`, { cause });
  }
}
