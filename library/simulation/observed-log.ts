/**
 * ObservedLog: the log of a run. It reports each committed turn, and it is where a process is
 * killed before or after a commit, and where a mailbox is read late.
 */
import { decodeRecord, type Turn } from '../../runtime/shard/commit/records.ts';
import { TABLE } from '../../runtime/shard/commit/fold.ts';
import { decodeActorRow } from '../../runtime/shard/turn/actor-row.ts';
import type { AppendAnswer, AppendOptions, Follow, Log, Position } from '../../runtime/log/log.ts';
import type { MemoryLog } from '../../runtime/log/memory.ts';
import type { RunPort } from './run-parts.ts';

/** Named in place of the actor of mail that is dropped before any actor receives it. */
const DROPPED = 'dropped mail';

const never = new Promise<never>(() => {});

export class ObservedLog implements Log {
  readonly atomic: boolean;
  readonly #log: MemoryLog;
  readonly #journals: string;
  readonly #mailboxes: string;
  readonly #run: RunPort;
  /** turns of each actor, and reads of each mailbox */
  readonly #counts = new Map<string, number>();

  constructor(log: MemoryLog, env: string, run: RunPort) {
    this.#log = log;
    this.atomic = log.atomic;
    this.#journals = `jrn.${env}.`;
    this.#mailboxes = `mbx.${env}.`;
    this.#run = run;
  }

  async append(subject: string, bytes: Uint8Array, options: AppendOptions): Promise<AppendAnswer> {
    if (this.#run.isFrozen || !subject.startsWith(this.#journals))
      return this.#log.appendNow(subject, bytes, options);
    const record = decodeRecord(bytes);
    const turns = record.t === 'TURNS' ? record.turns : [];
    const first = turns[0];
    const { actor = '' } = first ?? {};
    const name = first && `${actor || DROPPED} #${(this.#counts.get(actor) ?? 0) + 1}`;
    const { process, faults } = this.#run;
    const fault = name === undefined ? undefined : faults.at(`commit ${name}`, 'kill');
    const isBefore = fault !== undefined && fault.ms % 2 === 1;
    if (isBefore) {
      this.#run.kill(fault, `before the commit of turn ${name}`);
      return never;
    }
    const answer = this.#log.appendNow(subject, bytes, options);
    if (answer.kind === 'refused') return answer;
    for (const turn of turns) this.#report(turn);
    if (turns.length > 0) this.#run.check();
    if (fault && process.alive) this.#run.kill(fault, `after the commit of turn ${name}`);
    return fault ? never : answer;
  }

  #report({ actor, turnNo, result, why, machine, puts, state }: Turn): void {
    const { world } = this.#run;
    this.#counts.set(actor, (this.#counts.get(actor) ?? 0) + 1);
    world.turns++;
    world.committedAt = world.nowMs;
    if (actor === '') {
      // The outcome of an attempt that a newer one replaced, for example.
      this.#run.say({ kind: 'note', what: `mail is dropped: ${why ?? result}` });
      return;
    }
    const put = puts.find(([table, key]) => table === TABLE.actor && key === actor);
    const row = put?.[2] ? decodeActorRow(put[2]) : undefined;
    for (const [table, key, value] of puts)
      if (table === TABLE.actor) world.put(key, value ? decodeActorRow(value) : undefined);
    const { v: value = state, c: context } = row?.row.snap ?? {};
    this.#run.say({ kind: 'turn', actor, turn: turnNo, result, machine, value, context });
    if (result === 'crashed') this.#run.crashed(actor, why ?? 'its turn failed');
  }

  last(subject: string): Promise<Position> {
    return this.#log.last(subject);
  }

  readLast(subject: string) {
    return this.#log.readLast(subject);
  }

  read: Log['read'] = (subject, from, options) => this.#log.read(subject, from, options);

  follow(subject: string, from: Position): Follow {
    const follow = this.#log.follow(subject, from);
    if (!subject.startsWith(this.#mailboxes)) return follow;
    const mailbox = subject.slice(this.#mailboxes.length);
    const next = async () => {
      if (this.#run.isFrozen) return never;
      const entries = await follow.next();
      if (entries.length === 0) return entries;
      const count = (this.#counts.get(subject) ?? 0) + 1;
      this.#counts.set(subject, count);
      const fault = this.#run.faults.at(`mailbox ${mailbox} #${count}`, 'hold');
      if (!fault) return entries;
      this.#run.say({
        kind: 'fault',
        fault,
        what: `mailbox ${mailbox} is read ${fault.ms} ms late`,
      });
      await this.#run.clock.sleep(fault.ms);
      return entries;
    };
    return {
      next,
      get pending() {
        return follow.pending;
      },
      close: () => follow.close(),
    };
  }

  trim(subject: string, upTo: Position): Promise<void> {
    return this.#log.trim(subject, upTo);
  }

  async close(): Promise<void> {}
}
