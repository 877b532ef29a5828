/**
 * DeadLetterLog: messages that could not be applied or got done, with their reason, and what people
 * did about them (I9, EN11). The letters of a domain lie in a log without an owner; audits of all
 * domains in one beside them. Nothing is ever removed here.
 */
import type { Address } from '../protocols/address.ts';
import { decode, encode } from '../protocols/codec.ts';
import { type ErrorData, TroupeError } from '../protocols/errors.ts';
import type { Message } from '../protocols/statechart.ts';
import { deadLetterSubject } from '../protocols/subjects.ts';
import type { Clock } from './clock/clock.ts';
import type { Door } from './door.ts';
import type { Log, LogEntry } from './log/log.ts';
import { checkDomain } from './shard/fit.ts';
import { decodeKept } from './shard/records.ts';
import { DEAD_LETTER_DOMAIN, domainOf } from './shard/relay.ts';
import type { Audit, AuditEntry, DeadLetter, DeadLetters, TellAnswer } from './system.ts';

/** As audits are stored: old ones, all of the runtime's own letters, name neither of both. */
export type StoredAudit = Omit<AuditEntry, 'domain'> & {
  readonly domain?: string;
  /** id of the letter, of which its log may hold a second copy */
  readonly letter?: string;
};

type Audited = StoredAudit & Pick<AuditEntry, 'domain'>;

/** Where it is kept what people did about dead letters. Its `-` keeps it apart from all domains. */
export const auditSubject = (env: string): string =>
  deadLetterSubject(`${DEAD_LETTER_DOMAIN}-audit`, env);

const OPERATOR = { sub: 'operator', roles: ['operator'] };
const LIST_MAX = 1_000;

export type DeadLetterOptions = {
  readonly log: Log;
  readonly env: string;
  readonly clock: Clock;
  readonly door: Pick<Door, 'tell'>;
  /** those that machines named; the runtime's own is not among them */
  readonly domains: () => Promise<Iterable<string>>;
};

export class DeadLetterLog implements DeadLetters {
  readonly #o: DeadLetterOptions;
  readonly #audits: string;

  constructor(options: DeadLetterOptions) {
    this.#o = options;
    this.#audits = auditSubject(options.env);
  }

  async domains(): Promise<readonly string[]> {
    return [...new Set([DEAD_LETTER_DOMAIN, ...(await this.#o.domains())])].sort();
  }

  async list(
    options: { domain?: string; from?: number; limit?: number } = {},
  ): Promise<readonly DeadLetter[]> {
    const { domain, from = 1, limit = LIST_MAX } = options;
    const dealt = dealtWith(await this.#audited());
    if (domain !== undefined) return this.#open(domain, from, limit, dealt);
    const letters: DeadLetter[] = [];
    for (const each of await this.domains())
      letters.push(...(await this.#open(each, from, limit, dealt)));
    return letters.sort((a, b) => a.at - b.at).slice(0, limit);
  }

  async get(position: number, domain: string = DEAD_LETTER_DOMAIN): Promise<DeadLetter> {
    const [entry] = await this.#o.log.read(this.#subject(domain), position, { limit: 1 });
    if (entry?.position !== position)
      throw new TroupeError('NOT_FOUND', `there is no dead letter ${position} in ${domain}`);
    return letterOf(entry);
  }

  /**
   * The audit is written first: a message sent again without a name and a reason does not exist.
   * A second one takes it back when the door refused the message, which then stays in the list.
   */
  async redrive(position: number, audit: Audit, domain?: string): Promise<TellAnswer> {
    const letter = await this.get(position, domain);
    if (!letter.event)
      throw new TroupeError(
        'INVALID_ARGUMENT',
        `dead letter ${position} holds no message that could be sent again`,
      );
    await this.#record(letter, 'redrive', audit);
    const answer = await this.#o.door.tell(letter.to as Address, letter.event, {
      principal: { ...OPERATOR, sub: audit.who },
      // Not by position: letters get others when a cell moves to another log.
      key: `redrive-${letter.id}`,
    });
    if (answer.kind === 'refused') await this.#record(letter, 'refused', audit);
    return answer;
  }

  async drop(position: number, audit: Audit, domain?: string): Promise<void> {
    await this.#record(await this.get(position, domain), 'drop', audit);
  }

  async audits({ domain }: { domain?: string } = {}): Promise<readonly AuditEntry[]> {
    if (domain !== undefined) checkDomain(domain);
    const audits = (await this.#audited()).map(({ letter: _, ...audit }) => audit);
    return domain === undefined ? audits : audits.filter((audit) => audit.domain === domain);
  }

  async #audited(): Promise<readonly Audited[]> {
    const audits: Audited[] = [];
    for (let next = 1; ; ) {
      const entries = await this.#o.log.read(this.#audits, next);
      for (const { bytes } of entries)
        audits.push({ domain: DEAD_LETTER_DOMAIN, ...decode<StoredAudit>(bytes) });
      const last = entries.at(-1);
      if (!last) return audits;
      next = last.position + 1;
    }
  }

  /** Letters of one domain that nobody has dealt with. A log without an owner may repeat one. */
  async #open(
    domain: string,
    from: number,
    limit: number,
    dealt: ReadonlySet<string>,
  ): Promise<DeadLetter[]> {
    const subject = this.#subject(domain);
    const letters: DeadLetter[] = [];
    const seen = new Set<string>();
    for (let next = from; letters.length < limit; ) {
      const entries = await this.#o.log.read(subject, next, { limit: LIST_MAX });
      if (entries.length === 0) break;
      for (const entry of entries) {
        const letter = letterOf(entry);
        if (!seen.has(letter.id) && !isDealtWith(dealt, letter)) letters.push(letter);
        seen.add(letter.id);
      }
      next = entries.at(-1)!.position + 1;
    }
    return letters.slice(0, limit);
  }

  async #record(
    { domain, position, id }: DeadLetter,
    action: AuditEntry['action'],
    { who, why }: Audit,
  ): Promise<void> {
    if (!who || !why) throw new TroupeError('INVALID_ARGUMENT', 'say who does it and why');
    const at = this.#o.clock.wallMs();
    const audit: StoredAudit = { who, why, position, at, action, domain, letter: id };
    await this.#o.log.append(this.#audits, encode(audit));
  }

  #subject(domain: string): string {
    checkDomain(domain);
    return deadLetterSubject(domain, this.#o.env);
  }
}

const placeOf = ({ domain, position }: { domain: string; position: number }): string =>
  `${domain}/${position}`;

/** Places, and ids: a copy further on in its log is dealt with, too. */
function dealtWith(audits: readonly Audited[]): ReadonlySet<string> {
  const dealt = new Set<string>();
  for (const audit of audits)
    for (const name of [placeOf(audit), audit.letter ?? placeOf(audit)])
      if (audit.action === 'refused') dealt.delete(name);
      else dealt.add(name);
  return dealt;
}

const isDealtWith = (dealt: ReadonlySet<string>, letter: DeadLetter): boolean =>
  dealt.has(placeOf(letter)) || dealt.has(letter.id);

function letterOf({ position, bytes }: LogEntry): DeadLetter {
  const kept = decodeKept(bytes);
  const { to, from, event } = kept;
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
    domain: domainOf(kept),
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
