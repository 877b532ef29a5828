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
 * Invariant: an end is postponed by at most CONNECTIONS_MAX turns, and only from a turn in which a
 * connection was accepted. The bound is a number, because on a busy machine a time passes without
 * any work.
 */
const CONNECTIONS_MAX = 128;

export class AcceptFirst {
  #hasAccepted = false;

  /** To be called for each accepted connection, in the turn of the event loop that accepts it. */
  readonly accepted = (): void => {
    this.#hasAccepted = true;
  };

  /** Calls once, at the end of this turn of the event loop or of a later one. */
  readonly atTurnEnd = (call: () => void): void => {
    let left = CONNECTIONS_MAX;
    const end = () => {
      const isPostponed = this.#hasAccepted && left > 0;
      this.#hasAccepted = false;
      left--;
      if (isPostponed) setImmediate(end);
      else call();
    };
    setImmediate(end);
  };
}
