/**
 * The text of an answer so far, joined from deltas with offsets, and the part of it that was not
 * taken yet.
 *
 * Invariants:
 *  1. A delta at a lower offset replaces everything from there on (the model call was repeated).
 *     The next `take` then returns `replace`.
 *  2. A receiver that appends every delta, and starts again at every `replace`, has exactly `text`.
 *  3. A delta at a higher offset (the Bus lost one, or this process started late) leaves one '…' in
 *     the gap.
 *  4. `text` never exceeds its bound; further text is dropped.
 */
import { LIVE_TEXT_CHARACTERS_MAX } from '../limits.ts';

const GAP = '…';

export class TextStream {
  #text = '';
  /** characters of `text` that `take` has returned */
  #taken = 0;
  #replaced = false;
  /** characters of the answer that are missing in `text`, all of them before `#gapEnd` */
  #skipped = 0;
  #gapEnd = 0;
  readonly #charactersMax: number;

  constructor(charactersMax = LIVE_TEXT_CHARACTERS_MAX) {
    this.#charactersMax = charactersMax;
  }

  get text(): string {
    return this.#text;
  }

  /** True when `take` has something to return. */
  get pending(): boolean {
    return this.#replaced || this.#text.length > this.#taken;
  }

  apply(delta: string, offset: number): void {
    const at = this.#placeOf(offset);
    if (at < this.#text.length) this.#cut(at);
    else if (at > this.#text.length) this.#leaveGap(at - this.#text.length);
    const room = this.#charactersMax - this.#text.length;
    if (room > 0) this.#text += delta.length <= room ? delta : delta.slice(0, room);
  }

  /** The new text since the last `take`; the whole text when `replace` is true. */
  take(): { readonly delta: string; readonly replace: boolean } {
    const replace = this.#replaced;
    const delta = replace ? this.#text : this.#text.slice(this.#taken);
    this.#taken = this.#text.length;
    this.#replaced = false;
    return { delta, replace };
  }

  /** Converts an offset in the answer to an index in `text`. */
  #placeOf(offset: number): number {
    const full = this.#text.length >= this.#charactersMax;
    const at = offset - this.#skipped < this.#gapEnd ? offset : offset - this.#skipped;
    return full ? Math.min(at, this.#text.length) : at;
  }

  #cut(at: number): void {
    this.#text = this.#text.slice(0, at);
    if (at < this.#gapEnd) {
      this.#skipped = 0;
      this.#gapEnd = 0;
    }
    if (at < this.#taken) {
      this.#taken = at;
      this.#replaced = true;
    }
  }

  #leaveGap(missing: number): void {
    this.#text += GAP;
    this.#skipped += missing - GAP.length;
    this.#gapEnd = this.#text.length;
  }
}
