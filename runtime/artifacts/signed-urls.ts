/**
 * Signed URLs of a bucket whose files a gateway serves. A URL contains the name of one file, its
 * expiry, and an HMAC-SHA256 over both.
 *
 * Invariant: a URL is signed over the place it points to, tenant, name and time: none can be
 * changed.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../clock/clock.ts';
import type { Artifact, ArtifactRef } from './artifacts.ts';
import { expired, foreign, urlMs } from './checks.ts';

export type SignedUrlsOptions = {
  readonly key: Buffer;
  /** base of URLs, without a trailing slash; read again for every URL */
  readonly publicUrl: () => string;
  readonly clock: Clock;
};

const SIGNED =
  /^(https?:\/\/[^\s?#]+)\/v1\/artifacts\/([a-z0-9_-]+)\/([0-9a-f]{64})\?exp=(\d{10})&sig=([\w-]{43})$/;

export class SignedUrls {
  readonly #o: SignedUrlsOptions;

  constructor(options: SignedUrlsOptions) {
    this.#o = options;
  }

  /** @throws TroupeError INVALID_ARGUMENT for a time that a URL cannot have */
  untilSec(forMs?: number): number {
    return Math.floor((this.#o.clock.wallMs() + urlMs(forMs)) / 1_000);
  }

  sign(tenant: string, { hash, contentType }: Artifact, untilSec: number): ArtifactRef {
    const base = this.#o.publicUrl();
    const query = `exp=${untilSec}&sig=${this.#signature(base, tenant, hash, String(untilSec))}`;
    return {
      artifact_uri: `${base}/v1/artifacts/${tenant}/${hash}?${query}`,
      artifact_hash: hash,
      content_type: contentType,
    };
  }

  /** As of `Artifacts`. */
  async resolve(tenant: string, uri: string): Promise<string> {
    const [, base, named, hash, until, signature] = SIGNED.exec(uri) ?? [];
    if (!base || !named || !hash || !until || !signature) throw foreign('its form is wrong');
    const good = Buffer.from(this.#signature(base, named, hash, until));
    if (!timingSafeEqual(good, Buffer.from(signature))) throw foreign('its signature is wrong');
    if (named !== tenant) throw foreign('it belongs to another tenant');
    const untilMs = Number(until) * 1_000;
    if (untilMs <= this.#o.clock.wallMs()) throw expired(hash, untilMs);
    return hash;
  }

  #signature(base: string, tenant: string, hash: string, until: string): string {
    const text = ['GET', base, tenant, hash, until].join('\n');
    return createHmac('sha256', this.#o.key).update(text).digest('base64url');
  }
}
