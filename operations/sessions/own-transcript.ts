/**
 * The transcript of a session as an export contains it: without prompts, which a session builds
 * itself, and without what a deleted session of the same key left. A compaction names the number of
 * the first entry that it keeps, from 1, instead of its position. Pure.
 */
import type { SessionEntry } from '../../protocols/session.ts';

/** The reason in the entry with which older versions deleted a session. */
const DELETED = 'closed';

type Positioned = { readonly position: number; readonly entry: SessionEntry };

/** Reads entries in their order. Memory: one number per entry. */
export class OwnTranscript {
  /** positions of the entries */
  #positions: number[] = [];
  #resetTo: string | undefined;

  /** Entries read so far that belong to the session. */
  get length(): number {
    return this.#positions.length;
  }

  /**
   * Returns the entry as it is exported; undefined: it is not part of the export; `deleted`: nor is
   * any entry before it.
   */
  read({ position, entry }: Positioned, sessionId: string): SessionEntry | 'deleted' | undefined {
    if (entry.type === 'prompt') return undefined;
    if (entry.type === 'reset' && this.#isDeletion(entry, sessionId)) {
      this.#positions = [];
      return 'deleted';
    }
    if (entry.type === 'reset') this.#resetTo = entry.sessionId;
    this.#positions.push(position);
    if (entry.type !== 'compaction') return entry;
    return { ...entry, keptFrom: this.#numberOf(entry.keptFrom) };
  }

  /** The position of an entry by its number, from 1. */
  positionOf(number: number): number | undefined {
    return this.#positions[number - 1];
  }

  /** A reset names the session that begins, a deletion the one that ends. */
  #isDeletion(entry: SessionEntry & { type: 'reset' }, sessionId: string): boolean {
    if (entry.deleted) return true;
    if (entry.reason !== DELETED || entry.sessionId === sessionId) return false;
    return this.#resetTo === undefined || this.#resetTo === entry.sessionId;
  }

  #numberOf(position: number): number {
    let low = 0;
    let high = this.#positions.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#positions[middle]! < position) low = middle + 1;
      else high = middle;
    }
    return low + 1;
  }
}
