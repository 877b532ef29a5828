/**
 * S3Artifacts: a bucket in any S3-compatible store. The object `{tenant}/{hash}` is encrypted by
 * the store with a customer's key (`aws:kms`) or its own (`AES256`). Only a backup lists it.
 *
 * Invariants:
 *  1. The store verifies the hash of what it receives (signature and checksum cover it), and
 *     responses are verified here.
 *  2. A URL is valid only if signing it again gives the same text: nothing in it can be changed,
 *     left out or added.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { errorData } from '../../protocols/errors.ts';
import { type Clock, systemClock } from '../clock/clock.ts';
import {
  type Artifact,
  ARTIFACT_URL_MS_MAX,
  type ArtifactRef,
  type Artifacts,
} from './artifacts.ts';
import {
  absent,
  checkContents,
  checkName,
  damaged,
  expired,
  foreign,
  nameContents,
  urlMs,
} from './checks.ts';
import { PROBES, type S3Answer, type S3Place, S3Requests } from './s3-requests.ts';

export type S3Sealing = {
  readonly encryption: 'aws:kms' | 'AES256' | 'none';
  /** key of `aws:kms`; left out: the bucket's own */
  readonly kmsKeyId?: string;
};

export type S3ArtifactsOptions = S3Place &
  S3Sealing & {
    /** accepted media types; `image/*` matches all images */
    readonly mimeTypes: readonly string[];
    readonly clock?: Clock;
    /** silence that is waited for, milliseconds; default 30,000 */
    readonly timeoutMs?: number;
    /** ends requests with CANCELLED */
    readonly signal?: AbortSignal;
  };

const TIMEOUT_MS = 30_000;

/** Sends no request to the store; the first file reveals faults of the configuration. */
export const openS3Artifacts = (options: S3ArtifactsOptions): S3Artifacts =>
  new S3Artifacts(options);

export type ListedArtifact = Pick<Artifact, 'hash' | 'bytes'> & { readonly tenant: string };

export class S3Artifacts implements Artifacts {
  readonly #options: S3ArtifactsOptions;
  readonly #clock: Clock;
  readonly #requests: S3Requests;
  /** the access key may list the bucket */
  #isListing = false;

  constructor(options: S3ArtifactsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.#requests = new S3Requests({ ...options, clock: this.#clock, timeoutMs });
  }

  async put(
    tenant: string,
    contents: Uint8Array,
    options: { contentType: string; expectedHash?: string },
  ): Promise<Artifact> {
    const named = await nameContents(tenant, contents, options, this.#options.mimeTypes);
    const { hash } = named;
    // An existing object is written again with its first type, which replaces a damaged one.
    const stored = await this.#head(tenant, hash).catch(undefinedIfDamaged);
    const artifact = { ...named, contentType: stored?.contentType ?? named.contentType };
    await this.#requests.send(keyOf(tenant, hash), {
      method: 'PUT',
      body: contents,
      headers: {
        'content-type': artifact.contentType,
        'x-amz-content-sha256': hash,
        'x-amz-checksum-sha256': Buffer.from(hash, 'hex').toString('base64'),
        'x-amz-meta-sha256': hash,
        ...sealingHeaders(this.#options),
      },
    });
    return artifact;
  }

  async get(tenant: string, hash: string): Promise<{ contents: Uint8Array; artifact: Artifact }> {
    checkName(tenant, hash);
    const answer = await this.#read(tenant, hash);
    if (!answer) throw absent(tenant, hash);
    await checkContents(hash, answer.body);
    return {
      contents: answer.body,
      artifact: artifactOf(hash, answer.headers, answer.body.length),
    };
  }

  /**
   * All files of all tenants, page by page, without the probe of `troupe doctor`. Needs the right
   * to list the bucket.
   * @throws TroupeError UNAVAILABLE
   */
  async *list(): AsyncGenerator<readonly ListedArtifact[]> {
    for await (const page of this.#requests.list('')) {
      this.#isListing = true;
      yield page.flatMap(({ key, bytes }) => {
        const [, tenant, hash] = OBJECT.exec(key) ?? [];
        if (tenant === undefined || hash === undefined || tenant === PROBES) return [];
        return [{ tenant, hash, bytes }];
      });
    }
  }

  /**
   * What is known of a file without its contents; undefined when it is absent.
   * @throws TroupeError INTERNAL for an object that was not stored here; UNAVAILABLE
   */
  find(tenant: string, hash: string): Promise<Artifact | undefined> {
    return this.#head(tenant, hash);
  }

  async sign(tenant: string, hash: string, { forMs }: { forMs?: number } = {}) {
    checkName(tenant, hash);
    const forSec = Math.floor(urlMs(forMs) / 1_000);
    const stored = await this.#head(tenant, hash);
    if (!stored) throw absent(tenant, hash);
    const datetime = this.#requests.datetime();
    return {
      artifact_uri: await this.#requests.presign(keyOf(tenant, hash), { forSec, datetime }),
      artifact_hash: hash,
      content_type: stored.contentType,
    } satisfies ArtifactRef;
  }

  async remove(tenant: string, hash: string): Promise<void> {
    checkName(tenant, hash);
    await this.#requests.send(keyOf(tenant, hash), { method: 'DELETE' });
  }

  async resolve(tenant: string, uri: string): Promise<string> {
    const { key, datetime, forSec } = partsOf(uri);
    const [named, hash = ''] = key.split('/');
    if (forSec * 1_000 > ARTIFACT_URL_MS_MAX) throw foreign('its lifetime is too long');
    const good = await this.#requests.presign(key, { forSec, datetime });
    if (!sameText(good, uri)) throw foreign('its signature is wrong');
    if (named !== tenant) throw foreign('it belongs to another tenant');
    const untilMs = timeOf(datetime) + forSec * 1_000;
    if (untilMs <= this.#clock.wallMs()) throw expired(hash, untilMs);
    return hash;
  }

  async #head(tenant: string, hash: string): Promise<Artifact | undefined> {
    try {
      const answer = await this.#requests.send(keyOf(tenant, hash), { method: 'HEAD' });
      if (!answer) return undefined;
      return artifactOf(hash, answer.headers, Number(answer.headers.get('content-length')));
    } catch (error) {
      if (errorData(error).details?.['status'] !== 403) throw error;
      // The answer to a HEAD has no body; a GET says which refusal it is.
      const answer = await this.#read(tenant, hash);
      return answer && artifactOf(hash, answer.headers, answer.body.length);
    }
  }

  /** S3 answers AccessDenied for an absent object when the access key may not list the bucket. */
  async #read(tenant: string, hash: string): Promise<S3Answer | undefined> {
    try {
      return await this.#requests.send(keyOf(tenant, hash), { method: 'GET' });
    } catch (error) {
      const isDenied = errorData(error).details?.['store'] === 'AccessDenied';
      if (!isDenied || this.#isListing) throw error;
      return undefined;
    }
  }
}

/** The encryption that a PUT requests from the store. */
export function sealingHeaders({ encryption, kmsKeyId }: S3Sealing): Record<string, string> {
  if (encryption === 'none') return {};
  return {
    'x-amz-server-side-encryption': encryption,
    ...(encryption === 'aws:kms' && kmsKeyId
      ? { 'x-amz-server-side-encryption-aws-kms-key-id': kmsKeyId }
      : {}),
  };
}

function undefinedIfDamaged(error: unknown): undefined {
  if (errorData(error).code !== 'INTERNAL') throw error;
}

const OBJECT = /^([a-z0-9][a-z0-9_-]{0,62})\/([0-9a-f]{64})$/;
const keyOf = (tenant: string, hash: string) => `${tenant}/${hash}`;

function artifactOf(hash: string, headers: Headers, bytes: number): Artifact {
  // Only objects that were stored here: those of other programs under such a name do not count.
  if (headers.get('x-amz-meta-sha256') !== hash) throw damaged(hash);
  return { hash, bytes, contentType: headers.get('content-type') ?? 'application/octet-stream' };
}

const DATETIME = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/;
const timeOf = (datetime: string): number =>
  Date.parse(datetime.replace(DATETIME, '$1-$2-$3T$4:$5:$6Z'));

/**
 * The content of a URL, to be signed again. @throws TroupeError FORBIDDEN when it is not a
 * presigned URL
 */
function partsOf(uri: string): { key: string; datetime: string; forSec: number } {
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  const key = /\/([a-z0-9][a-z0-9_-]{0,62}\/[0-9a-f]{64})$/.exec(url?.pathname ?? '')?.[1];
  const datetime = url?.searchParams.get('X-Amz-Date') ?? '';
  const forSec = Number(url?.searchParams.get('X-Amz-Expires') ?? Number.NaN);
  if (!key || Number.isNaN(timeOf(datetime)) || !Number.isInteger(forSec))
    throw foreign('its form is wrong');
  return { key, datetime, forSec };
}

const sameText = (a: string, b: string): boolean => {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
};
