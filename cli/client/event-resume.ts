/**
 * EventResume: brings the events that a client missed between two connections of the same gateway
 * into their order: first what was missed, then what came since the new hello.
 *
 * Invariants: an event is passed on once; what is held back is passed on in the end, also where the
 * gateway cannot tell what was missed.
 */
import { defined } from '../../protocols/defined.ts';
import type {
  EventFrame,
  EventsResumeParams,
  EventsResumeResult,
  HelloOk,
} from '../../protocols/gateway/index.ts';

export class EventResume {
  /** the connection that is, or was last, and its last event */
  #at: EventsResumeParams | undefined;
  /** the connection whose events are missing; undefined: none */
  #lost: EventsResumeParams | undefined;
  #held: EventFrame[] = [];
  /** events that were missed and are still to come; undefined: not known yet */
  #missing: number | undefined;

  /** A new connection has said hello. Returns what to ask the gateway, if anything. */
  opened({ server, features }: HelloOk): EventsResumeParams | undefined {
    // A connection that ended before it was told what was missed has taken nothing over.
    this.#lost ??= this.#at;
    const { connId, bootId } = server;
    this.#at = { connId, seq: 0, ...defined({ bootId }) };
    this.#held = [];
    this.#missing = undefined;
    if (!features.methods.includes('events.resume')) this.#lost = undefined;
    return this.#lost;
  }

  /** Returns the events that are next. */
  heard(frame: EventFrame): readonly EventFrame[] {
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

  /** The gateway's answer; undefined: it had none. Returns the events that are next. */
  answered(result: EventsResumeResult | undefined): readonly EventFrame[] {
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
