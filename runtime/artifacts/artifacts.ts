/**
 * Artifacts: files of a tenant that are too large for an envelope, or that prove something. A file
 * is named by the hash of its content and never changed. External programs read it with a signed
 * URL, which permits reading one file for a limited time, but neither writing nor listing.
 *
 * Adapters: `folder.ts` (a folder of this machine or a shared volume, sealed at rest when a key is
 * set) and `s3.ts` (any S3-compatible store). Contract: test/runtime/artifacts/contract.ts.
 */

/** Maximum lifetime of a signed URL. */
export const ARTIFACT_URL_MS_MAX = 900_000;
export const ARTIFACT_BYTES_MAX = 100 * 2 ** 20;

export type Artifact = {
  /** SHA-256 of the contents, lower-case hex: its name */
  readonly hash: string;
  readonly contentType: string;
  readonly bytes: number;
};

/** The form in payloads and evidence. */
export type ArtifactRef = {
  /** signed, GET only, for 15 minutes at most */
  readonly artifact_uri: string;
  readonly artifact_hash: string;
  readonly content_type: string;
};

export interface Artifacts {
  /**
   * Stores the contents durably; the same contents again are no error.
   * @throws TroupeError INVALID_ARGUMENT (type not on the whitelist, `expectedHash` differs),
   * PAYLOAD_TOO_LARGE, UNAVAILABLE
   */
  put(
    tenant: string,
    contents: Uint8Array,
    options: { contentType: string; expectedHash?: string },
  ): Promise<Artifact>;
  /**
   * The contents, checked against their name.
   * @throws TroupeError NOT_FOUND; INTERNAL when they do not match their name; UNAVAILABLE
   */
  get(tenant: string, hash: string): Promise<{ contents: Uint8Array; artifact: Artifact }>;
  /** A new signed URL. @throws TroupeError NOT_FOUND; INVALID_ARGUMENT above ARTIFACT_URL_MS_MAX */
  sign(tenant: string, hash: string, options?: { forMs?: number }): Promise<ArtifactRef>;
  /**
   * Removes the file at once, also if it is still referred to; an absent one is no error.
   * @throws TroupeError UNAVAILABLE
   */
  remove(tenant: string, hash: string): Promise<void>;
  /**
   * The hash that a signed URL of this bucket and tenant names, if its signature and time are
   * valid.
   * @throws TroupeError FORBIDDEN: another bucket or tenant, a wrong signature; EXPIRED
   */
  resolve(tenant: string, uri: string): Promise<string>;
  /** Removal of unused files; absent where the store removes files by its own rules. */
  readonly unused?: UnusedArtifacts;
}

/** Files that were neither stored nor signed since `before`, epoch milliseconds. */
export interface UnusedArtifacts {
  /**
   * Their hashes in order.
   * @param after only hashes behind this one
   * @throws TroupeError UNAVAILABLE
   */
  list(tenant: string, before: number, after?: string): Promise<readonly string[]>;
  /** Bytes of a file as it is stored, or of its contents; 0 when it is absent. */
  bytesOf(tenant: string, hash: string): Promise<number>;
  /**
   * Removes a file. May be repeated.
   * @returns false when it was used since `before`, also meanwhile: then it stays
   */
  remove(tenant: string, hash: string, before: number): Promise<boolean>;
}
