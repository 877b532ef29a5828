/** Counts the entries of a transcript that are displayed as messages. */
import type { Address } from '../../../protocols/address.ts';
import type { SessionEntry } from '../../../protocols/session.ts';
import { LruMap, type System } from '../../../runtime/index.ts';
import { HISTORY_COUNTS_MAX, HISTORY_WINDOW } from '../limits.ts';

/** False for prompts, which only models read, and for the end of a run that has an answer. */
export const isMessage = (entry: SessionEntry): boolean =>
  entry.type === 'run.end' ? ENDINGS.has(entry.status) : entry.type !== 'prompt';

const ENDINGS = new Set<string>(['error', 'aborted', 'timeout']);

/**
 * The number of messages in each session. The first call counts all entries; later calls count only
 * the new ones. Caches at most HISTORY_COUNTS_MAX sessions.
 */
export class MessageCounts {
  readonly #counts = new LruMap<string, { readonly upTo: number; readonly count: number }>(
    HISTORY_COUNTS_MAX,
  );

  /** Messages up to the transcript position `last`. */
  async total(
    { transcripts }: Pick<System, 'transcripts'>,
    actor: Address,
    last: number,
  ): Promise<number> {
    let { upTo, count } = this.#counts.get(actor) ?? { upTo: 0, count: 0 };
    while (upTo < last) {
      const read = await transcripts.read(actor, { from: upTo + 1, limit: HISTORY_WINDOW });
      const found = read.filter(({ position }) => position <= last);
      count += found.filter(({ entry }) => isMessage(entry as SessionEntry)).length;
      upTo = found.at(-1)?.position ?? last;
    }
    this.#counts.set(actor, { upTo, count });
    return count;
  }
}
