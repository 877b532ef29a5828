/**
 * SameTexts: the chunks of each text, by its key. Nearly every text is that of one chunk, which
 * then takes no object of its own.
 */
import { KeyMap } from './key-map.ts';

export class SameTexts {
  readonly #ids = new KeyMap<number | Set<number>>();

  /** Empty for an unknown key. */
  idsOf(key: string): readonly number[] {
    const ids = this.#ids.get(key) ?? [];
    return typeof ids === 'number' ? [ids] : [...ids];
  }

  add(key: string, id: number): void {
    const ids = this.#ids.get(key);
    if (ids === undefined) this.#ids.set(key, id);
    else if (typeof ids === 'number') this.#ids.set(key, new Set([ids, id]));
    else ids.add(id);
  }

  /** @returns whether this was the last chunk of the text; not for an unknown key */
  remove(key: string, id: number): boolean {
    const ids = this.#ids.get(key);
    if (ids instanceof Set && ids.delete(id) && ids.size > 0) return false;
    return this.#ids.delete(key);
  }
}
