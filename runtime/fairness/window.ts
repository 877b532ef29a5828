/**
 * Window: entries of this process in one mailbox that are being appended, or are appended and not
 * known to be applied. A short window keeps the queue of the shard short, and with it the wait of
 * later messages.
 *
 * Invariant: `entries` and `bytes` are those of the tickets that are neither failed nor released.
 */
import type { Position } from '../log/log.ts';

export type WindowBound = { readonly entries: number; readonly bytes: number };

/**
 * Permission to append one entry. The caller reports once how the append ended; later reports are
 * ignored.
 */
export interface Ticket {
  /** The log answered: the entry counts until a floor has passed it. */
  appended(position: Position): void;
  /** The entry was not stored, or its outcome is unknown: it no longer counts. */
  failed(): void;
}

export class Window {
  readonly #max: WindowBound;
  readonly #onRoom: () => void;
  /** appended and not yet applied, by position */
  #appended: HeldTicket[] = [];
  /** those before it in `#appended` are released */
  #from = 0;
  #floor: Position = 0;
  entries = 0;
  bytes = 0;

  /** `onRoom` is called whenever tickets have left. */
  constructor(max: WindowBound, onRoom: () => void) {
    this.#max = max;
    this.#onRoom = onRoom;
  }

  /** An entry larger than the window fits when it is empty. */
  fits(bytes: number): boolean {
    if (this.entries === 0) return true;
    return this.entries < this.#max.entries && this.bytes + bytes <= this.#max.bytes;
  }

  take(bytes: number): Ticket {
    this.entries++;
    this.bytes += bytes;
    return new HeldTicket(this, bytes);
  }

  /** Releases the applied entries. Returns their number. */
  applied(floor: Position): number {
    if (floor <= this.#floor) return 0;
    this.#floor = floor;
    return this.#release(floor);
  }

  /** Counts appended entries as applied, because no report arrives. Returns their number. */
  presumeApplied(): number {
    return this.#release(Number.POSITIVE_INFINITY);
  }

  /** For tickets only. */
  store(ticket: HeldTicket): void {
    if (ticket.position <= this.#floor) return this.drop(ticket);
    // Answers come nearly in order of their positions.
    let at = this.#appended.length;
    while (at > this.#from && this.#appended[at - 1]!.position > ticket.position) at--;
    if (at === this.#appended.length) this.#appended.push(ticket);
    else this.#appended.splice(at, 0, ticket);
  }

  /** For tickets only. */
  drop(ticket: HeldTicket): void {
    this.#leave(ticket);
    this.#onRoom();
  }

  #release(floor: Position): number {
    const before = this.#from;
    for (; this.#from < this.#appended.length; this.#from++) {
      const ticket = this.#appended[this.#from]!;
      if (ticket.position > floor) break;
      this.#leave(ticket);
    }
    const released = this.#from - before;
    if (this.#from * 2 >= this.#appended.length) {
      this.#appended.splice(0, this.#from);
      this.#from = 0;
    }
    if (released > 0) this.#onRoom();
    return released;
  }

  #leave({ bytes }: HeldTicket): void {
    this.entries--;
    this.bytes -= bytes;
  }
}

class HeldTicket implements Ticket {
  readonly bytes: number;
  readonly #window: Window;
  #notified = false;
  position: Position = 0;

  constructor(window: Window, bytes: number) {
    this.#window = window;
    this.bytes = bytes;
  }

  appended(position: Position): void {
    if (this.#notified) return;
    this.#notified = true;
    this.position = position;
    this.#window.store(this);
  }

  failed(): void {
    if (this.#notified) return;
    this.#notified = true;
    this.#window.drop(this);
  }
}
