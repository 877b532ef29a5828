/**
 * DeadLetterLog: messages that could not be applied, with their reason, and what people did about
 * them (I9, EN11). The letters lie in a log without an owner; audits in one beside it. Nothing is
 * ever removed here.
 */
import type { Address } from '../protocols/address.ts';
import { decode, encode } from '../protocols/codec.ts';
import { type ErrorData, TroupeError } from '../protocols/errors.ts';
import type { Message } from '../protocols/statechart.ts';
import { deadLetterSubject } from '../protocols/subjects.ts';
import type { Clock } from './clock/clock.ts';
import type { Door } from './door.ts';
import type { Log, LogEntry } from './log/log.ts';
import { decodeKept } from './shard/records.ts';
import { DEAD_LETTER_DOMAIN } from './shard/relay.ts';
import type { Audit, DeadLetter, DeadLetters, TellAnswer } from './system.ts';

export type AuditEntry = Audit & {
  position: number;
  at: number;
  action: 'redrive' | 'refused' | 'drop';
};

/** Where it is kept what people did about dead letters. */
export const auditSubject = (env: string): string =>
  deadLetterSubject(`${DEAD_LETTER_DOMAIN}-audit`, env);

const OPERATOR = { sub: 'operator', roles: ['operator'] };

export class DeadLetterLog implements DeadLetters {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #door: Door;
  readonly #letters: string;
  readonly #audits: string;

  constructor(log: Log, env: string, clock: Clock, door: Door) {
    this.#log = log;
    this.#clock = clock;
    this.#door = door;
    this.#letters = deadLetterSubject(DEAD_LETTER_DOMAIN, env);
    this.#audits = auditSubject(env);
  }

  /** Letters that nobody has dealt with. */
  async list({
    from = 1,
    limit = 1_000,
  }: {
    from?: number;
    limit?: number;
  } = {}): Promise<readonly DeadLetter[]> {
    const dealt = new Set<number>();
    for (const { position, action } of await this.audits()) {
      if (action === 'refused') dealt.delete(position);
      else dealt.add(position);
    }
    const letters: DeadLetter[] = [];
    const seen = new Set<string>();
    for (let next = from; letters.length < limit; ) {
      const entries = await this.#log.read(this.#letters, next, { limit: 1_000 });
      if (entries.length === 0) break;
      for (const entry of entries) {
        const letter = letterOf(entry);
        if (!dealt.has(letter.position) && !seen.has(letter.id)) letters.push(letter);
        seen.add(letter.id);
      }
      next = entries.at(-1)!.position + 1;
    }
    return letters.slice(0, limit);
  }

  /**
   * The audit is written first: a message sent again without a name and a reason does not exist.
   * A second one takes it back when the door refused the message, which then stays in the list.
   */
  async redrive(position: number, audit: Audit): Promise<TellAnswer> {
    const letter = await this.#at(position);
    if (!letter.event)
      throw new TroupeError(
        'INVALID_ARGUMENT',
        `dead letter ${position} holds no message that could be sent again`,
      );
    await this.#record(position, 'redrive', audit);
    const answer = await this.#door.tell(letter.to as Address, letter.event, {
      principal: { ...OPERATOR, sub: audit.who },
      // Not by position: letters get others when a cell moves to another log.
      key: `redrive-${letter.id}`,
    });
    if (answer.kind === 'refused') await this.#record(position, 'refused', audit);
    return answer;
  }

  async drop(position: number, audit: Audit): Promise<void> {
    await this.#at(position);
    await this.#record(position, 'drop', audit);
  }

  async audits(): Promise<readonly AuditEntry[]> {
    const audits: AuditEntry[] = [];
    for (let next = 1; ; ) {
      const entries = await this.#log.read(this.#audits, next);
      for (const { bytes } of entries) audits.push(decode<AuditEntry>(bytes));
      const last = entries.at(-1);
      if (!last) return audits;
      next = last.position + 1;
    }
  }

  async #record(
    position: number,
    action: AuditEntry['action'],
    { who, why }: Audit,
  ): Promise<void> {
    if (!who || !why) throw new TroupeError('INVALID_ARGUMENT', 'say who does it and why');
    await this.#log.append(
      this.#audits,
      encode({ who, why, position, at: this.#clock.wallMs(), action }),
    );
  }

  async #at(position: number): Promise<DeadLetter> {
    const [entry] = await this.#log.read(this.#letters, position, { limit: 1 });
    if (entry?.position !== position)
      throw new TroupeError('NOT_FOUND', `there is no dead letter ${position}`);
    return letterOf(entry);
  }
}

function letterOf({ position, bytes }: LogEntry): DeadLetter {
  const { to, from, event } = decodeKept(bytes);
  const {
    reason,
    error,
    at,
    id,
    event: original,
  } = event as unknown as {
    reason: string;
    error: ErrorData;
    at: number;
    id: string;
    event?: Message;
  };
  return {
    position,
    at,
    id,
    to,
    reason,
    error,
    ...(from ? { from } : {}),
    ...(original ? { event: original } : {}),
  };
}
