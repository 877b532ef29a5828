/**
 * ShardOwner: a process that considers itself the owner of a shard. It folds the journal, writes
 * its EPOCH, and then processes inputs into records. Turns run into an open group while the
 * previous record is being stored; the answer seals the group (one record in flight, C2). Outputs
 * leave only after their record counts (C1, I2). On any sign of another owner it drops everything
 * (A4, I1).
 *
 * States: `loading` → `owned` → `lost` | `stopped` | `quarantined`. An owner is used once; another
 * attempt needs a new one.
 */
import { randomBytes } from 'node:crypto';
import { errorData } from '../../protocols/errors.ts';
import { journalSubject } from '../../protocols/subjects.ts';
import type { Position } from '../log/log.ts';
import type { Put } from '../state/state.ts';
import type { ShardStatus } from '../system.ts';
import { AfterCommits } from './after-commit.ts';
import { alongsideOf } from './alongside.ts';
import { CrashLoopGuard } from './crash-loop-guard.ts';
import { expireRows } from './expiry.ts';
import { type Fold, TABLE } from './fold.ts';
import { type AfterCommit, Group } from './group.ts';
import { byMachine } from './inputs.ts';
import { MailboxInput } from './mailbox-input.ts';
import { openIntents } from './intents.ts';
import { Journal } from './journal.ts';
import { Keys } from './keys.ts';
import { isDamagedRow } from '../state/checked-reads.ts';
import { loadShard } from './load.ts';
import { asPoison } from './poison.ts';
import type { OwnerOptions } from './owner-options.ts';
import { decodeOut, encodeRecord, type JournalRecord } from './records.ts';
import { Relay } from './relay.ts';
import { ActivatedActors } from './activated-actors.ts';
import { Retention } from './retention.ts';
import { ShardTime } from './shard-time.ts';
import type { SnapshotBlob } from './snapshot.ts';
import { Upkeep } from './upkeep.ts';

export type { OwnerOptions };

type Sealed = {
  readonly record: number;
  readonly puts: readonly Put[];
  readonly after: readonly AfterCommit[];
  readonly body: JournalRecord;
};

export class ShardOwner {
  readonly shard: number;
  readonly #o: OwnerOptions;
  readonly #journalSubject: string;
  readonly #name = randomBytes(12).toString('hex');
  #records = 0;
  #status: ShardStatus['state'] = 'loading';
  #abandoned = false;
  #why: string | undefined;
  #epoch: Position = 0;
  #journal!: Journal;
  #fold!: Fold;
  #residents!: ActivatedActors;
  #relay!: Relay;
  #intake!: MailboxInput;
  #careful!: CrashLoopGuard;
  #after!: AfterCommits;
  #retention!: Retention;
  #upkeep: Upkeep | undefined;
  #group: Group | undefined;
  #inFlight: Promise<void> | undefined;
  #snapshot: SnapshotBlob | undefined;
  #time!: ShardTime;

  constructor(options: OwnerOptions) {
    this.#o = options;
    this.shard = options.world.shard;
    this.#journalSubject = journalSubject(options.env, this.shard);
  }

  /** Takes the shard (A1 to A3). Resolves when it is owned, lost or quarantined. */
  async start(): Promise<void> {
    try {
      await this.#take();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Lets go in order: what is built is committed, then HANDOFF, then nothing more (A6). */
  async handOff(to = ''): Promise<void> {
    if (this.#status !== 'owned') return this.abandon();
    this.#status = 'stopped';
    this.#intake.close();
    this.#after.close();
    await this.#said();
    this.#snapshot = undefined;
    if (this.#group?.dirty || this.#after.hasStarts) this.#seal();
    await this.#said();
    if (!this.#isEnded()) await this.#commit({ t: 'HANDOFF', to, ...this.#head() }, []);
    this.#close();
  }

  /** Waits until outputs of committed records are sent; for transcripts at most five seconds. */
  async #said(): Promise<void> {
    await this.#answersCame();
    await this.#after.done(this.#o.clock, 5_000);
  }

  /** Drops everything at once, as a crash does. */
  abandon(): void {
    this.#abandoned = true;
    if (this.#status === 'loading' || this.#status === 'owned') this.#status = 'stopped';
    this.#close();
  }

  status(): ShardStatus {
    const owned = this.#status === 'owned';
    const clockAheadMs = owned ? this.#time.aheadMs() : 0;
    const why = this.#why ?? (owned ? this.#journal.trouble : undefined);
    return {
      shard: this.shard,
      state: this.#status,
      epoch: this.#epoch,
      position: owned ? this.#journal.last : 0,
      turnNo: owned ? this.#fold.scalars.turnNo : 0,
      mailFloor: owned ? this.#fold.scalars.mailFloor : 0,
      ctlFloor: owned ? this.#fold.scalars.ctlFloor : 0,
      lag: owned ? this.#intake.waiting : 0,
      now: owned ? this.now() : 0,
      residents: owned ? this.#residents.size : 0,
      ...(clockAheadMs > 0 ? { clockAheadMs } : {}),
      ...(why ? { why } : {}),
    };
  }

  /** Shard time: the log's clock as far as it is known, never falling (H1, I6). */
  readonly now = (): number => this.#time.now();

  /** Something may be to do. Cheap when not. */
  readonly wake = (): void => {
    if (this.#status !== 'owned') return;
    try {
      this.#work();
    } catch (error) {
      // A broken invariant: going on would be wrong for this shard, and for this shard only.
      this.fail(error);
    }
  };

  async #take(): Promise<void> {
    const { log, clock, world, outside } = this.#o;
    for (;;) {
      const at = { journal: this.#journalSubject, shard: this.shard, cell: world.cell };
      const isWanted = () => this.#status === 'loading';
      const loaded = await loadShard({ ...this.#o, ...at, isWanted });
      if (this.#status !== 'loading') return;
      this.#fold = loaded.fold;
      this.#time = new ShardTime(clock, {
        isLocal: log.atomic,
        logTimeMs: loaded.logTimeMs,
        since: loaded.fold.scalars.now,
      });
      if (loaded.voids > 0)
        outside.alarm(`shard ${this.shard}: ${loaded.voids} records are void: the fence leaks`);
      for (const why of loaded.unreadable) outside.alarm(`shard ${this.shard}: ${why}`);
      this.#journal = new Journal({
        log,
        clock,
        subject: this.#journalSubject,
        last: loaded.last,
        onLogTime: (...times) => {
          this.#time.measured(...times);
          this.#intake?.timers.schedule();
        },
        onTrouble: (what) => outside.alarm(`shard ${this.shard}: the store ${what}`),
      });
      const epoch = await this.#commit({ t: 'EPOCH', worker: this.#o.worker, ...this.#head() }, []);
      // What is stored may be old, and a new journal tells no time at all.
      if (epoch === 'committed' && !log.atomic) await this.#journal.measureTime();
      if (this.#status !== 'loading') return;
      if (epoch === 'committed') return this.#open();
    }
  }

  /** Resumes what the fold has pending, and starts to read inputs. */
  #open(): void {
    const { log, clock, env, world, outside } = this.#o;
    const fold = this.#fold;
    const { cell, limits, shards, registry } = world;
    this.#epoch = this.#journal.last;
    this.#time.began();
    const keys = new Keys(fold);
    const { now, wake } = this;
    const max = limits.residentsMax;
    this.#residents = new ActivatedActors({ fold, keys, shards, max, registry, now });
    this.#relay = new Relay({
      log,
      clock,
      env,
      cell,
      shard: this.shard,
      onSettled: () => this.#upkeep?.settledSoon(),
    });
    this.#careful = new CrashLoopGuard(fold, limits, this.now());
    const alarm = (what: string) => outside.alarm(what);
    const onSnapshot = (blob: SnapshotBlob) => {
      this.#snapshot = blob;
      this.wake();
    };
    this.#retention = new Retention({ ...this.#o, fold, epoch: this.#epoch, alarm, onSnapshot });
    const parts = { world, fold, residents: this.#residents };
    const onCorrupt = (error: unknown) => this.#end('quarantined', errorData(error).message);
    const events = { onInputs: wake, onCorrupt };
    const time = this.#time;
    this.#intake = new MailboxInput({ log, clock, env, parts, time, since: now(), ...events });
    const { timers } = this.#intake;
    this.#after = new AfterCommits({ fold, outside, epoch: this.#epoch, timers, wake });
    for (const { value } of fold.committedRows(TABLE.out)) this.#relay.add(decodeOut(value));
    this.#after.resume(openIntents(fold));
    this.#status = 'owned';
    this.#upkeep = new Upkeep({
      log,
      clock,
      subject: this.#journalSubject,
      journal: this.#journal,
      residents: this.#residents,
      idleProbeMs: this.#o.idleProbeMs ?? 1_000,
      isIdle: () => !this.#inFlight,
      onClockSet: () => {
        this.#time.isDoubtful = true;
        this.wake();
      },
      onReplaced: (why) => this.#end('lost', why),
      onSettledLong: () => {
        if (this.#relay.marked && !this.#inFlight) this.#seal(true);
      },
    });
    this.wake();
  }

  #work(): void {
    if (this.#careful.on) {
      if (!this.#inFlight) this.#workCarefully();
      return;
    }
    if (this.#holdsForSnapshot()) return;
    const group = this.#openGroup();
    this.#intake.fill(group);
    if (!this.#inFlight) this.#seal();
  }

  /**
   * A snapshot record is written between two groups. Next to an open group it would write the rows
   * of that group to State before they are committed. So no group is opened until it is in flight.
   */
  #holdsForSnapshot(): boolean {
    if (!this.#snapshot || this.#group?.dirty) return false;
    if (this.#inFlight) return true;
    const blob = this.#snapshot;
    this.#snapshot = undefined;
    this.#store({ t: 'SNAPSHOT', ...blob, ...this.#head() }, []);
    return false;
  }

  /** One input per record, announced by a TRY (K1): what kills the process is found by name. */
  #workCarefully(): void {
    while (this.#status === 'owned' && !this.#inFlight) {
      this.#holdsForSnapshot();
      if (this.#inFlight) return;
      const group = this.#openGroup();
      const input = this.#intake.candidate(group.now);
      const verdict = input && this.#careful.judge(input.ref);
      if (verdict === 'try')
        return this.#store({ t: 'TRY', input: input!.ref, ...this.#head() }, []);
      if (verdict === 'run') input!.run(group, byMachine);
      if (verdict === 'poison') input!.run(group, asPoison(this.#careful.tries(input!.ref)));
      this.#careful.count(group.turns.length);
      this.#seal();
      // A repeat leaves nothing to store, so no commit would wake the shard for the next input.
      if (!input) return;
    }
  }

  #openGroup(): Group {
    return (this.#group ??= new Group(this.#fold, this.#time, this.#intake.unstash));
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
    const { turns, puts, mailFloor, ctlFloor, keyNow, linkIn, now } = group;
    const outFloor = this.#relay.takeMarks();
    const said = { turns, puts, mailFloor, ctlFloor, keyNow, linkIn, outFloor };
    this.#store({ t: 'TURNS', ...this.#head(), now, ...said }, [...group.after, ...starts.after]);
  }

  #store(body: JournalRecord, after: readonly AfterCommit[]): void {
    this.#inFlight = this.#commit(body, after).then(() => {
      this.#inFlight = undefined;
      this.wake();
      this.#intake.timers.schedule();
    });
  }

  async #answersCame(): Promise<void> {
    while (this.#inFlight) await this.#inFlight;
  }

  #head() {
    this.#records++;
    const { cell } = this.#o.world;
    const recId = `${this.#name}-${this.#records}`;
    return { cell, recId, epoch: this.#epoch, prev: this.#journal.last, now: this.now() };
  }

  /** Stores one record and, when it counts, does what it promises. Never rejects. */
  async #commit(body: JournalRecord, after: readonly AfterCommit[]): Promise<'committed' | 'lost'> {
    const { log, state, env } = this.#o;
    try {
      const bytes = encodeRecord(body);
      this.#fold.applyScalars(body, bytes.length);
      const { record, puts } = this.#fold.seal();
      const alongside = log.atomic ? alongsideOf(body, puts, env, this.shard) : undefined;
      const answer = await this.#journal.append(body.recId, bytes, alongside);
      // State may belong to another owner by now.
      if (this.#isEnded() || this.#abandoned) return 'lost';
      if (answer.kind === 'lost') {
        if (body.t !== 'EPOCH') this.#end('lost', answer.why);
        return 'lost';
      }
      if (!log.atomic) await state.write(puts);
      this.#counts({ record, puts, after, body }, answer.position);
      return 'committed';
    } catch (error) {
      this.fail(error);
      return 'lost';
    }
  }

  /** The record is known to count: its outputs may leave (C1). */
  #counts({ record, puts, after, body }: Sealed, position: Position): void {
    this.#fold.settle(record, puts);
    if (body.t === 'TURNS') {
      if (!this.#o.log.atomic) this.#relay.addOutOf(body.turns);
      this.#after.run(after, position, this.#relay.transcriptsKept());
    }
    if (body.t === 'SNAPSHOT') this.#retention.covered();
    if (body.t !== 'EPOCH') this.#retention.recorded(position);
    this.#o.onCommitted?.();
  }

  /**
   * A store that does not answer may answer the next owner, and damaged rows of a cache are folded
   * again (T6). Everything else needs an operator.
   */
  fail(error: unknown): void {
    const { code, message } = errorData(error);
    const cacheIsDamaged = !this.#o.log.atomic && isDamagedRow(error);
    if (cacheIsDamaged) void this.#clearCache();
    const isPassing = cacheIsDamaged || code === 'UNAVAILABLE';
    this.#end(isPassing ? 'lost' : 'quarantined', message);
  }

  /** If the cache cannot be cleared now, the next load finds the damage again. */
  async #clearCache(): Promise<void> {
    try {
      await this.#o.state.clear(this.shard);
    } catch (error) {
      this.#o.outside.alarm(`shard ${this.shard}: ${errorData(error).message}`);
    }
  }

  #isEnded(): boolean {
    return this.#status === 'lost' || this.#status === 'quarantined';
  }

  #end(status: 'lost' | 'quarantined', why: string): void {
    if (this.#isEnded()) return;
    const letGo = this.#status === 'stopped';
    this.#status = status;
    this.#why = why;
    this.#close();
    if (!letGo) this.#o.onEnd(status, why);
  }

  #close(): void {
    this.#journal?.close();
    this.#intake?.close();
    this.#relay?.close();
    this.#after?.close();
    this.#retention?.close();
    this.#upkeep?.close();
    this.#group = undefined;
  }
}
