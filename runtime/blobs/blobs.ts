/**
 * Blobs: immutable named bytes for snapshots and large payloads. A name is written once: writing
 * different bytes under an existing name is an error, writing the same bytes again is not.
 * Names are slash-separated tokens of [A-Za-z0-9._-].
 */
export interface Blobs {
  /**
   * Resolves when the bytes are durable and can be read back completely. @throws TroupeError
   * CONFLICT if the name exists with different bytes
   */
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** undefined if there is no blob with that name */
  get(name: string): Promise<Uint8Array | undefined>;
  delete(name: string): Promise<void>;
  /** Names that start with the prefix, sorted. */
  list(prefix: string): Promise<readonly string[]>;
  /**
   * Removes what interrupted puts of these names left, however short ago. `isGivenUp` answers true
   * only for names whose put has ended, or whose blob is not read any more. Absent where nothing is
   * left.
   */
  dropUnfinished?(prefix: string, isGivenUp: (name: string) => boolean): Promise<void>;
}
