/**
 * EventResume: orders the events that a client missed between two connections to the same gateway.
 * The missed events are passed on first, then those that arrived after the new handshake.
 *
 * Invariants: each event is passed on once. Events that are held back are passed on in the end,
 * also if the gateway cannot return the missed ones.
 */
import { defined } from '../protocols/defined.ts';
import type {
  EventFrame,
  EventsResumeParams,
  EventsResumeResult,
  HelloOk,
} from '../protocols/gateway/index.ts';

export class EventResume {
  /** the present or last connection and its last event */
  #at: EventsResumeParams | undefined;
  /** the connection whose events are missing; undefined: none */
  #lost: EventsResumeParams | undefined;
  #held: EventFrame[] = [];
  /** how many missed events are still to arrive; undefined: not known yet */
  #missing: number | undefined;

  /** A new connection has completed its handshake. Returns the request to send, if any. */
  onOpen({ server, features }: HelloOk): EventsResumeParams | undefined {
    // A connection that was lost before the gateway's response has not resumed any events.
    this.#lost ??= this.#at;
    const { connId, bootId } = server;
    this.#at = { connId, seq: 0, ...defined({ bootId }) };
    this.#held = [];
    this.#missing = undefined;
    if (!features.methods.includes('events.resume')) this.#lost = undefined;
    return this.#lost;
  }

  /** Missed events are still to be passed on. */
  get isPending(): boolean {
    return this.#lost !== undefined;
  }

  /** Whether events of this connection are missing before this one. Call before `onEvent`. */
  isGap({ seq }: EventFrame): boolean {
    return seq !== undefined && seq !== (this.#at?.seq ?? 0) + 1;
  }

  /** An event arrived. Returns the events to pass on now. */
  onEvent(frame: EventFrame): readonly EventFrame[] {
    if (this.#at !== undefined && frame.seq !== undefined) {
      this.#at = { ...this.#at, seq: frame.seq };
    }
    if (this.#lost === undefined) return [frame];
    if (this.#missing === undefined) {
      this.#held.push(frame);
      return [];
    }
    this.#missing--;
    return this.#missing > 0 ? [frame] : [frame, ...this.#release()];
  }

  /** The gateway's response, undefined if it failed. Returns the events to pass on now. */
  onResponse(result: EventsResumeResult | undefined): readonly EventFrame[] {
    this.#missing = result?.resumed === true ? result.frames : 0;
    return this.#missing > 0 ? [] : this.#release();
  }

  #release(): readonly EventFrame[] {
    const held = this.#held;
    this.#lost = undefined;
    this.#held = [];
    return held;
  }
}
