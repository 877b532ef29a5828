/**
 * OwnedShard: processes inputs into records while its process owns the shard. Turns run into an
 * open group while the previous record is being stored; the answer seals the group (one record in
 * flight, C2). Outputs leave only after their record counts (C1, I2).
 *
 * Boundary: `owner.ts` decides when a shard becomes owned and what a failure means for it.
 */
import { decode, encode } from '../../protocols/codec.ts';
import { journalSubject, mailboxSubject } from '../../protocols/subjects.ts';
import type { Position } from '../log/log.ts';
import type { ShardStatus } from '../system.ts';
import { ActivatedActors } from './turn/activated-actors.ts';
import { AfterCommits } from './commit/after-commit.ts';
import { CrashLoopGuard } from './input/crash-loop-guard.ts';
import { expireRows } from './turn/expiry.ts';
import { type Fold, TABLE } from './commit/fold.ts';
import { type AfterCommit, Group } from './commit/group.ts';
import { byMachine } from './input/input-handlers.ts';
import { openIntents } from './turn/intents.ts';
import type { Journal } from './commit/journal.ts';
import { Keys } from './turn/keys.ts';
import { MailboxInput } from './input/mailbox-input.ts';
import type { OutcomeReport } from './input/outcome-queue.ts';
import type { OwnerOptions } from './owner-options.ts';
import { asPoison } from './input/poison.ts';
import { decodeOut, type JournalRecord, type Outcome } from './commit/records.ts';
import type { RecordWriter } from './commit/record-writer.ts';
import { Relay } from './commit/relay.ts';
import { Retention } from './recovery/retention.ts';
import { roughBytes } from './limits.ts';
import type { ShardTime } from './shard-time.ts';
import type { SnapshotBlob } from './recovery/snapshot.ts';
import { Upkeep } from './recovery/upkeep.ts';

/** The result of loading a shard. */
export type LoadedShard = {
  readonly fold: Fold;
  readonly journal: Journal;
  readonly time: ShardTime;
  /** its EPOCH record is stored */
  readonly writer: RecordWriter;
};

export type ShardEvents = {
  /** another owner wrote to the journal */
  readonly onLost: (why: string) => void;
  /** an entry cannot be read: the shard is quarantined, because nothing may be skipped */
  readonly onCorrupt: (error: unknown) => void;
  /** a port failed, or an invariant is broken */
  readonly onFailed: (error: unknown) => void;
};

/** While the crash-loop guard is active, delay of the first input after the start. */
const FIRST_INPUT_DELAY_MS = 100;
/** A larger outcome has a mailbox entry of its own. */
const OWN_OUTCOME_BYTES_MAX = 2 ** 16;
/** Behind more messages an outcome has a mailbox entry, too, so that a stop meanwhile keeps it. */
const OWN_OUTCOME_WAITING_MAX = 200;

export class OwnedShard {
  readonly #o: OwnerOptions;
  readonly #events: ShardEvents;
  readonly #fold: Fold;
  readonly #journal: Journal;
  readonly #time: ShardTime;
  readonly #writer: RecordWriter;
  readonly #actors: ActivatedActors;
  readonly #relay: Relay;
  readonly #crashLoop: CrashLoopGuard;
  readonly #retention: Retention;
  readonly #input: MailboxInput;
  readonly #after: AfterCommits;
  readonly #upkeep: Upkeep;
  #accepts = false;
  #isTooEarly = false;
  /** effects that were requested under a former owner */
  readonly #resumed = new Set<string>();
  /** outcomes of this turn of the event loop wait for its end */
  #isReported = false;
  #group: Group | undefined;
  #inFlight: Promise<void> | undefined;
  #snapshot: SnapshotBlob | undefined;

  constructor(options: OwnerOptions, loaded: LoadedShard, events: ShardEvents) {
    const { log, clock, env, world, outside, format } = options;
    const { fold, time, journal, writer } = loaded;
    const { cell, limits, shards, registry, shard } = world;
    const { epoch } = writer;
    this.#o = options;
    this.#events = events;
    this.#fold = fold;
    this.#time = time;
    this.#journal = journal;
    this.#writer = writer;
    const now = () => time.now();
    const { wake } = this;
    this.#actors = new ActivatedActors({
      fold,
      keys: new Keys(fold),
      shards,
      max: limits.residentsMax,
      registry,
      now,
    });
    const onSettled = () => this.#upkeep.settledSoon();
    // An atomic log needs no relay, and its reads are cheap.
    const transcripts = log.atomic ? undefined : options.transcripts?.writer(shard);
    this.#relay = new Relay({ log, clock, env, cell, shard, format, onSettled, transcripts });
    this.#crashLoop = new CrashLoopGuard(fold, limits, now());
    const alarm = (what: string) => outside.alarm(what);
    const onSnapshot = (blob: SnapshotBlob) => {
      this.#snapshot = blob;
      wake();
    };
    this.#retention = new Retention({ ...options, fold, epoch, alarm, onSnapshot });
    const parts = { world, fold, residents: this.#actors };
    const { onCorrupt } = events;
    const reading = { onInputs: wake, onCorrupt };
    this.#input = new MailboxInput({ log, clock, env, parts, time, since: now(), ...reading });
    const { timers } = this.#input;
    this.#after = new AfterCommits({ fold, outside, epoch, timers, wake });
    this.#upkeep = this.#startUpkeep();
  }

  /** Resumes the pending outputs and effects of the fold, and starts to process inputs. */
  start(): void {
    for (const { value } of this.#fold.committedRows(TABLE.out)) this.#relay.add(decodeOut(value));
    const open = [...openIntents(this.#fold)];
    for (const [id] of open) this.#resumed.add(id);
    this.#after.resume(open);
    this.#accepts = true;
    if (this.#crashLoop.on) this.#delayFirstInput();
    else this.wake();
  }

  /** Processes pending inputs. Cheap without any. */
  readonly wake = (): void => {
    if (!this.#accepts) return;
    try {
      this.#work();
    } catch (error) {
      // A broken invariant: only this shard stops.
      this.#events.onFailed(error);
    }
  };

  /**
   * Accepts the outcome of an effect of this process without a mailbox entry (G6). Resolves when it
   * is accepted; rejects when this owner ends before. Undefined: report it to the mailbox, because
   * the log is not atomic, the outcome is large or would wait for long, or the crash-loop guard has
   * to announce it. Its outcome may be what ended the former process, so that of a resumed effect
   * is stored first (K1).
   */
  report(report: OutcomeReport): Promise<void> | undefined {
    const { log, env, world } = this.#o;
    if (!log.atomic || !this.#accepts || this.#crashLoop.on) return undefined;
    if (roughBytes(report.outcome) > OWN_OUTCOME_BYTES_MAX) return undefined;
    if (this.#resumed.has(report.intent) || this.#input.waiting > OWN_OUTCOME_WAITING_MAX)
      return undefined;
    // The effect may keep its result and change it; an entry would be a copy, too.
    const own = { ...report, outcome: decode<Outcome>(encode(report.outcome)) };
    return log.last(mailboxSubject(env, world.shard, 'data')).then((behind) => {
      this.#wakeAtTurnEnd();
      return this.#input.outcomes.add(own, behind);
    });
  }

  /** Effects that end in the same turn of the event loop share a record. */
  #wakeAtTurnEnd(): void {
    if (this.#isReported) return;
    this.#isReported = true;
    (this.#o.atTurnEnd ?? setImmediate)(() => {
      this.#isReported = false;
      this.wake();
    });
  }

  /** The log's clock was read: timers may be due at other times now. */
  timeMeasured(): void {
    this.#input.timers.schedule();
  }

  status(): Omit<ShardStatus, 'shard' | 'state'> {
    const { turnNo, mailFloor, ctlFloor } = this.#fold.scalars;
    const clockAheadMs = this.#time.aheadMs();
    const { trouble } = this.#journal;
    const snapshotDueMs = this.#retention.snapshotDueMs();
    return {
      epoch: this.#writer.epoch,
      position: this.#journal.last,
      turnNo,
      mailFloor,
      ctlFloor,
      lag: this.#input.waiting,
      now: this.#time.now(),
      residents: this.#actors.size,
      ...(this.#input.isCounted ? {} : { lagUnknown: true }),
      ...(clockAheadMs > 0 ? { clockAheadMs } : {}),
      ...(snapshotDueMs > 0 ? { snapshotDueMs } : {}),
      ...(trouble ? { why: trouble } : {}),
    };
  }

  /** As `Retention.trimmedAll`; a shard with snapshots writes the record. */
  trimmedAll(): Promise<void> {
    const trimmed = this.#retention.trimmedAll();
    const { log } = this.#o;
    // Also while the crash-loop guard is active: a record without turns blames no input.
    if (!log.atomic && this.#accepts && !this.#inFlight) this.#seal(true);
    return trimmed;
  }

  /**
   * Commits the open group and then a HANDOFF record, the last of this owner (A6). Waits until the
   * outputs of committed records are sent; for transcripts at most five seconds.
   */
  async handOff(to: string): Promise<void> {
    this.#accepts = false;
    this.#input.close();
    this.#after.close();
    await this.#outputsSent();
    this.#snapshot = undefined;
    if (this.#group?.dirty || this.#after.hasStarts) this.#seal();
    await this.#outputsSent();
    await this.#commit({ t: 'HANDOFF', to, ...this.#writer.head() }, []);
  }

  /** Discards everything. The answer of an append in flight is ignored. */
  close(): void {
    this.#accepts = false;
    this.#group = undefined;
    this.#writer.close();
    this.#input.close();
    this.#relay.close();
    this.#after.close();
    this.#retention.close();
    this.#upkeep.close();
  }

  #startUpkeep(): Upkeep {
    const { log, clock, env, world } = this.#o;
    return new Upkeep({
      log,
      clock,
      subject: journalSubject(env, world.shard),
      journal: this.#journal,
      residents: this.#actors,
      idleProbeMs: this.#o.idleProbeMs ?? 1_000,
      isIdle: () => !this.#inFlight,
      onPassivated: () =>
        this.#o.transcripts?.passivate(world.shard, (actor) => this.#actors.isActive(actor)),
      onClockSet: () => {
        this.#time.isDoubtful = true;
        this.wake();
      },
      onReplaced: (why) => this.#events.onLost(why),
      onSettledLong: () => {
        if (this.#relay.marked && !this.#inFlight) this.#seal(true);
      },
    });
  }

  /**
   * If a process is killed repeatedly right after its start, no input is the cause. So inputs count
   * as a cause only after a short delay.
   */
  #delayFirstInput(): void {
    this.#isTooEarly = true;
    this.#o.clock.after(FIRST_INPUT_DELAY_MS, () => {
      this.#isTooEarly = false;
      this.wake();
    });
  }

  #work(): void {
    if (this.#crashLoop.on) {
      if (!this.#inFlight && !this.#isTooEarly) this.#workOneByOne();
      return;
    }
    if (this.#mustWaitForSnapshot()) return;
    this.#storeSnapshot();
    const group = this.#openGroup();
    this.#input.fill(group);
    if (!this.#inFlight) this.#seal();
  }

  /**
   * A snapshot record is written between two groups. Next to an open group it would write the rows
   * of that group to State before they are committed. So no group is opened while a snapshot waits
   * for the record in flight.
   */
  #mustWaitForSnapshot(): boolean {
    return this.#isSnapshotNext() && this.#inFlight !== undefined;
  }

  #isSnapshotNext(): boolean {
    return this.#snapshot !== undefined && !this.#group?.dirty;
  }

  /** Stores the record of a waiting snapshot, if it is the next one. */
  #storeSnapshot(): void {
    if (!this.#isSnapshotNext()) return;
    const blob = this.#snapshot!;
    this.#snapshot = undefined;
    this.#store({ t: 'SNAPSHOT', ...blob, ...this.#writer.head() }, []);
  }

  /** One input per record, announced by a TRY (K1), so the input that ends the process is known. */
  #workOneByOne(): void {
    while (this.#accepts && !this.#inFlight) {
      this.#storeSnapshot();
      if (this.#inFlight) return;
      const group = this.#openGroup();
      const input = this.#input.candidate(group.now);
      const verdict = input && this.#crashLoop.judge(input.ref);
      if (verdict === 'try')
        return this.#store({ t: 'TRY', input: input!.ref, ...this.#writer.head() }, []);
      if (verdict === 'run') input!.run(group, byMachine);
      if (verdict === 'poison') input!.run(group, asPoison(this.#crashLoop.tries(input!.ref)));
      this.#crashLoop.count(group.turns.length, group.now);
      this.#seal();
      // A repeat leaves nothing to store, so no commit would wake the shard for the next input.
      if (!input) return;
    }
  }

  #openGroup(): Group {
    return (this.#group ??= new Group(this.#fold, this.#time, this.#input.unstash));
  }

  /** Closes the open group and stores it, if there is anything in it. */
  #seal(force = false): void {
    const group = this.#openGroup();
    const starts = this.#after.takeStarts();
    for (const put of starts.puts) group.put(put);
    if (group.turns.length > 0) expireRows(this.#fold, group);
    this.#group = undefined;
    if (!group.dirty && !force && !this.#time.isDoubtful) return;
    this.#time.isDoubtful = false;
    const { puts, mailFloor, ctlFloor, keyNow, linkIn, now } = group;
    const outFloor = this.#relay.takeMarks();
    const changes = { turns: group.sealed(), puts, mailFloor, ctlFloor, keyNow, linkIn, outFloor };
    const after = [...group.after, ...starts.after];
    this.#store({ t: 'TURNS', ...this.#writer.head(), now, ...changes }, after, group);
  }

  #store(record: JournalRecord, after: readonly AfterCommit[], group?: Group): void {
    this.#inFlight = this.#commit(record, after, group).then(() => {
      this.#inFlight = undefined;
      this.wake();
      this.#input.timers.schedule();
    });
  }

  /** Waits until the outputs of committed records are sent; for transcripts at most 5 s. */
  async #outputsSent(): Promise<void> {
    while (this.#inFlight) await this.#inFlight;
    await this.#after.done(this.#o.clock, 5_000);
  }

  /** Stores one record and, when it counts, releases its outputs. Never rejects. */
  async #commit(
    record: JournalRecord,
    after: readonly AfterCommit[],
    group?: Group,
  ): Promise<void> {
    try {
      const onCounts = (position: Position) => {
        if (group) this.#retention.turnsCommitted(group, position);
        this.#onCommitted(record, after, position);
      };
      const stored = await this.#writer.write(record, onCounts);
      if (stored.kind === 'lost') this.#events.onLost(stored.why);
    } catch (error) {
      this.#events.onFailed(error);
    }
  }

  /** The record is known to count: its outputs may leave (C1). */
  #onCommitted(record: JournalRecord, after: readonly AfterCommit[], position: Position): void {
    if (record.t === 'TURNS') {
      if (!this.#o.log.atomic) this.#relay.addOutOf(record.turns);
      this.#after.run(after, position, this.#relay.transcriptsKept());
    }
    if (record.t === 'SNAPSHOT') this.#retention.covered();
    this.#retention.recorded(position);
    this.#o.onCommitted?.();
  }
}
