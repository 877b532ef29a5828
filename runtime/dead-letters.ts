/**
 * DeadLetterLog: messages that could not be applied, with the reason, and what operators did about
 * them (I9). The letters of a domain are in a log without an owner; the audits of all domains are
 * in one further log.
 *
 * Invariants: a letter that is neither redriven nor dropped is never removed. Other letters are
 * removed after 30 days, together with their audits, in the order of the log. A list reads each
 * audit once, and no letter before the first open one.
 */
import type { Address } from '../protocols/address.ts';
import { encode } from '../protocols/codec.ts';
import { defined } from '../protocols/defined.ts';
import { type ErrorData, TroupeError } from '../protocols/errors.ts';
import type { Message } from '../protocols/statechart.ts';
import { deadLetterSubject } from '../protocols/subjects.ts';
import type { Clock } from './clock/clock.ts';
import type { MessageClient } from './message-client.ts';
import type { Log, LogEntry } from './log/log.ts';
import { checkDomain } from './shard/turn/validate-message.ts';
import { isErased } from './shard/commit/erased-entry.ts';
import { decodeKept } from './shard/commit/records.ts';
import { lettersIn, removeLetters } from './letter-log.ts';
import type { AgedLetter, LetterPlace } from './retaining-port.ts';
import { DEAD_LETTER_DOMAIN, domainOf } from './shard/commit/relay.ts';
import { auditsOf, ResolutionLog, type FirstKept, type StoredAudit } from './resolution-log.ts';
import type {
  Audit,
  AuditEntry,
  DeadLetter,
  DeadLetterHead,
  DeadLetters,
  RedriveAnswer,
} from './system.ts';

/** Name of the log of audits. Its `-` distinguishes it from all domains. */
export const auditSubject = (env: string): string =>
  deadLetterSubject(`${DEAD_LETTER_DOMAIN}-audit`, env);

const OPERATOR = { sub: 'operator', roles: ['operator'] };
const LIST_MAX = 1_000;
/** Limits of a letter in a list: characters of its reason and error message, and of its details. */
const HEAD_MAX = { words: 1_024, details: 2_048 };
/** How long resolved letters are kept, and how often they are removed, milliseconds. */
const KEPT_MS = 30 * 24 * 3_600_000;
const TIDY_MS = 3_600_000;
/** For this time the receiver certainly stores the key of a redriven message. */
const KEY_KEPT_MS = 24 * 3_600_000;

export type DeadLetterOptions = {
  readonly log: Log;
  readonly env: string;
  readonly clock: Clock;
  readonly client: Pick<MessageClient, 'tell'>;
  /** the domains that machines have named; the runtime's own domain is not among them */
  readonly domains: () => Promise<Iterable<string>>;
  /** a list removes letters that were resolved 30 days ago; default true */
  readonly tidies?: boolean | undefined;
};

export class DeadLetterLog implements DeadLetters {
  readonly #o: DeadLetterOptions;
  readonly #audits: string;
  readonly #resolutions: ResolutionLog;
  /** by domain: position of the first letter that may be open */
  readonly #floors = new Map<string, number>();
  /** number of letters that were opened again, which invalidates floors found before */
  #reopened = 0;
  #tidiedAtMs = -TIDY_MS;

  constructor(options: DeadLetterOptions) {
    this.#o = options;
    this.#audits = auditSubject(options.env);
    this.#resolutions = new ResolutionLog(options.log, this.#audits, () => {
      this.#reopened++;
      this.#floors.clear();
    });
  }

  async domains(): Promise<readonly string[]> {
    return [...new Set([DEAD_LETTER_DOMAIN, ...(await this.#o.domains())])].sort();
  }

  async list(
    options: { domain?: string; from?: number; limit?: number; includeResolved?: boolean } = {},
  ): Promise<readonly DeadLetterHead[]> {
    const { domain, from = 1, limit = LIST_MAX, includeResolved = false } = options;
    await this.#tidy();
    await this.#resolutions.catchUp();
    const wanted = { from, limit, includeResolved };
    if (domain !== undefined) return this.#heads(domain, wanted);
    let letters: DeadLetterHead[] = [];
    for (const each of await this.domains()) {
      letters.push(...(await this.#heads(each, wanted)));
      letters = letters.sort((a, b) => a.at - b.at).slice(0, limit);
    }
    return letters;
  }

  async get(position: number, domain: string = DEAD_LETTER_DOMAIN): Promise<DeadLetter> {
    const [entry] = await this.#o.log.read(this.#subject(domain), position, { limit: 1 });
    if (entry?.position !== position || isErased(decodeKept(entry.bytes)))
      throw new TroupeError('NOT_FOUND', `there is no dead letter ${position} in ${domain}`);
    return letterOf(entry);
  }

  /**
   * Writes the audit first, so every message that is sent again has a name and a reason. If the
   * message is refused, a second audit revokes the first, and the letter stays in the list. A
   * letter that was redriven before is not sent as a new message: while its key is stored, the same
   * message is sent again, for a process that ended between audit and message; the receiver drops a
   * repeat.
   */
  async redrive(position: number, audit: Audit, domain?: string): Promise<RedriveAnswer> {
    const letter = await this.get(position, domain);
    if (!letter.event)
      throw new TroupeError(
        'INVALID_ARGUMENT',
        `dead letter ${position} contains no message that could be sent again`,
      );
    checkAudit(audit);
    await this.#resolutions.catchUp();
    const last = this.#resolutions.last(letter);
    const already = last?.action === 'redrive' ? last : undefined;
    if (!already) await this.#record(letter, 'redrive', audit);
    else if (this.#o.clock.wallMs() - already.at > KEY_KEPT_MS) return alreadySent(already);
    const answer = await this.#o.client.tell(letter.to as Address, letter.event, {
      principal: { ...OPERATOR, sub: audit.who },
      // Not by position: letters get others when a cell moves to another log.
      key: `redrive-${letter.id}`,
    });
    if (already) return alreadySent(already);
    if (answer.kind === 'refused') await this.#record(letter, 'refused', audit);
    return answer;
  }

  async drop(position: number, audit: Audit, domain?: string): Promise<void> {
    await this.#record(await this.get(position, domain), 'drop', audit);
  }

  /**
   * Removes the letters that `matches` accepts, of all domains. Others may get new positions
   * (`removeLetters`). May be repeated: a letter that is stored twice is listed once.
   * @returns how many letters matched
   */
  async erase(matches: (letter: DeadLetter) => boolean, isDryRun: boolean): Promise<number> {
    let erased = 0;
    for (const domain of await this.domains()) {
      const subject = this.#subject(domain);
      const isMatch = (entry: LogEntry) => matches(letterOf(entry));
      let matched = 0;
      for await (const entry of lettersIn(this.#o.log, subject, 1)) if (isMatch(entry)) matched++;
      erased += matched;
      if (matched > 0 && !isDryRun) await this.#remove(subject, isMatch);
    }
    return erased;
  }

  async #remove(subject: string, isRemoved: (entry: LogEntry) => boolean): Promise<void> {
    await removeLetters(this.#o.log, subject, isRemoved);
    this.#reopened++;
    this.#floors.clear();
  }

  async audits({ domain }: { domain?: string } = {}): Promise<readonly AuditEntry[]> {
    if (domain !== undefined) checkDomain(domain);
    const audits: AuditEntry[] = [];
    for await (const { letter: _, ...audit } of auditsOf(this.#o.log, this.#audits))
      if (domain === undefined || audit.domain === domain) audits.push(audit);
    return audits;
  }

  /** Letters of one domain. A log without an owner may repeat one. */
  async #heads(
    domain: string,
    { from, limit, includeResolved }: { from: number; limit: number; includeResolved: boolean },
  ): Promise<DeadLetterHead[]> {
    const subject = this.#subject(domain);
    const floor = includeResolved ? 1 : (this.#floors.get(domain) ?? 1);
    const heads: DeadLetterHead[] = [];
    const seen = new Set<string>();
    const reopened = this.#reopened;
    const first = Math.max(from, floor);
    let isAtFloor = first === floor;
    for await (const entry of lettersIn(this.#o.log, subject, first)) {
      if (heads.length >= limit) break;
      const letter = letterOf(entry);
      const isListed = includeResolved || this.#resolutions.since(letter) === undefined;
      if (isListed && !seen.has(letter.id)) heads.push(headOf(letter));
      if (isListed) isAtFloor = false;
      else if (isAtFloor && reopened === this.#reopened)
        this.#floors.set(domain, letter.position + 1);
      seen.add(letter.id);
    }
    return heads;
  }

  /**
   * Letters to actors of a tenant, by domain and position.
   * @param from where to begin; default the first letter
   */
  async *aged(tenant: string, from?: LetterPlace): AsyncGenerator<AgedLetter> {
    await this.#resolutions.catchUp();
    const dueMs = this.#o.clock.wallMs() - KEY_KEPT_MS;
    for (const domain of await this.domains()) {
      if (from !== undefined && domain < from.domain) continue;
      const first = from?.domain === domain ? from.position : 1;
      for await (const entry of lettersIn(this.#o.log, this.#subject(domain), first)) {
        const letter = letterOf(entry);
        if (!letter.to.startsWith(`${tenant}/`)) continue;
        const last = this.#resolutions.last(letter);
        const isSending = last?.action === 'redrive' && last.at > dueMs;
        const bytes = entry.bytes.length;
        yield { ...letter, bytes, isSending, ...defined({ resolvedAt: last?.at }) };
      }
    }
  }

  /** Removes letters by their ids. Others may get new positions. May be repeated. */
  async removeAged(domain: string, ids: ReadonlySet<string>): Promise<void> {
    await this.#remove(this.#subject(domain), (entry) => ids.has(letterOf(entry).id));
    await this.#resolutions.catchUp();
    const firsts = new Map<string, FirstKept>();
    for (const each of await this.domains())
      for await (const first of lettersIn(this.#o.log, this.#subject(each), 1)) {
        firsts.set(each, first);
        break;
      }
    await this.#trimAudits(firsts);
  }

  /** Runs periodically. A failed trim is repeated the next time; lists are correct without it. */
  async #tidy(): Promise<void> {
    const nowMs = this.#o.clock.monotonicMs();
    if (this.#o.tidies === false || nowMs - this.#tidiedAtMs < TIDY_MS) return;
    this.#tidiedAtMs = nowMs;
    try {
      await this.#resolutions.catchUp();
      const firsts = new Map<string, FirstKept>();
      for (const domain of await this.domains()) {
        const first = await this.#trim(domain);
        if (first) firsts.set(domain, first);
      }
      await this.#trimAudits(firsts);
    } catch {
      // An unavailable log is reported to the caller of the list.
    }
  }

  #trimAudits(firsts: ReadonlyMap<string, FirstKept>): Promise<void> {
    const ids = async () => {
      const found = new Set<string>();
      for (const domain of await this.domains())
        for await (const entry of lettersIn(this.#o.log, this.#subject(domain), 1))
          found.add(letterOf(entry).id);
      return found;
    };
    return this.#resolutions.trim((domain) => firsts.get(domain), ids);
  }

  /**
   * Returns the first kept letter. The last letter is always kept. Undefined without letters.
   */
  async #trim(domain: string): Promise<FirstKept | undefined> {
    const { log, clock } = this.#o;
    const subject = this.#subject(domain);
    const last = await log.last(subject);
    const dueMs = clock.wallMs() - KEPT_MS;
    const isKept = (entry: LogEntry): boolean =>
      entry.position === last ||
      !(
        isErased(decodeKept(entry.bytes)) ||
        (this.#resolutions.since(letterOf(entry)) ?? dueMs) < dueMs
      );
    for (let next = 1; ; ) {
      const entries = await log.read(subject, next, { limit: LIST_MAX });
      if (entries.length === 0) return undefined;
      const first = entries.find(isKept);
      next = first?.position ?? entries.at(-1)!.position + 1;
      if (next > 1) await log.trim(subject, next - 1);
      if (first) return first;
    }
  }

  async #record(
    { domain, position, id }: DeadLetter,
    action: AuditEntry['action'],
    { who, why }: Audit,
  ): Promise<void> {
    checkAudit({ who, why });
    const at = this.#o.clock.wallMs();
    const audit: StoredAudit = { who, why, position, at, action, domain, letter: id };
    await this.#o.log.append(this.#audits, encode(audit));
  }

  #subject(domain: string): string {
    checkDomain(domain);
    return deadLetterSubject(domain, this.#o.env);
  }
}

const alreadySent = ({ at, who }: AuditEntry): RedriveAnswer => ({ kind: 'already', at, who });

/** @throws TroupeError INVALID_ARGUMENT */
const checkAudit = ({ who, why }: Audit): void => {
  if (!who || !why)
    throw new TroupeError(
      'INVALID_ARGUMENT',
      'who and why are required: they are recorded in the audit',
    );
};

function headOf({ event, ...letter }: DeadLetter): DeadLetterHead {
  const { code, message, details, retryAfterMs } = letter.error;
  const isSmall = details && JSON.stringify(details).length <= HEAD_MAX.details;
  return {
    ...letter,
    reason: letter.reason.slice(0, HEAD_MAX.words),
    error: {
      code,
      message: message.slice(0, HEAD_MAX.words),
      ...(isSmall ? { details } : {}),
      ...defined({ retryAfterMs }),
    },
    ...(event ? { eventType: event.type } : {}),
  };
}

function letterOf({ position, bytes }: LogEntry): DeadLetter {
  const kept = decodeKept(bytes, position);
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
    ...defined({ event: original }),
  };
}
