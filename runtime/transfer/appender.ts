/**
 * Appender: writes a subject that has no other writer, each entry exactly once, even when answers
 * are lost. Every append expects the one before it, as a journal's does (C3). So an entry whose
 * answer was lost is found by reading and never stored twice, and a second writer is detected.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { AppendUnknown, type Log, type Position } from '../log/log.ts';

/** How long a store that does not answer is retried. */
const PATIENCE_MS = 60_000;
const RETRY_MS = { first: 50, max: 2_000 };

export class Appender {
  readonly #log: Log;
  readonly #subject: string;
  #last: Position;

  /** @param last position of the subject's last entry, 0 when it must be empty */
  constructor(log: Log, subject: string, last: Position = 0) {
    this.#log = log;
    this.#subject = subject;
    this.#last = last;
  }

  /**
   * One call at a time.
   * @throws TroupeError CONFLICT when the subject contains entries that this appender did not
   * write; UNAVAILABLE when the log has not accepted the entry within a minute
   */
  async append(bytes: Uint8Array): Promise<Position> {
    this.#last = await patiently(() => this.#try(bytes));
    return this.#last;
  }

  async #try(bytes: Uint8Array): Promise<Position> {
    try {
      const expected = { expectedLast: this.#last };
      const answer = await this.#log.append(this.#subject, bytes, expected);
      if (answer.kind === 'stored') return answer.position;
    } catch (error) {
      if (!(error instanceof AppendUnknown)) throw error;
    }
    const last = await this.#log.readLast(this.#subject);
    if ((last?.position ?? 0) === this.#last)
      throw new TroupeError('UNAVAILABLE', `${this.#subject} takes no entry at present`);
    if (last && Buffer.compare(last.bytes, bytes) === 0) return last.position;
    throw new TroupeError('CONFLICT', `${this.#subject} contains entries of another writer`, {
      details: { reason: 'NOT_EMPTY', subject: this.#subject },
    });
  }
}

/**
 * Repeats a call, which must be safe to repeat, while the store does not answer. @throws its last
 * error
 */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  const until = performance.now() + PATIENCE_MS;
  for (let delayMs = RETRY_MS.first; ; delayMs = Math.min(delayMs * 2, RETRY_MS.max)) {
    try {
      return await work();
    } catch (error) {
      if (errorData(error).code !== 'UNAVAILABLE' || performance.now() > until) throw error;
    }
    await pause(delayMs);
  }
}
