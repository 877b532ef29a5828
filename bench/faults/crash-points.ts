/**
 * Crash points: a worker kills itself at one exact moment of the protocol. The runtime has no
 * switch for it. Its ports are wrapped, and the moment is recognised by the subjects and decoded
 * records that pass through them.
 */
import type { NatsPorts } from '../../runtime/index.ts';
import type { AppendAnswer, AppendOptions, Follow, Log } from '../../runtime/log/log.ts';
import { decodeMail, decodeRecord } from '../../runtime/shard/commit/records.ts';
import { parseSubject } from '../../protocols/subjects.ts';

export const crashPoints = {
  afterReceive: 'mail is read, and no actor has received it',
  inTheTurn: 'in the transition of an actor',
  beforeAppend: 'a record of turns is built, and not sent',
  unansweredAppend: 'a record of turns is stored, and its owner has received no answer',
  beforeOutbox: 'a record counts, and none of its outputs has left',
  halfOutbox: 'one link of a record has been sent, another has not',
  beforeTrim: 'a snapshot counts, and nothing is trimmed',
  inSnapshot: 'the blob is complete, and no record names it',
  beforeHandOff: 'the next owner is prepared, and the shard is not released',
  afterHandOff: 'the shard is released, and the next owner has not been notified',
} as const;
export type CrashPoint = keyof typeof crashPoints;

const die = (): Promise<never> => {
  process.kill(process.pid, 'SIGKILL');
  // The signal is sent: nothing after this may run.
  return new Promise(() => {});
};

/**
 * The ports with a log that ignores trims, and that ends the process when the crash point is
 * reached first.
 */
export function withCrashPoint(ports: NatsPorts, point?: CrashPoint): NatsPorts {
  const log = new CrashingLog(ports.store.log, point);
  return { ...ports, store: { ...ports.store, log } };
}

type Passing = 'links' | 'mail' | 'other' | ReturnType<typeof decodeRecord>['t'];

class CrashingLog implements Log {
  readonly #log: Log;
  readonly #point: CrashPoint | undefined;
  /** appends of links without a response */
  #leaving = 0;
  /** from now on no message of an outbox is sent */
  #shut = false;

  constructor(log: Log, point: CrashPoint | undefined) {
    this.#log = log;
    this.#point = point;
  }

  get atomic(): boolean {
    return this.#log.atomic;
  }

  async append(subject: string, bytes: Uint8Array, options?: AppendOptions): Promise<AppendAnswer> {
    const passing = passingOf(subject, bytes);
    if (this.#point && BEFORE[this.#point] === passing) return die();
    if (this.#point === 'halfOutbox' && passing === 'links') return this.#half(subject, bytes);
    const answer = await this.#log.append(subject, bytes, options);
    if (this.#point && AFTER[this.#point] === passing && answer.kind === 'stored') return die();
    return answer;
  }

  /** Of the first two that are sent together, one is stored. */
  async #half(subject: string, bytes: Uint8Array): Promise<AppendAnswer> {
    if (this.#leaving > 0) this.#shut = true;
    if (this.#shut) return new Promise(() => {});
    this.#leaving++;
    const answer = await this.#log.append(subject, bytes);
    this.#leaving--;
    if (this.#shut) return die();
    return answer;
  }

  follow(subject: string, from: number): Follow {
    const follow = this.#log.follow(subject, from);
    if (this.#point !== 'afterReceive' || parseSubject(subject).kind !== 'mailbox') return follow;
    return {
      next: async () => {
        const entries = await follow.next();
        return entries.length > 0 ? die() : entries;
      },
      get pending() {
        return follow.pending;
      },
      close: () => follow.close(),
    };
  }

  /** Nothing is removed, so that the auditor can read everything at the end. */
  async trim(): Promise<void> {
    if (this.#point === 'beforeTrim') await die();
  }

  readonly last: Log['last'] = (subject) => this.#log.last(subject);
  readonly readLast: Log['readLast'] = (subject) => this.#log.readLast(subject);
  readonly read: Log['read'] = (subject, from, options) => this.#log.read(subject, from, options);
  readonly close: Log['close'] = () => this.#log.close();
}

const BEFORE: Partial<Record<CrashPoint, Passing>> = {
  beforeAppend: 'TURNS',
  beforeOutbox: 'links',
  inSnapshot: 'SNAPSHOT',
  beforeHandOff: 'HANDOFF',
};
const AFTER: Partial<Record<CrashPoint, Passing>> = {
  unansweredAppend: 'TURNS',
  afterHandOff: 'HANDOFF',
};

function passingOf(subject: string, bytes: Uint8Array): Passing {
  if (subject.startsWith('jrn.')) return decodeRecord(bytes).t;
  if (!subject.startsWith('mbx.')) return 'other';
  return decodeMail(bytes).kind === 'links' ? 'links' : 'mail';
}
