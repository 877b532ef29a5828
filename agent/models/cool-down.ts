/**
 * Cool-down: which candidates are better left alone for a while, because they have just failed. One
 * table per catalog, in the worker's memory: another worker finds out by itself, and a restart
 * forgets.
 *
 * What a failure says something about:
 *  - a key that was refused, or has no money left: every model behind that key (`profile`);
 *  - an address where nobody answers: every key and model there (`provider`);
 *  - a rate limit, an overload, a stream that was cut or stalls: that model with that key
 *    (`model`), because all providers count limits per model.
 *
 * Invariants:
 *  1. A success ends the cool-down of its model, key and address.
 *  2. The pause grows with failures one after the other, never by calls that failed side by side:
 *     what began before the pause began only tells the same failure again.
 *  3. No pause is longer than a day, and the table holds at most `entriesMax` rows.
 */
import type { TroupeError } from '../../protocols/errors.ts';

/** What is asked: a model with one key at one provider. */
export type CoolDownKey = {
  readonly provider: string;
  readonly profile: string;
  /** the provider's own id */
  readonly model: string;
};

/** One call, from its begin to the one of the two that is told of it. */
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

/** Each failure after the other makes the pause so many times longer, up to its bound. */
const growth = 4;
/** Failures so long ago do not make the next pause longer. */
const forgottenAfterMs = day;
const entriesMax = 10_000;

const rateLimited: Pause = { scope: 'model', baseMs: minute, maxMs: hour };
const overloaded: Pause = { scope: 'model', baseMs: 30 * second, maxMs: 10 * minute };
const notReached: Pause = { scope: 'provider', baseMs: 30 * second, maxMs: 10 * minute };
const keyRefused: Pause = { scope: 'profile', baseMs: hour, maxMs: hour };
const modelForbidden: Pause = { scope: 'model', baseMs: hour, maxMs: hour };

/** How long what cools after a failure; undefined when the failure says nothing about the place. */
const pauseFor = ({ code, details }: TroupeError): Pause | undefined => {
  switch (code) {
    case 'RATE_LIMIT_EXCEEDED':
      return rateLimited;
    case 'UNAUTHORIZED':
      return keyRefused;
    case 'FORBIDDEN':
      // 403 and a day's quota are about the model; a bill that is not paid is about the key
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

  /** @param monotonicMs now, milliseconds of a clock that nobody sets */
  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** Milliseconds until the place is ready; 0 when it is. */
  remainingMs(place: CoolDownKey): number {
    const now = this.#monotonicMs();
    const untils = keysOf(place).map((key) => this.#rows.get(key)?.untilMs ?? 0);
    return Math.max(0, Math.max(...untils) - now);
  }

  /** Notes that a call begins now. */
  begin(place: CoolDownKey): Watched {
    const beganMs = this.#monotonicMs();
    return {
      succeeded: () => this.#succeeded(place, beganMs),
      failed: (error) => this.#failed(place, error, beganMs),
    };
  }

  /** A call that began before the failure says nothing about what came after it. */
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
    // a call that ran when the pause began has not seen it: it tells the same failure again
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

  /** Drops what is over; if all rows cool, the oldest. */
  #sweep(now: number): void {
    for (const [key, { untilMs }] of this.#rows) if (untilMs <= now) this.#rows.delete(key);
    for (const key of this.#rows.keys()) {
      if (this.#rows.size <= entriesMax) break;
      this.#rows.delete(key);
    }
  }
}

/** JSON, so that no name can look like another's. */
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
