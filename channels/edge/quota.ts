/**
 * Quota: envelopes per minute of a principal and of a tenant, as token buckets (EN5, EN9).
 *
 * A bucket holds a minute's worth and is filled evenly. The limits are of all gateways together:
 * each takes its share by the number of those that live, so that no message is needed between them.
 * Bounded: `KEYS_MAX` buckets; a full one is the same as none and leaves first.
 */
import type { Clock, System } from '../../runtime/index.ts';
import type { Caller, Quota, QuotaAnswer } from './edge.ts';

export type QuotaLimits = {
  readonly principalPerMinute: number;
  /** of a principal under A2A-External */
  readonly externalPerMinute: number;
  readonly tenantPerMinute: number;
};

type Bucket = { tokens: number; atMs: number; limit: number };

const MINUTE_MS = 60_000;
const KEYS_MAX = 50_000;
/** How often the gateways are counted. */
const COUNT_MS = 1_000;

export class TokenQuota implements Quota {
  readonly #buckets = new Map<string, Bucket>();
  readonly #limits: QuotaLimits;
  readonly #clock: Clock;
  readonly #nodes: System['nodes'];
  #gateways = 1;
  #countedAtMs = -COUNT_MS;

  constructor(limits: QuotaLimits, system: Pick<System, 'nodes'>, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#nodes = () => system.nodes();
  }

  /** Takes from both buckets, or from neither. */
  take({ tenant, sub, profile }: Caller): QuotaAnswer {
    const nowMs = this.#clock.monotonicMs();
    this.#count(nowMs);
    const { principalPerMinute, externalPerMinute, tenantPerMinute } = this.#limits;
    const external = profile === 'A2A-External';
    const own = this.#bucket(
      `${external ? 'x' : 'b'} ${tenant} ${sub}`,
      external ? externalPerMinute : principalPerMinute,
      nowMs,
    );
    const all = this.#bucket(`t ${tenant}`, tenantPerMinute, nowMs);
    const allowed = own.tokens >= 1 && all.tokens >= 1;
    if (allowed) {
      own.tokens -= 1;
      all.tokens -= 1;
    }
    const near = own.tokens / own.limit <= all.tokens / all.limit ? own : all;
    return {
      allowed,
      limit: Math.floor(near.limit),
      remaining: Math.floor(near.tokens),
      retryAfterMs: allowed ? 0 : Math.max(waitMs(own), waitMs(all)),
    };
  }

  #bucket(key: string, perMinute: number, nowMs: number): Bucket {
    const limit = Math.max(1, perMinute / this.#gateways);
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      const fresh = { tokens: limit, atMs: nowMs, limit };
      this.#buckets.set(key, fresh);
      if (this.#buckets.size > KEYS_MAX) this.#makeRoom(nowMs);
      return fresh;
    }
    const filled = bucket.tokens + ((nowMs - bucket.atMs) / MINUTE_MS) * limit;
    bucket.tokens = Math.min(limit, filled);
    bucket.atMs = nowMs;
    bucket.limit = limit;
    return bucket;
  }

  #count(nowMs: number): void {
    if (nowMs - this.#countedAtMs < COUNT_MS) return;
    this.#countedAtMs = nowMs;
    const live = this.#nodes().filter(({ role, draining }) => role === 'gateway' && !draining);
    this.#gateways = Math.max(1, live.length);
  }

  #makeRoom(nowMs: number): void {
    for (const [key, { tokens, atMs, limit }] of this.#buckets)
      if (tokens + ((nowMs - atMs) / MINUTE_MS) * limit >= limit) this.#buckets.delete(key);
    for (const key of this.#buckets.keys()) {
      if (this.#buckets.size <= KEYS_MAX / 2) break;
      this.#buckets.delete(key);
    }
  }
}

/** Until there is a token. */
const waitMs = ({ tokens, limit }: Bucket): number =>
  tokens >= 1 ? 0 : Math.ceil(((1 - tokens) / limit) * MINUTE_MS);
