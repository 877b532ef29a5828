/**
 * BlobArtifacts: a bucket in the blobs of a cell, for every process of a cluster without a shared
 * folder. A file is the blob `artifacts/{tenant}/{hash}`, in the format of sealed-file.ts.
 * Of each file there is one blob `artifact-uses/{tenant}/{hash}/{day}-{bytes}` that holds its type:
 * of the day on which it was last stored or signed.
 *
 * Invariants:
 *  1. A use is recorded before the file is stored, and a removal looks at the uses again after it
 *     has removed a file: a file that is used during its removal stays.
 *  2. Before a file is removed it is copied to `artifact-due/`, so that it is listed again when the
 *     process is killed, and the next removal finishes.
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { Blobs } from '../blobs/blobs.ts';
import { type Clock, systemClock } from '../clock/clock.ts';
import type { Artifact, ArtifactRef, Artifacts, UnusedArtifacts } from './artifacts.ts';
import { absent, checkContents, checkName, nameContents } from './checks.ts';
import { BlobUses } from './blob-uses.ts';
import { sealedParts, type SealingKey, unseal } from './sealed-file.ts';
import { SignedUrls } from './signed-urls.ts';

export type BlobArtifactsOptions = {
  readonly blobs: Blobs;
  /** the key that encrypts files */
  readonly sealingKey: SealingKey;
  /** the key that signs URLs */
  readonly urlKey: Buffer;
  /** base of URLs, without a trailing slash; read again for every URL */
  readonly publicUrl: () => string;
  /** accepted media types; `image/*` matches all images */
  readonly mimeTypes: readonly string[];
  /** bytes of one tenant's files; read again for each file */
  readonly bytesMax: () => number;
  readonly clock?: Clock;
};

const FILES = 'artifacts';
const fileOf = (tenant: string, hash: string): string => `${FILES}/${tenant}/${hash}`;

export class BlobArtifacts implements Artifacts {
  readonly #o: BlobArtifactsOptions;
  readonly #urls: SignedUrls;
  readonly #uses: BlobUses;
  readonly unused: UnusedArtifacts;

  constructor(options: BlobArtifactsOptions) {
    const { blobs, urlKey, publicUrl, bytesMax, clock = systemClock } = options;
    this.#o = options;
    this.#urls = new SignedUrls({ key: urlKey, publicUrl, clock });
    this.#uses = new BlobUses({ blobs, bytesMax, clock, fileOf });
    this.unused = this.#uses;
  }

  async put(
    tenant: string,
    contents: Uint8Array,
    options: { contentType: string; expectedHash?: string },
  ): Promise<Artifact> {
    const artifact = await nameContents(tenant, contents, options, this.#o.mimeTypes);
    const first = await this.#uses.find(tenant, artifact.hash);
    const { hash } = artifact;
    const stored = first ?? artifact;
    return this.#uses.storing(tenant, first ? 0 : contents.length, async () => {
      await this.#uses.record(tenant, stored);
      const sound = await this.get(tenant, hash).catch((error: unknown) => isDamaged(error));
      if (sound === true) await this.#o.blobs.delete(fileOf(tenant, hash));
      if (typeof sound !== 'object') await this.#store(tenant, stored, contents);
      return stored;
    });
  }

  async #store(tenant: string, artifact: Artifact, contents: Uint8Array): Promise<void> {
    const sealed = Buffer.concat([...sealedParts(artifact, contents, this.#o.sealingKey)]);
    try {
      await this.#o.blobs.put(fileOf(tenant, artifact.hash), sealed);
    } catch (error) {
      // Another put has stored the same contents, sealed with another nonce.
      if (!(error instanceof TroupeError) || error.code !== 'CONFLICT') throw error;
      await this.get(tenant, artifact.hash);
    }
  }

  async get(tenant: string, hash: string): Promise<{ contents: Uint8Array; artifact: Artifact }> {
    checkName(tenant, hash);
    const file = await this.#o.blobs.get(fileOf(tenant, hash));
    if (!file) throw absent(tenant, hash);
    const opened = unseal(hash, Buffer.from(file), this.#o.sealingKey);
    await checkContents(hash, opened.contents);
    return opened;
  }

  async sign(
    tenant: string,
    hash: string,
    { forMs }: { forMs?: number } = {},
  ): Promise<ArtifactRef> {
    checkName(tenant, hash);
    const untilSec = this.#urls.untilSec(forMs);
    const artifact = await this.#uses.find(tenant, hash);
    if (!artifact) throw absent(tenant, hash);
    await this.#uses.record(tenant, artifact);
    const file = fileOf(tenant, hash);
    if (!(await this.#o.blobs.list(file)).includes(file)) throw absent(tenant, hash);
    return this.#urls.sign(tenant, artifact, untilSec);
  }

  async remove(tenant: string, hash: string): Promise<void> {
    checkName(tenant, hash);
    await this.#uses.forget(tenant, hash);
  }

  resolve(tenant: string, uri: string): Promise<string> {
    return this.#urls.resolve(tenant, uri);
  }
}

/** Whether a file may be replaced: true for one that was damaged, false for one that is absent. */
function isDamaged(error: unknown): boolean {
  if (error instanceof TroupeError && error.code === 'INTERNAL') return true;
  if (error instanceof TroupeError && error.code === 'NOT_FOUND') return false;
  throw error;
}
