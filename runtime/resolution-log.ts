/**
 * Tracks which dead letters an operator has redriven or dropped, and when, by reading the audit
 * log: once from its beginning, then only new entries. Any number of processes may read it.
 *
 * Boundary: identifies letters by position and id only; dead-letters.ts reads the letters.
 */
import { decode } from '../protocols/codec.ts';
import type { Log, LogEntry, Position } from './log/log.ts';
import { DEAD_LETTER_DOMAIN } from './shard/commit/relay.ts';
import type { AuditEntry, DeadLetter } from './system.ts';

/** As audits are stored. Old ones have neither field: they are about the runtime's own letters. */
export type StoredAudit = Omit<AuditEntry, 'domain'> & {
  readonly domain?: string;
  /** id of the letter, of which its log may hold a second copy */
  readonly letter?: string;
};
type Audited = StoredAudit & Pick<AuditEntry, 'domain'>;
/** Of the letters of a domain. */
export type FirstKept = Pick<LogEntry, 'position' | 'logTimeMs'>;
type Place = Pick<DeadLetter, 'domain' | 'position'>;

/** Audits of all domains, oldest first. */
export async function* auditsOf(log: Pick<Log, 'read'>, subject: string): AsyncGenerator<Audited> {
  for await (const { audit } of entriesOf(log, subject, 1)) yield audit;
}

async function* entriesOf(
  log: Pick<Log, 'read'>,
  subject: string,
  from: Position,
): AsyncGenerator<{ readonly at: Position; readonly audit: Audited }> {
  for (let next = from; ; ) {
    const entries = await log.read(subject, next);
    for (const { position, bytes } of entries)
      yield { at: position, audit: { domain: DEAD_LETTER_DOMAIN, ...decode<StoredAudit>(bytes) } };
    const last = entries.at(-1);
    if (!last) return;
    next = last.position + 1;
  }
}

export class ResolutionLog {
  readonly #log: Log;
  readonly #subject: string;
  readonly #onReopened: () => void;
  /** last audit record by place and by letter id: a later copy of a letter is resolved, too */
  #audits = new Map<string, Audited>();
  #next: Position = 1;
  #reading: Promise<void> = Promise.resolve();

  /** @param onReopened called when a resolved letter is open again */
  constructor(log: Log, subject: string, onReopened: () => void) {
    this.#log = log;
    this.#subject = subject;
    this.#onReopened = onReopened;
  }

  /** Resolves when all is known that was recorded before the call. */
  catchUp(): Promise<void> {
    const read = this.#reading.catch(() => {}).then(() => this.#read());
    this.#reading = read;
    return read;
  }

  /** When the letter was resolved, epoch milliseconds; undefined for an open one. */
  since(letter: Place & Pick<DeadLetter, 'id'>): number | undefined {
    return this.last(letter)?.at;
  }

  /** The last resolution of the letter; undefined for an open one. */
  last(letter: Place & Pick<DeadLetter, 'id'>): AuditEntry | undefined {
    return this.#audits.get(placeOf(letter)) ?? this.#audits.get(letter.id);
  }

  /**
   * Removes audit records, oldest first, whose letter and all copies of it have been trimmed. Stops
   * at the first record whose letter may still exist.
   * @param ids of the letters that exist; read at most once. A letter may have got a new position
   */
  async trim(
    firstOf: (domain: string) => FirstKept | undefined,
    ids: () => Promise<ReadonlySet<string>>,
  ): Promise<void> {
    let upTo: Position = 0;
    let existing: ReadonlySet<string> | undefined;
    for await (const { at, audit } of entriesOf(this.#log, this.#subject, 1)) {
      const first = firstOf(audit.domain);
      if (!first || audit.position >= first.position || audit.at >= first.logTimeMs) break;
      existing ??= await ids();
      if (audit.letter !== undefined && existing.has(audit.letter)) break;
      upTo = at;
      this.#audits.delete(placeOf(audit));
      if (audit.letter !== undefined) this.#audits.delete(audit.letter);
    }
    if (upTo > 0) await this.#log.trim(this.#subject, upTo);
  }

  async #read(): Promise<void> {
    for await (const { at, audit } of entriesOf(this.#log, this.#subject, this.#next)) {
      this.#next = at + 1;
      for (const name of [placeOf(audit), audit.letter ?? placeOf(audit)])
        if (audit.action === 'refused') this.#audits.delete(name);
        else this.#audits.set(name, audit);
      if (audit.action === 'refused') this.#onReopened();
    }
  }
}

const placeOf = ({ domain, position }: Place): string => `${domain}/${position}`;
