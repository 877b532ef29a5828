/**
 * AcceptFirst: postpones the end of a turn of the event loop while connections arrive.
 *
 * libuv (since 1.45) accepts one connection per turn. A turn in which a frame is written also runs
 * what the frame releases, which may be hundreds of actors' turns. So without this a client behind
 * n other new connections waits for n such turns before its request is read.
 *
 * Boundary: it does not know servers or logs. Who accepts connections reports each of them, and the
 * embedded log asks for the end of the turn.
 *
 * Invariant: an end is postponed by at most HOLD_MS, and not at all unless a connection was
 * accepted in this very turn.
 */
import { type Clock, systemClock } from '../clock/clock.ts';

/** About a hundred connections with their first requests. */
const HOLD_MS = 100;

export class AcceptFirst {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #hasAccepted = false;

  constructor(clock: Pick<Clock, 'monotonicMs'> = systemClock) {
    this.#clock = clock;
  }

  /** To be called for each accepted connection, in the turn of the event loop that accepts it. */
  readonly accepted = (): void => {
    this.#hasAccepted = true;
  };

  /** Calls once, at the end of this turn of the event loop or of a later one. */
  readonly atTurnEnd = (call: () => void): void => {
    let endMs: number | undefined;
    const end = () => {
      const isAccepting = this.#hasAccepted;
      this.#hasAccepted = false;
      if (!isAccepting) return call();
      const nowMs = this.#clock.monotonicMs();
      endMs ??= nowMs + HOLD_MS;
      if (nowMs >= endMs) return call();
      setImmediate(end);
    };
    setImmediate(end);
  };
}
