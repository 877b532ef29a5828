/**
 * Counts how often an account (an address, or an approved device) sent a wrong secret over
 * WebSocket and HTTP, and limits its further attempts.
 *
 * An account with too many failures is locked. Its attempts are still checked; otherwise any client
 * at the same address could lock out the owner. If every secret is long and random, guessing is
 * hopeless at any speed, and attempts are checked at once. Otherwise one attempt is checked per
 * AUTH_TURN_MS, the newest first. A right secret thus does not wait behind a burst of wrong ones,
 * and guessing stays bounded.
 *
 * Invariants: while an account is locked, a guessable secret is compared only in a turn; an attempt
 * of a disconnected client uses no turn.
 */
import { type Clock, LruMap } from '../../../runtime/index.ts';
import { isLoopback, type RateLimit } from './access.ts';
import {
  AUTH_ACCOUNTS_MAX,
  AUTH_FAILURES_MAX,
  AUTH_LOCKOUT_MS,
  AUTH_TURN_MS,
  AUTH_WAITING_MAX,
  AUTH_WINDOW_MS,
} from '../limits.ts';

export type Attempt = {
  /** false when its client has disconnected */
  readonly isOpen: () => boolean;
  /** called when the attempt must wait for a turn */
  readonly onWait?: () => void;
};
type WaitingAttempt = Attempt & { readonly settle: (isTurn: boolean) => void };

export class AuthFailures {
  readonly #failures = new LruMap<string, { times: number[]; lockedUntil: number }>(
    AUTH_ACCOUNTS_MAX,
  );
  /**
   * attempts that wait for a turn, the newest last; an empty list means that a turn was just used
   */
  readonly #lines = new Map<string, WaitingAttempt[]>();
  readonly #limit: Partial<RateLimit>;
  readonly #clock: Clock;
  readonly #isHopeless: boolean;

  /**
   * @param limit read at each wrong secret, so it may change
   * @param isHopeless every secret that a client can show is unguessable
   */
  constructor(limit: Partial<RateLimit> = {}, clock: Clock, isHopeless = false) {
    this.#isHopeless = isHopeless;
    this.#limit = limit;
    this.#clock = clock;
  }

  /** Milliseconds until the account is unlocked; 0 when it is not locked. */
  lockedForMs(account: string): number {
    const { lockedUntil = 0 } = this.#failures.get(account) ?? {};
    return Math.max(0, lockedUntil - this.#clock.monotonicMs());
  }

  /**
   * Resolves with true when the attempt may be checked: at once unless the account is locked.
   * Resolves with false when its client has disconnected or too many newer attempts wait.
   */
  turn(account: string, attempt: Attempt): Promise<boolean> {
    const line = this.#lines.get(account);
    if (this.#isHopeless) return Promise.resolve(true);
    if (line === undefined) {
      if (this.lockedForMs(account) > 0) this.#nextTurnOf(account, []);
      return Promise.resolve(true);
    }
    attempt.onWait?.();
    if (line.length >= AUTH_WAITING_MAX) dropDisconnected(line);
    if (line.length >= AUTH_WAITING_MAX) line.shift()?.settle(false);
    return new Promise((settle) => line.push({ ...attempt, settle }));
  }

  /** Counts a wrong secret. It restarts the lockout of a locked account. */
  count(account: string): void {
    const {
      maxAttempts = AUTH_FAILURES_MAX,
      windowMs = AUTH_WINDOW_MS,
      lockoutMs = AUTH_LOCKOUT_MS,
      exemptLoopback = false,
    } = this.#limit;
    if (exemptLoopback && isLoopback(account)) return;
    const now = this.#clock.monotonicMs();
    const times = (this.#failures.get(account)?.times ?? []).filter(
      (time) => time > now - windowMs,
    );
    times.push(now);
    const isLocked = times.length >= maxAttempts || this.lockedForMs(account) > 0;
    this.#failures.set(account, {
      times: isLocked ? [] : times,
      lockedUntil: isLocked ? now + lockoutMs : 0,
    });
  }

  #nextTurnOf(account: string, line: WaitingAttempt[]): void {
    this.#lines.set(account, line);
    this.#clock.after(AUTH_TURN_MS, () => {
      dropDisconnected(line);
      const next = line.pop();
      if (next === undefined) this.#lines.delete(account);
      else {
        this.#nextTurnOf(account, line);
        next.settle(true);
      }
    });
  }
}

const dropDisconnected = (line: WaitingAttempt[]): void => {
  const open = line.filter(({ isOpen, settle }) => {
    const isHere = isOpen();
    if (!isHere) settle(false);
    return isHere;
  });
  line.splice(0, line.length, ...open);
};
