/**
 * Cool-down: skips candidates that failed recently. One table per catalog, in the worker's memory;
 * other workers have their own, and a restart clears it.
 *
 * What a failure affects:
 *  - a refused key, or one without credit: every model behind that key (`profile`);
 *  - an unreachable address: every key and model there (`provider`);
 *  - a rate limit, an overload, a cut or stalled stream: that model with that key (`model`),
 *    because all providers count limits per model.
 *
 * Invariants:
 *  1. A success ends the cool-down of its model, key and address.
 *  2. The pause grows with consecutive failures, not with concurrent ones: a call that started
 *     before the pause reports the same failure again.
 *  3. No pause is longer than a day, and the table has at most `entriesMax` rows.
 */
import type { TroupeError } from '../../protocols/errors.ts';

/** A model, with one key, at one provider. */
export type CoolDownKey = {
  readonly provider: string;
  readonly profile: string;
  /** the provider's own id */
  readonly model: string;
};

/** One running call; it reports either its success or its failure. */
export type Watched = {
  succeeded(): void;
  failed(error: TroupeError): void;
};

type Scope = 'model' | 'profile' | 'provider';
type Pause = { readonly scope: Scope; readonly baseMs: number; readonly maxMs: number };
type Row = { fromMs: number; untilMs: number; failures: number; lastMs: number };

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Factor of the pause per consecutive failure, up to the maximum. */
const growth = 4;
/** Older failures do not lengthen the next pause. */
const forgottenAfterMs = day;
const entriesMax = 10_000;

const rateLimited: Pause = { scope: 'model', baseMs: minute, maxMs: hour };
const overloaded: Pause = { scope: 'model', baseMs: 30 * second, maxMs: 10 * minute };
const notReached: Pause = { scope: 'provider', baseMs: 30 * second, maxMs: 10 * minute };
const keyRefused: Pause = { scope: 'profile', baseMs: hour, maxMs: hour };
const modelForbidden: Pause = { scope: 'model', baseMs: hour, maxMs: hour };

/** The pause after a failure; undefined when the failure does not concern the candidate. */
const pauseFor = ({ code, details }: TroupeError): Pause | undefined => {
  switch (code) {
    case 'RATE_LIMIT_EXCEEDED':
      return rateLimited;
    case 'UNAUTHORIZED':
      return keyRefused;
    case 'FORBIDDEN':
      // 403 and a daily quota concern the model; an unpaid bill concerns the key
      return details?.status === 403 || details?.type === 'quota_per_day'
        ? modelForbidden
        : keyRefused;
    case 'UNAVAILABLE':
      return details?.reason === 'not_reached' ? notReached : overloaded;
    case 'DEADLINE_EXCEEDED':
    case 'INTERNAL':
      return overloaded;
    default:
      return undefined;
  }
};

export class CoolDowns {
  readonly #monotonicMs: () => number;
  readonly #rows = new Map<string, Row>();

  /** @param monotonicMs milliseconds of a monotonic clock */
  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** Milliseconds until the candidate may be used; 0 when it may be used now. */
  remainingMs(place: CoolDownKey): number {
    const now = this.#monotonicMs();
    const untils = keysOf(place).map((key) => this.#rows.get(key)?.untilMs ?? 0);
    return Math.max(0, Math.max(...untils) - now);
  }

  /** Records the start of a call. */
  begin(place: CoolDownKey): Watched {
    const beganMs = this.#monotonicMs();
    return {
      succeeded: () => this.#succeeded(place, beganMs),
      failed: (error) => this.#failed(place, error, beganMs),
    };
  }

  /** A call that started before the failure does not end its cool-down. */
  #succeeded(place: CoolDownKey, beganMs: number): void {
    for (const key of keysOf(place)) {
      const row = this.#rows.get(key);
      if (row && row.fromMs <= beganMs) this.#rows.delete(key);
    }
  }

  #failed(place: CoolDownKey, error: TroupeError, beganMs: number): void {
    const pause = pauseFor(error);
    if (pause === undefined) return;
    const now = this.#monotonicMs();
    const key = keyOf(pause.scope, place);
    const row = this.#rows.get(key);
    const known = row !== undefined && now - row.lastMs < forgottenAfterMs ? row : undefined;
    // a call that was running when the pause began reports the same failure again
    const again = known !== undefined && beganMs < known.fromMs;
    const failures = again ? known.failures : (known?.failures ?? 0) + 1;
    const fromMs = again ? known.fromMs : now;
    const grownMs = Math.min(pause.baseMs * growth ** (failures - 1), pause.maxMs);
    const askedMs = error.retryAfterMs;
    const pauseMs = askedMs === undefined ? grownMs : Math.min(Math.max(askedMs, second), day);
    const untilMs = Math.max(
      again ? known.untilMs : 0,
      (askedMs === undefined ? fromMs : now) + pauseMs,
    );
    this.#rows.set(key, { fromMs, untilMs, failures, lastMs: now });
    if (this.#rows.size > entriesMax) this.#sweep(now);
  }

  /** Removes expired rows, then the oldest ones while there are too many. */
  #sweep(now: number): void {
    for (const [key, { untilMs }] of this.#rows) if (untilMs <= now) this.#rows.delete(key);
    for (const key of this.#rows.keys()) {
      if (this.#rows.size <= entriesMax) break;
      this.#rows.delete(key);
    }
  }
}

/** JSON, so that different names cannot form the same key. */
const keyOf = (scope: Scope, { provider, profile, model }: CoolDownKey): string =>
  JSON.stringify(
    scope === 'provider'
      ? [provider]
      : scope === 'profile'
        ? [provider, profile]
        : [provider, profile, model],
  );

const keysOf = (place: CoolDownKey): string[] =>
  (['provider', 'profile', 'model'] as const).map((scope) => keyOf(scope, place));
