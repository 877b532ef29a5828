/**
 * Requests per minute of a principal and of a tenant, as token buckets. A bucket holds the requests
 * of one minute and is refilled evenly. The limits apply to all gateways together: each uses its
 * share by the number of live gateways, so they exchange no messages.
 *
 * Invariants:
 *  1. A bucket is removed only when it is full, which equals a new one. New names thus give no
 *     additional requests.
 *  2. Bounded: `NAMES_MAX` principals of a tenant, and as many tenants. Beyond that, callers share
 *     one bucket.
 */
import { assertScope, type Need } from '../../operations/access.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Clock, System } from '../../runtime/index.ts';
import type { Caller, Identity, Quota, QuotaAnswer } from './edge.ts';

export type QuotaLimits = {
  readonly principalPerMinute: number;
  /** limit of a principal under A2A-External */
  readonly externalPerMinute: number;
  readonly tenantPerMinute: number;
};

/** Number of reads for each envelope of a quota. */
const READS_PER_ENVELOPE = 10;
/** The limits of reads, derived from those of envelopes. */
export const readLimits = (limits: QuotaLimits): QuotaLimits => ({
  principalPerMinute: limits.principalPerMinute * READS_PER_ENVELOPE,
  externalPerMinute: limits.externalPerMinute * READS_PER_ENVELOPE,
  tenantPerMinute: limits.tenantPerMinute * READS_PER_ENVELOPE,
});

/**
 * Authenticates the callers of other routes and counts their requests against the quota.
 * @param need what a token with scopes must grant
 * @throws TroupeError RATE_LIMIT_EXCEEDED, FORBIDDEN without the scope, and the errors of
 * `authenticate`
 */
export const metered =
  (identity: Pick<Identity, 'authenticate'>, quota: Quota, need: Need): Identity['authenticate'] =>
  async (credentials) => {
    const caller = await identity.authenticate(credentials);
    assertScope(caller, need);
    takeOne(quota, caller);
    return caller;
  };

/** @throws TroupeError RATE_LIMIT_EXCEEDED with a retry delay */
export function takeOne(quota: Quota, caller: Caller): void {
  const { allowed, limit, retryAfterMs } = quota.take(caller, 0);
  if (allowed) return;
  throw new TroupeError(
    'RATE_LIMIT_EXCEEDED',
    `more than ${limit} such requests per minute: wait before the next one`,
    { retryAfterMs, details: { limit: 'quota' } },
  );
}

type Bucket = { tokens: number; atMs: number; limit: number };
type Tenant = { readonly all: Bucket; readonly own: Buckets };

const MINUTE_MS = 60_000;
const NAMES_MAX = 10_000;
/** Interval in which live gateways are counted and full buckets are removed. */
const LOOK_MS = 1_000;
/** The shared bucket; not a valid name of a tenant or principal. */
const OTHERS = '';
/** Prefixes of principals' names, which separate the two profiles. */
const PREFIX = 2;

export class TokenQuota implements Quota {
  readonly #tenants = new Map<string, Tenant>();
  readonly #limits: () => QuotaLimits;
  readonly #clock: Clock;
  readonly #nodes: System['nodes'];
  readonly #namesMax: number;
  #gateways = 1;
  #countedAtMs = -LOOK_MS;
  #clearedAtMs = -LOOK_MS;

  /**
   * @param limits a function returns those in effect, for each request
   * @param namesMax principals of a tenant, and tenants, with their own bucket
   */
  constructor(
    limits: QuotaLimits | (() => QuotaLimits),
    system: Pick<System, 'nodes'>,
    clock: Clock,
    namesMax = NAMES_MAX,
  ) {
    this.#limits = typeof limits === 'function' ? limits : () => limits;
    this.#clock = clock;
    this.#nodes = () => system.nodes();
    this.#namesMax = namesMax;
  }

  /** Takes from both buckets, or from neither. */
  take({ tenant, sub, profile }: Caller): QuotaAnswer {
    const nowMs = this.#clock.monotonicMs();
    this.#count(nowMs);
    const { principalPerMinute, externalPerMinute, tenantPerMinute } = this.#limits();
    const external = profile === 'A2A-External';
    const { all, own: buckets } = this.#tenant(tenant, nowMs);
    fill(all, this.#share(tenantPerMinute), nowMs);
    const limit = this.#share(external ? externalPerMinute : principalPerMinute);
    const own = buckets.of(`${external ? 'x' : 'b'} ${sub}`, limit, nowMs);
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

  #share(perMinute: number): number {
    return Math.max(1, perMinute / this.#gateways);
  }

  #tenant(name: string, nowMs: number): Tenant {
    const known = this.#tenants.get(name);
    if (known) return known;
    if (this.#tenants.size >= this.#namesMax) this.#clear(nowMs);
    if (this.#tenants.size >= this.#namesMax && name !== OTHERS) return this.#tenant(OTHERS, nowMs);
    const limit = this.#share(this.#limits().tenantPerMinute);
    const tenant = { all: { tokens: limit, atMs: nowMs, limit }, own: new Buckets(this.#namesMax) };
    this.#tenants.set(name, tenant);
    return tenant;
  }

  #count(nowMs: number): void {
    if (nowMs - this.#countedAtMs < LOOK_MS) return;
    this.#countedAtMs = nowMs;
    const live = this.#nodes().filter(({ role, draining }) => role === 'gateway' && !draining);
    this.#gateways = Math.max(1, live.length);
  }

  /** Removes tenants without requests for a while. */
  #clear(nowMs: number): void {
    if (nowMs - this.#clearedAtMs < LOOK_MS) return;
    this.#clearedAtMs = nowMs;
    for (const [name, { all, own }] of this.#tenants)
      if (isFull(all, nowMs) && own.clear(nowMs) === 0) this.#tenants.delete(name);
  }
}

/** The buckets of the principals of one tenant. */
class Buckets {
  readonly #byName = new Map<string, Bucket>();
  readonly #max: number;
  #clearedAtMs = -LOOK_MS;

  constructor(max: number) {
    this.#max = max;
  }

  /** The bucket, refilled to the current time. */
  of(name: string, limit: number, nowMs: number): Bucket {
    const known = this.#byName.get(name);
    if (known) return fill(known, limit, nowMs);
    if (this.#byName.size >= this.#max && nowMs - this.#clearedAtMs >= LOOK_MS) {
      this.#clearedAtMs = nowMs;
      this.clear(nowMs);
    }
    const others = name.slice(0, PREFIX);
    if (this.#byName.size >= this.#max && name !== others) return this.of(others, limit, nowMs);
    const fresh = { tokens: limit, atMs: nowMs, limit };
    this.#byName.set(name, fresh);
    return fresh;
  }

  /** Removes the full buckets, and returns the number of the others. */
  clear(nowMs: number): number {
    for (const [name, bucket] of this.#byName) if (isFull(bucket, nowMs)) this.#byName.delete(name);
    return this.#byName.size;
  }
}

const filled = ({ tokens, atMs }: Bucket, limit: number, nowMs: number): number =>
  Math.min(limit, tokens + ((nowMs - atMs) / MINUTE_MS) * limit);

const isFull = (bucket: Bucket, nowMs: number): boolean =>
  filled(bucket, bucket.limit, nowMs) >= bucket.limit;

function fill(bucket: Bucket, limit: number, nowMs: number): Bucket {
  bucket.tokens = filled(bucket, limit, nowMs);
  bucket.atMs = nowMs;
  bucket.limit = limit;
  return bucket;
}

/** Milliseconds until there is a token. */
const waitMs = ({ tokens, limit }: Bucket): number =>
  tokens >= 1 ? 0 : Math.ceil(((1 - tokens) / limit) * MINUTE_MS);
