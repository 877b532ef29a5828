/**
 * Retaining: what retention does below the actors, on any log: it reads what is stored without an
 * owner, and trims it.
 */
import type { Address } from '../protocols/address.ts';
import { fullHistorySubject, historySubject, transcriptSubject } from '../protocols/subjects.ts';
import type { DeadLetterLog } from './dead-letters.ts';
import { coverFullTurns, decodeFullTurns } from './history/full-turns.ts';
import { decodeSegment } from './history/segment.ts';
import type { Log } from './log/log.ts';
import type { AgedSegment, LetterPlace, Retaining } from './retaining-port.ts';
import type { LogTranscripts } from './transcripts.ts';

type RetainingOptions = {
  readonly log: Log;
  readonly env: string;
  readonly shards: number;
  readonly letters: Pick<DeadLetterLog, 'aged' | 'removeAged'>;
  readonly transcripts: Pick<LogTranscripts, 'forget'>;
};

/** Segments hold the summaries of many turns. */
const SEGMENTS_PAGE = 16;

export class LogRetaining implements Retaining {
  readonly #o: RetainingOptions;

  constructor(options: RetainingOptions) {
    this.#o = options;
  }

  letters(tenant: string, from?: LetterPlace) {
    return this.#o.letters.aged(tenant, from);
  }

  removeLetters(domain: string, ids: ReadonlySet<string>): Promise<void> {
    return this.#o.letters.removeAged(domain, ids);
  }

  async *segments(
    after: Pick<AgedSegment, 'shard' | 'position'> = { shard: 0, position: 0 },
  ): AsyncGenerator<AgedSegment> {
    const { log, env, shards } = this.#o;
    for (let { shard } = after; shard < shards; shard++) {
      const subject = historySubject(env, shard);
      const last = await log.last(subject);
      for (let next = shard === after.shard ? after.position + 1 : 1; next <= last; ) {
        const entries = await log.read(subject, next, { limit: SEGMENTS_PAGE });
        for (const entry of entries) {
          const { position, lastAt, full } = decodeSegment(entry);
          const bytes = entry.bytes.length;
          yield { shard, position, lastAt, full, bytes, isLast: position >= last };
        }
        if (entries.length === 0) break;
        next = entries.at(-1)!.position + 1;
      }
    }
  }

  async turnBytes(actor: Address, position: number): Promise<number> {
    const { log, env } = this.#o;
    const [entry] = await log.read(fullHistorySubject(env, actor), position, { limit: 1 });
    if (entry?.position !== position) return 0;
    return decodeFullTurns(entry).length > 0 ? entry.bytes.length : 0;
  }

  async removeTurns(actor: Address, upTo: number): Promise<void> {
    const { log, env } = this.#o;
    const subject = fullHistorySubject(env, actor);
    const end = await coverFullTurns(log, subject, upTo);
    if (end !== undefined) await log.trim(subject, end);
  }

  removeSegments(shard: number, upTo: number): Promise<void> {
    const { log, env } = this.#o;
    return log.trim(historySubject(env, shard), upTo);
  }

  async transcriptBytes(actor: Address, upTo = Number.POSITIVE_INFINITY): Promise<number> {
    const { log, env } = this.#o;
    let bytes = 0;
    for (let next = 1; next <= upTo; ) {
      const page = await log.read(transcriptSubject(env, actor), next);
      for (const entry of page) if (entry.position <= upTo) bytes += entry.bytes.length;
      if (page.length === 0) break;
      next = page.at(-1)!.position + 1;
    }
    return bytes;
  }

  async trimTranscript(actor: Address, upTo: number): Promise<void> {
    const { log, env, transcripts } = this.#o;
    await log.trim(transcriptSubject(env, actor), upTo);
    transcripts.forget(actor);
  }
}
