/** What is used of a chunk in esbuild's metafile. */
export type Chunk = {
  readonly bytes: number;
  readonly entryPoint?: string;
  readonly imports: readonly {
    readonly path: string;
    readonly kind: string;
    readonly external?: boolean;
  }[];
};
/** The paths of the chunks of each file of the program. */
export function chunkFiles(
  outputs: Readonly<Record<string, Chunk>>,
): readonly (readonly string[])[];
