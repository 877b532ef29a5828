/**
 * Selects the next inputs of a shard: control messages first (J4), then due timers (H4), then
 * stashed messages that are no longer deferred, then data messages and, among them in the order of
 * their acceptance, outcomes of effects of this process. While the crash-loop guard is active (rule
 * K) the order is the same, one input at a time, each with a name by which it can be blamed.
 */
import type { Address } from '../../../protocols/address.ts';
import { mailboxSubject } from '../../../protocols/subjects.ts';
import type { Clock } from '../../clock/clock.ts';
import type { Log, Position } from '../../log/log.ts';
import { type ShardParts, writeTurn } from '../turn/turn-context.ts';
import { findDueTimer, onTimer, parseTimer, type Timing } from './due-timers.ts';
import { TABLE } from '../commit/fold.ts';
import type { Group } from '../commit/group.ts';
import type { ShardTime } from '../shard-time.ts';
import { byMachine, type InputHandlers } from './input-handlers.ts';
import { acceptLinkItem, onMail } from './on-mail.ts';
import { type MailInput, MailReader } from './mail-reader.ts';
import { TimerQueue } from './timer-queue.ts';
import { inputOfReport, OutcomeQueue } from './outcome-queue.ts';
import { onOutcome } from './outcomes.ts';
import { nextStashed, type NextStashed, onStashed } from './unstash.ts';

export type MailboxInputOptions = Timing & {
  readonly log: Log;
  readonly clock: Clock;
  readonly env: string;
  readonly parts: ShardParts;
  readonly time: ShardTime;
  readonly onInputs: () => void;
  /** a mailbox entry cannot be read permanently */
  readonly onCorrupt: (error: unknown) => void;
};

/** One input by its name, to be carried out by its machine or as poison. */
export type Candidate = {
  readonly ref: string;
  run(group: Group, by: InputHandlers): void;
};

const CONTROL_FIRST = 64;
/** A timer that is held is looked at again after this time. */
const HELD_MS = 1_000;

export class MailboxInput {
  readonly timers: TimerQueue;
  /** of effects that ran in this process; empty while the crash-loop guard is active */
  readonly outcomes = new OutcomeQueue();
  /** actors whose stash may have something to take */
  readonly unstash = new Set<Address>();
  readonly #o: MailboxInputOptions;
  readonly #data: MailReader;
  readonly #control: MailReader;
  /** a due timer that the crash-loop guard has announced */
  #dueTimer: string | undefined;

  constructor(options: MailboxInputOptions) {
    this.#o = options;
    const { clock, time, onInputs, parts } = options;
    const { fold } = parts;
    this.timers = new TimerQueue({ fold, clock, now: () => time.now(), onDue: onInputs });
    for (const { key } of fold.committedRows(TABLE.stash)) {
      this.unstash.add(key.slice(0, key.lastIndexOf('|')) as Address);
    }
    this.timers.load();
    this.#data = this.#reader('data', fold.scalars.mailFloor);
    this.#control = this.#reader('control', fold.scalars.ctlFloor);
  }

  /** Runs turns into the group until there is no more input or no more room. */
  fill(group: Group): void {
    let control = 0;
    while (control++ < CONTROL_FIRST && this.#room(group))
      if (!this.#takeMail(group, this.#control)) break;
    const { timersPerGroup } = this.#o.parts.world.limits;
    const due = this.#takeDue(timersPerGroup, group.now);
    // The crash-loop guard may have ended between the announcement of a timer and its turn.
    if (this.#dueTimer !== undefined) due.unshift(this.#dueTimer);
    this.#dueTimer = undefined;
    for (const id of due) this.#runTimer(group, id, byMachine);
    while (this.#room(group)) {
      if (this.#takeUnstash(group) || this.#takeOutcome(group)) continue;
      if (!this.#takeMail(group, this.#data)) break;
    }
  }

  /** The next input at shard time `now` by its name, without taking it. */
  candidate(now: number): Candidate | undefined {
    return (
      this.#mailCandidate(this.#control) ??
      this.#timerCandidate(now) ??
      this.#stashCandidate() ??
      this.#mailCandidate(this.#data)
    );
  }

  /** Mailbox entries without a turn, both lanes, as far as is known. */
  get waiting(): number {
    return this.#data.waiting + this.#control.waiting;
  }

  get isCounted(): boolean {
    return this.#data.isCounted && this.#control.isCounted;
  }

  close(): void {
    this.#data.close();
    this.#control.close();
    this.timers.close();
    this.outcomes.close();
  }

  #reader(lane: 'data' | 'control', floor: Position): MailReader {
    const { log, clock, env, parts, onInputs, onCorrupt } = this.#o;
    const { cell, shard } = parts.world;
    const subject = mailboxSubject(env, shard, lane);
    return new MailReader({
      log,
      clock,
      subject,
      cell,
      lane: lane === 'data' ? 'm' : 'c',
      from: floor + 1,
      onInputs,
      onCorrupt,
    });
  }

  #room(group: Group): boolean {
    const { groupTurnsMax, groupBytesMax } = this.#o.parts.world.limits;
    return group.turns.length < groupTurnsMax && group.bytes < groupBytesMax;
  }

  /** The next input of a lane, or an earlier message that its receiver's stash releases by then. */
  #takeMail(group: Group, reader: MailReader): boolean {
    const input = reader.peek();
    if (!input) return false;
    const receiver = receiverOf(input);
    if (receiver && this.unstash.has(receiver)) {
      if (this.#takeStashed(group, receiver)) return true;
    }
    reader.take();
    this.#runMail(group, input, byMachine);
    moveFloor(group, input);
    return true;
  }

  #runMail(group: Group, input: MailInput, by: InputHandlers): void {
    const { body, ref } = input;
    if (body.kind === 'item' && !acceptLinkItem(group, body)) return;
    writeTurn(this.#o.parts, group, ref, (t) => onMail(t, input, by));
  }

  /** Due timers that may fire, at most `max`. */
  #takeDue(max: number, now: number): string[] {
    const { holdsTimersOf } = this.#o.parts.world;
    const due = this.timers.takeDue(max, now);
    if (holdsTimersOf === undefined) return due;
    const free: string[] = [];
    for (let ids = due; ids.length > 0; ids = this.timers.takeDue(max - free.length, now))
      for (const id of ids)
        if (holdsTimersOf(parseTimer(id).actor)) this.timers.hold(id, now + HELD_MS);
        else free.push(id);
    return free;
  }

  #runTimer(group: Group, id: string, by: InputHandlers): void {
    const timer = findDueTimer(this.#o.parts, id);
    if (timer) writeTurn(this.#o.parts, group, `t${id}`, (t) => onTimer(t, timer, this.#o, by));
  }

  #takeOutcome(group: Group): boolean {
    const next = this.outcomes.take(group.mailFloor);
    if (!next) return false;
    const { report, onCounts } = next;
    writeTurn(this.#o.parts, group, inputOfReport(report), (t) => onOutcome(t, report, byMachine));
    group.attach(report.outcome, onCounts);
    return true;
  }

  #runStashed(group: Group, next: NextStashed, by: InputHandlers): void {
    writeTurn(this.#o.parts, group, `s${next.key}`, (t) => onStashed(t, next, by));
  }

  #takeUnstash(group: Group): boolean {
    for (const actor of this.unstash) {
      if (this.#takeStashed(group, actor)) return true;
    }
    return false;
  }

  /** Processes the next stashed message of an actor, if its state accepts one. */
  #takeStashed(group: Group, actor: Address): boolean {
    const next = nextStashed(this.#o.parts, actor);
    if (next) this.#runStashed(group, next, byMachine);
    else this.unstash.delete(actor);
    return next !== undefined;
  }

  #mailCandidate(reader: MailReader): Candidate | undefined {
    const input = reader.peek();
    if (!input) return undefined;
    const receiver = receiverOf(input);
    const before = receiver && this.unstash.has(receiver) && this.#stashCandidateOf(receiver);
    if (before) return before;
    const run = (group: Group, by: InputHandlers) => {
      reader.take();
      this.#runMail(group, input, by);
      moveFloor(group, input);
    };
    return { ref: input.ref, run };
  }

  #timerCandidate(now: number): Candidate | undefined {
    const id = (this.#dueTimer ??= this.#takeDue(1, now)[0]);
    if (id === undefined) return undefined;
    const run = (group: Group, by: InputHandlers) => {
      this.#dueTimer = undefined;
      this.#runTimer(group, id, by);
    };
    return { ref: `t${id}`, run };
  }

  #stashCandidate(): Candidate | undefined {
    for (const actor of this.unstash) {
      const candidate = this.#stashCandidateOf(actor);
      if (candidate) return candidate;
    }
    return undefined;
  }

  #stashCandidateOf(actor: Address): Candidate | undefined {
    const next = nextStashed(this.#o.parts, actor);
    if (!next) this.unstash.delete(actor);
    const run = (group: Group, by: InputHandlers) => this.#runStashed(group, next!, by);
    return next && { ref: `s${next.key}`, run };
  }
}

/** The actor that a message is for. */
function receiverOf({ body }: MailInput): Address | undefined {
  if (body.kind === 'item') return body.item.to;
  return body.kind === 'client' ? body.entry.item.to : undefined;
}

/** The floor is the last position all of whose turns are in this record or an earlier one (B1). */
function moveFloor(group: Group, { ref, position, last }: MailInput): void {
  if (!last) return;
  if (ref.startsWith('m')) group.mailFloor = position;
  else group.ctlFloor = position;
}
