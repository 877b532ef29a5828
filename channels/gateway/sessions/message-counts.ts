/** Which entries of a transcript are messages that people are shown, and how many there are. */
import type { Address } from '../../../protocols/address.ts';
import type { SessionEntry } from '../../../protocols/session.ts';
import type { System } from '../../../runtime/index.ts';
import { HISTORY_COUNTS_MAX, HISTORY_WINDOW } from '../limits.ts';

/** Prompts are for models, and a run that ended well has its answer. */
export const isMessage = (entry: SessionEntry): boolean =>
  entry.type === 'run.end' ? ENDINGS.has(entry.status) : entry.type !== 'prompt';

const ENDINGS = new Set<string>(['error', 'aborted', 'timeout']);

/**
 * How many messages each session has, counted once and from there on. Holds at most
 * HISTORY_COUNTS_MAX sessions.
 */
export class MessageCounts {
  readonly #counts = new Map<string, { readonly upTo: number; readonly count: number }>();

  /** Messages up to the transcript position `last`. */
  async total(
    { system }: { readonly system: Pick<System, 'transcripts'> },
    actor: Address,
    last: number,
  ): Promise<number> {
    let { upTo, count } = this.#counts.get(actor) ?? { upTo: 0, count: 0 };
    while (upTo < last) {
      const read = await system.transcripts.read(actor, { from: upTo + 1, limit: HISTORY_WINDOW });
      const found = read.filter(({ position }) => position <= last);
      count += found.filter(({ entry }) => isMessage(entry as SessionEntry)).length;
      upTo = found.at(-1)?.position ?? last;
    }
    this.#counts.delete(actor);
    this.#counts.set(actor, { upTo, count });
    const oldest = this.#counts.keys().next();
    if (this.#counts.size > HISTORY_COUNTS_MAX && !oldest.done) this.#counts.delete(oldest.value);
    return count;
  }
}
