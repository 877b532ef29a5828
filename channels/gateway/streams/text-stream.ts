/**
 * TextStream: the text of an answer so far, put together from deltas that name their own place, and
 * what of it the watchers have not been told yet.
 *
 * Invariants:
 *  1. A delta at a lower offset than seen replaces everything from there on (a model call that was
 *     begun again): the next `take` then says `replace`.
 *  2. A watcher that appends every delta and starts again from every `replace` holds exactly
 *     `text`.
 *  3. A delta at a higher offset (the Bus lost one, or this process came late) leaves one '…' in
 *     the hole.
 *  4. `text` never grows beyond its bound; what comes after it is left out.
 */
import { LIVE_TEXT_CHARACTERS_MAX } from '../limits.ts';

const HOLE = '…';

export class TextStream {
  #text = '';
  /** characters of `text` that watchers were told */
  #told = 0;
  #replaced = false;
  /** characters of the answer that are not in `text`, all of them before `#holeEnd` */
  #skipped = 0;
  #holeEnd = 0;
  readonly #charactersMax: number;

  constructor(charactersMax = LIVE_TEXT_CHARACTERS_MAX) {
    this.#charactersMax = charactersMax;
  }

  get text(): string {
    return this.#text;
  }

  /** True when `take` has something to tell. */
  get pending(): boolean {
    return this.#replaced || this.#text.length > this.#told;
  }

  apply(delta: string, offset: number): void {
    const at = this.#placeOf(offset);
    if (at < this.#text.length) this.#cut(at);
    else if (at > this.#text.length) this.#leaveHole(at - this.#text.length);
    const room = this.#charactersMax - this.#text.length;
    if (room > 0) this.#text += delta.length <= room ? delta : delta.slice(0, room);
  }

  /** What is new since the last `take`; the whole text when `replace` is true. */
  take(): { readonly delta: string; readonly replace: boolean } {
    const replace = this.#replaced;
    const delta = replace ? this.#text : this.#text.slice(this.#told);
    this.#told = this.#text.length;
    this.#replaced = false;
    return { delta, replace };
  }

  /** Where in `text` a place of the answer is. */
  #placeOf(offset: number): number {
    const full = this.#text.length >= this.#charactersMax;
    const at = offset - this.#skipped < this.#holeEnd ? offset : offset - this.#skipped;
    return full ? Math.min(at, this.#text.length) : at;
  }

  #cut(at: number): void {
    this.#text = this.#text.slice(0, at);
    if (at < this.#holeEnd) {
      this.#skipped = 0;
      this.#holeEnd = 0;
    }
    if (at < this.#told) {
      this.#told = at;
      this.#replaced = true;
    }
  }

  #leaveHole(missing: number): void {
    this.#text += HOLE;
    this.#skipped += missing - HOLE.length;
    this.#holeEnd = this.#text.length;
  }
}
