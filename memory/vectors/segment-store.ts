/**
 * SegmentStore: where the vectors of one agent outlive the process, so that no text is embedded
 * twice.
 *
 * Adapter: installation/blob-segments.ts. Other processes may add and remove segments.
 */
export interface SegmentStore {
  /** Names of all segments, sorted: `{model}/{content}`. */
  list(): Promise<readonly string[]>;
  /** undefined: it was removed */
  read(name: string): Promise<Uint8Array | undefined>;
  /** Resolves when the segment is durable. The same contents have the same name. */
  write(name: string, bytes: Uint8Array): Promise<void>;
  /** No error when it is gone already. */
  remove(name: string): Promise<void>;
}
