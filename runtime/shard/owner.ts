/**
 * ShardOwner: the process that believes it owns a shard. It folds the journal, writes its EPOCH,
 * and then turns inputs into records: turns run into an open group while the record before is being
 * stored, and the group is sealed when its answer came (one record in flight, C2). What a record
 * promises is done only when it counts (C1, I2). On any sign of another owner everything is dropped
 * (A4, I1).
 *
 * Life: `loading` → `owned` → `lost` | `stopped` | `quarantined`. An owner is used once; whoever
 * wants to try again makes a new one.
 */
import { randomBytes } from 'node:crypto';
import { journalSubject, mailboxSubject } from '../../protocols/subjects.ts';
import type { Address } from '../../protocols/address.ts';
import { errorData } from '../../protocols/errors.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { Clock } from '../clock/clock.ts';
import type { Alongside, Log, Position } from '../log/log.ts';
import type { Put, State } from '../state/state.ts';
import type { ShardStatus } from '../system.ts';
import { AfterCommits, type Outside } from './after-commit.ts';
import { Careful } from './careful.ts';
import { type Fold, TABLE } from './fold.ts';
import { type AfterCommit, Group } from './group.ts';
import {
  takeClient,
  takeLinkItem,
  takeOutcome,
  takeTimer,
  takeUnreadable,
  takeUnstash,
} from './inputs.ts';
import { decodeIntent } from './intents.ts';
import { Journal } from './journal.ts';
import { Keys } from './keys.ts';
import { type SnapshotMark, loadShard } from './load.ts';
import { type MailInput, MailReader } from './mail-reader.ts';
import {
  type JournalRecord,
  type OutItem,
  decodeOut,
  encodeKept,
  encodeMail,
  encodeRecord,
} from './records.ts';
import { Relay, keptSubject } from './relay.ts';
import { Residents } from './residents.ts';
import { collectRows, snapshotName, writeSnapshot } from './snapshot.ts';
import { TimerQueue } from './timer-queue.ts';
import type { ShardParts, TurnWorld } from './turn.ts';

export type OwnerOptions = {
  readonly world: TurnWorld;
  readonly env: string;
  /** name of this process, for EPOCH */
  readonly worker: string;
  readonly log: Log;
  readonly state: State;
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly outside: Outside;
  /** called when it stops to own the shard, for whatever reason */
  readonly onEnd: (status: 'lost' | 'quarantined', why: string) => void;
  /** records kept behind the state where the log is atomic; default 1,000 */
  readonly journalTail?: number;
  /** records between snapshots where it is not; default 10,000 */
  readonly snapshotEvery?: number;
  /** an idle owner looks at the journal so often (A7); default 1,000 */
  readonly idleProbeMs?: number;
};

type Sealed = {
  readonly record: number;
  readonly puts: Put[];
  readonly after: readonly AfterCommit[];
  readonly body: JournalRecord;
};

const CONTROL_FIRST = 64;
const TRIM_EVERY = 256;
const PASSIVATE_EVERY_MS = 10_000;
/**
 * Settled items wait this long for a record that carries their mark before one is written for them
 * (D5).
 */
const SETTLED_LAG_MS = 10_000;

export class ShardOwner {
  readonly shard: number;
  readonly #o: OwnerOptions;
  readonly #journalSubject: string;
  readonly #name = randomBytes(12).toString('hex');
  #records = 0;
  #status: ShardStatus['state'] = 'loading';
  #why: string | undefined;
  #epoch: Position = 0;
  #since = 0;
  #journal!: Journal;
  #fold!: Fold;
  #parts!: ShardParts;
  #relay!: Relay;
  #timers!: TimerQueue;
  #data: MailReader | undefined;
  #control: MailReader | undefined;
  #careful!: Careful;
  #after!: AfterCommits;
  #group: Group | undefined;
  #inFlight: Promise<void> | undefined;
  #unstash = new Set<Address>();
  #logTimeOffset = 0;
  #trimmedMail: Position = 0;
  #trimmedJournal: Position = 0;
  #snapshot: SnapshotMark | undefined;
  #snapshotting = false;
  #cancelProbe: (() => void) | undefined;
  #cancelPassivation: (() => void) | undefined;
  #settledTimer: (() => void) | undefined;

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
      this.#end('quarantined', errorData(error).message);
    }
  }

  /**
   * Lets go in an orderly way: what is built is committed, then HANDOFF, then nothing more (A6).
   */
  async handOff(to = ''): Promise<void> {
    if (this.#status !== 'owned') return this.abandon();
    this.#data?.close();
    this.#control?.close();
    this.#status = 'stopped';
    while (this.#inFlight) await this.#inFlight;
    if (this.#group?.dirty) {
      this.#seal();
      while (this.#inFlight) await this.#inFlight;
    }
    if ((this.#status as string) === 'lost') return;
    await this.#commit({ t: 'HANDOFF', to, ...this.#head() }, []);
    this.#close();
  }

  /** Drops everything at once, as a crash does. */
  abandon(): void {
    if (this.#status === 'loading' || this.#status === 'owned') this.#status = 'stopped';
    this.#close();
  }

  status(): ShardStatus {
    const owned = this.#status === 'owned' || this.#status === 'stopped';
    return {
      shard: this.shard,
      state: this.#status,
      epoch: this.#epoch,
      position: owned ? this.#journal.last : 0,
      turnNo: owned ? this.#fold.scalars.turnNo : 0,
      mailFloor: owned ? this.#fold.scalars.mailFloor : 0,
      residents: owned ? this.#parts.residents.size : 0,
      ...(this.#why ? { why: this.#why } : {}),
    };
  }

  /** Shard time: the log's clock as far as it is known, never falling (H1, I6). */
  readonly now = (): number =>
    Math.max(
      this.#fold?.scalars.now ?? 0,
      Math.floor(this.#o.clock.monotonicMs() + this.#logTimeOffset),
    );

  /** Something may be to do. Cheap when not. */
  readonly wake = (): void => {
    if (this.#status !== 'owned') return;
    try {
      this.#drain();
    } catch (error) {
      // A broken invariant: going on would be wrong for this shard, and for this shard only.
      this.#end('quarantined', errorData(error).message);
    }
  };

  // ---- taking the shard

  async #take(): Promise<void> {
    const { log, clock } = this.#o;
    this.#logTimeOffset = clock.wallMs() - clock.monotonicMs();
    for (;;) {
      const loaded = await loadShard({
        ...this.#o,
        journal: this.#journalSubject,
        shard: this.shard,
        cell: this.#o.world.cell,
      });
      if (this.#status !== 'loading') return;
      this.#fold = loaded.fold;
      this.#snapshot = loaded.snapshot;
      if (loaded.voids > 0)
        this.#o.outside.alarm(
          `shard ${this.shard}: ${loaded.voids} journal records are void: two appends passed the fence`,
        );
      this.#journal = new Journal({
        log,
        clock,
        subject: this.#journalSubject,
        last: loaded.last,
        onLogTime: (at) => this.#setLogTime(at),
      });
      const epoch = await this.#commit({ t: 'EPOCH', worker: this.#o.worker, ...this.#head() }, []);
      if (this.#status !== 'loading') return;
      if (epoch === 'committed') break;
    }
    this.#epoch = this.#journal.last;
    this.#since = this.now();
    this.#open();
  }

  /** The shard is ours: takes up what the fold says is pending, and begins to read. */
  #open(): void {
    const { log, clock, env, world, outside } = this.#o;
    const fold = this.#fold;
    const { cell, limits } = world;
    const keys = new Keys(fold);
    const residents = new Residents({
      fold,
      keys,
      shards: world.shards,
      max: limits.residentsMax,
      registry: world.registry,
    });
    this.#parts = { world, fold, residents };
    this.#relay = new Relay({
      log,
      clock,
      env,
      cell,
      shard: this.shard,
      onSettled: () => this.#settledSoon(),
    });
    this.#timers = new TimerQueue({ fold, clock, now: this.now, onDue: this.wake });
    this.#careful = new Careful(fold, limits, this.now());
    this.#after = new AfterCommits({
      fold,
      outside,
      epoch: this.#epoch,
      timers: this.#timers,
      unstash: this.#unstash,
      wake: this.wake,
    });
    for (const { value } of this.#rows(TABLE.out)) this.#relay.add(decodeOut(value));
    for (const { key, value } of this.#rows(TABLE.intent))
      this.#after.resume(key, decodeIntent(value));
    for (const { key } of this.#rows(TABLE.stash))
      this.#unstash.add(key.slice(0, key.lastIndexOf('|')) as Address);
    this.#timers.load();
    this.#status = 'owned';
    this.#data = this.#reader('data', fold.scalars.mailFloor);
    this.#control = this.#reader('control', fold.scalars.ctlFloor);
    if (!log.atomic) this.#probe();
    this.#passivate();
    this.wake();
  }

  *#rows(table: string) {
    for (let from = ''; ; ) {
      const rows = this.#fold.committed(table, { from, limit: 500 });
      yield* rows;
      if (rows.length < 500) return;
      from = `${rows.at(-1)!.key}\0`;
    }
  }

  #reader(lane: 'data' | 'control', floor: Position): MailReader {
    const subject = mailboxSubject(this.#o.env, this.shard, lane);
    const tag = lane === 'data' ? 'm' : 'c';
    return new MailReader({
      log: this.#o.log,
      subject,
      cell: this.#o.world.cell,
      lane: tag,
      from: floor + 1,
      onInputs: this.wake,
    });
  }

  // ---- building

  #drain(): void {
    const group = (this.#group ??= new Group(this.#fold, this.now()));
    if (this.#careful.on) {
      if (!this.#inFlight) this.#drainCarefully(group);
      return;
    }
    for (let taken = 0; taken < CONTROL_FIRST && this.#room(group); taken++)
      if (!this.#takeMail(group, this.#control)) break;
    this.#takeTimers(group);
    while (this.#room(group))
      if (!this.#takeUnstash(group) && !this.#takeMail(group, this.#data)) break;
    if (!this.#inFlight) this.#seal();
  }

  /**
   * One input per record, announced by a TRY before it runs (K1): what kills the process is found
   * by its name.
   */
  #drainCarefully(group: Group): void {
    const input = this.#control?.peek() ?? this.#data?.peek();
    const verdict = input ? this.#careful.judge(input.ref) : 'none';
    if (verdict === 'try') {
      const record = { t: 'TRY' as const, input: input!.ref, ...this.#head() };
      this.#inFlight = this.#commit(record, []).then(() => this.#answered());
      return;
    }
    const from = this.#control?.peek() ? this.#control : this.#data;
    if (verdict === 'poison') this.#takePoison(group, from!);
    else if (verdict === 'run') this.#takeMail(group, from);
    else this.#takeTimers(group, 1);
    if (group.turns.length === 0) this.#takeUnstash(group);
    this.#careful.count(group.turns.length);
    this.#seal();
  }

  #room(group: Group): boolean {
    const { groupTurnsMax, groupBytesMax } = this.#o.world.limits;
    return group.turns.length < groupTurnsMax && group.bytes < groupBytesMax;
  }

  #takeMail(group: Group, reader: MailReader | undefined): boolean {
    const input = reader?.take();
    if (!input) return false;
    this.#takeInput(group, input);
    this.#moveFloor(group, input);
    return true;
  }

  #takeInput(group: Group, { ref, body, logTimeMs, position }: MailInput): void {
    switch (body.kind) {
      case 'item': {
        const high = group.accepted(`${body.entry.src}/${body.entry.lane}`);
        if (body.n === high + 1)
          takeLinkItem(this.#parts, group, body.entry, body.n, body.item, ref);
        return;
      }
      case 'client':
        return takeClient(this.#parts, group, body.entry, logTimeMs, ref);
      case 'outcome':
        return takeOutcome(this.#parts, group, body.entry, ref);
      case 'unreadable':
        return takeUnreadable(this.#parts, group, position, body.why);
    }
  }

  #takePoison(group: Group, reader: MailReader): void {
    const input = reader.take()!;
    this.#careful.poison(this.#parts, group, input);
    this.#moveFloor(group, input);
  }

  /**
   * The floor is the last position all of whose turns are in this record or an earlier one (B1).
   */
  #moveFloor(group: Group, { ref, position, last }: MailInput): void {
    if (!last) return;
    if (ref.startsWith('m')) group.mailFloor = position;
    else group.ctlFloor = position;
  }

  #takeTimers(group: Group, max = this.#o.world.limits.timersPerGroup): void {
    for (const id of this.#timers.takeDue(max)) takeTimer(this.#parts, group, id, this.#since);
  }

  #takeUnstash(group: Group): boolean {
    for (const actor of this.#unstash) {
      if (takeUnstash(this.#parts, group, actor)) return true;
      this.#unstash.delete(actor);
    }
    return false;
  }

  // ---- committing

  #head() {
    this.#records++;
    const { cell } = this.#o.world;
    return {
      cell,
      recId: `${this.#name}-${this.#records}`,
      epoch: this.#epoch,
      prev: this.#journal.last,
      now: this.now(),
    };
  }

  #seal(force = false): void {
    const group = this.#group;
    if (!group) return;
    const starts = this.#after.takeStarts();
    for (const put of starts.puts) group.put(put);
    if (group.turns.length > 0)
      this.#parts.residents.keys.expire(group, this.#o.world.limits.keyRetentionMs);
    this.#group = undefined;
    if (!group.dirty && !force) return;
    const { turns, puts, mailFloor, ctlFloor, keyNow, linkIn } = group;
    const outFloor = this.#relay.takeMarks();
    const body: JournalRecord = {
      t: 'TURNS',
      ...this.#head(),
      now: group.now,
      mailFloor,
      ctlFloor,
      keyNow,
      turns,
      puts,
      linkIn,
      outFloor,
    };
    this.#inFlight = this.#commit(body, [...group.after, ...starts.after]).then(() =>
      this.#answered(),
    );
  }

  #answered(): void {
    this.#inFlight = undefined;
    this.wake();
    this.#timers?.schedule();
  }

  /**
   * Stores one record and, when it counts, does what it promises. Never rejects for what a store
   * may do.
   */
  async #commit(body: JournalRecord, after: readonly AfterCommit[]): Promise<'committed' | 'lost'> {
    this.#fold.applyScalars(body);
    const sealed: Sealed = { ...this.#fold.seal(body.recId, body.prev), after, body };
    const alongside = this.#o.log.atomic ? this.#alongside(sealed) : undefined;
    let answer: Awaited<ReturnType<Journal['append']>>;
    try {
      answer = await this.#journal.append(body.recId, encodeRecord(body), alongside);
    } catch (error) {
      this.#end('quarantined', errorData(error).message);
      return 'lost';
    }
    if (this.#status === 'lost' || this.#status === 'quarantined') return 'lost';
    if (answer.kind === 'lost') {
      if (body.t !== 'EPOCH') this.#end('lost', answer.why);
      return 'lost';
    }
    if (!alongside) await this.#o.state.write(sealed.puts);
    this.#counts(sealed, answer.position);
    return 'committed';
  }

  /** The record is known to count: its outputs may leave (C1). */
  #counts({ record, puts, after, body }: Sealed, position: Position): void {
    this.#fold.settle(record, puts);
    if (body.t === 'TURNS') this.#after.run(after);
    if (this.#o.log.atomic) return this.#trimAtomic(position);
    if (body.t === 'TURNS')
      for (const turn of body.turns)
        for (const [target, lane, n, item] of turn.out) this.#relay.add({ target, lane, n, item });
    if (body.t === 'SNAPSHOT') this.#trimBehind(body);
    this.#maybeSnapshot(position);
  }

  /**
   * What an atomic log stores with the record: rows, and messages to shards and ownerless logs (D
   * settled at commit).
   */
  #alongside({ puts, body }: Sealed): Alongside {
    if (body.t !== 'TURNS') return { puts, entries: [] };
    const { env, world } = this.#o;
    const entries: { subject: string; bytes: Uint8Array }[] = [];
    const batches = new Map<
      string,
      { target: number; lane: 'data' | 'control'; n: number; items: OutItem[] }
    >();
    for (const turn of body.turns) {
      for (const [target, lane, n, item] of turn.out) {
        if (typeof target !== 'number') {
          entries.push({ subject: keptSubject(env, target, item), bytes: encodeKept(item) });
          continue;
        }
        const batch = batches.get(`${target}/${lane}`);
        if (batch) batch.items.push(item);
        else batches.set(`${target}/${lane}`, { target, lane, n, items: [item] });
      }
    }
    for (const { target, lane, n, items } of batches.values()) {
      entries.push({
        subject: mailboxSubject(env, target, lane),
        bytes: encodeMail({ kind: 'links', cell: world.cell, src: this.shard, lane, n, items }),
      });
    }
    return { puts, entries };
  }

  #setLogTime(logTimeMs: number): void {
    this.#logTimeOffset = logTimeMs - this.#o.clock.monotonicMs();
  }

  // ---- trimming, snapshots, probes

  #trimAtomic(position: Position): void {
    const { log, env, journalTail = 1_000 } = this.#o;
    const { mailFloor } = this.#fold.scalars;
    if (mailFloor - this.#trimmedMail >= TRIM_EVERY) {
      this.#trimmedMail = mailFloor;
      void log.trim(mailboxSubject(env, this.shard, 'data'), mailFloor).catch(this.#trimFailed);
    }
    const upTo = position - journalTail;
    if (upTo - this.#trimmedJournal >= TRIM_EVERY) {
      this.#trimmedJournal = upTo;
      void log.trim(this.#journalSubject, upTo).catch(this.#trimFailed);
      void log
        .trim(mailboxSubject(env, this.shard, 'control'), this.#fold.scalars.ctlFloor)
        .catch(this.#trimFailed);
    }
  }

  readonly #trimFailed = (error: unknown): void =>
    this.#o.outside.alarm(`shard ${this.shard}: trim failed: ${errorData(error).message}`);

  /** One snapshot behind (I2, I3): a bad blob costs nothing. */
  #trimBehind(body: { covers: Position }): void {
    const { log, env } = this.#o;
    const before = this.#snapshot;
    const { mailFloor, ctlFloor } = this.#fold.scalars;
    this.#snapshot = { covers: body.covers, mailFloor, ctlFloor };
    if (!before) return;
    void log.trim(this.#journalSubject, before.covers).catch(this.#trimFailed);
    void log
      .trim(mailboxSubject(env, this.shard, 'data'), before.mailFloor)
      .catch(this.#trimFailed);
    void log
      .trim(mailboxSubject(env, this.shard, 'control'), before.ctlFloor)
      .catch(this.#trimFailed);
  }

  #maybeSnapshot(position: Position): void {
    const { snapshotEvery = 10_000, state, blobs, world } = this.#o;
    if (this.#snapshotting || this.#status !== 'owned') return;
    if (position - (this.#snapshot?.covers ?? 0) < snapshotEvery) return;
    this.#snapshotting = true;
    const rows = collectRows(state, this.shard);
    const name = snapshotName(world.cell, this.shard, position, this.#epoch);
    writeSnapshot(blobs, name, rows, position).then(
      async (blob) => {
        while (this.#inFlight) await this.#inFlight;
        if (this.#status !== 'owned') return;
        this.#inFlight = this.#commit({ t: 'SNAPSHOT', ...blob, ...this.#head() }, []).then(() => {
          this.#snapshotting = false;
          this.#answered();
        });
      },
      (error: unknown) => {
        this.#snapshotting = false;
        this.#o.outside.alarm(`shard ${this.shard}: snapshot failed: ${errorData(error).message}`);
      },
    );
  }

  /** A replaced but idle owner must find out (A7). */
  #probe(): void {
    this.#cancelProbe = this.#o.clock.after(this.#o.idleProbeMs ?? 1_000, () => {
      this.#data?.retry();
      this.#control?.retry();
      const expected = this.#journal.last;
      this.#o.log.last(this.#journalSubject).then(
        (last) => {
          if (!this.#inFlight && last !== expected && expected === this.#journal.last)
            this.#end('lost', `another owner wrote record ${last}`);
          else if (this.#status === 'owned') this.#probe();
        },
        () => this.#status === 'owned' && this.#probe(),
      );
    });
  }

  #passivate(): void {
    this.#cancelPassivation = this.#o.clock.after(PASSIVATE_EVERY_MS, () => {
      this.#parts.residents.passivate(this.now());
      this.#passivate();
    });
  }

  #settledSoon(): void {
    this.#settledTimer ??= this.#o.clock.after(SETTLED_LAG_MS, () => {
      this.#settledTimer = undefined;
      if (this.#status !== 'owned' || !this.#relay.marked || this.#inFlight) return;
      this.#group ??= new Group(this.#fold, this.now());
      this.#seal(true);
    });
  }

  #end(status: 'lost' | 'quarantined', why: string): void {
    if (this.#status === 'lost' || this.#status === 'quarantined') return;
    const stopped = this.#status === 'stopped';
    this.#status = status;
    this.#why = why;
    this.#close();
    if (!stopped) this.#o.onEnd(status, why);
  }

  #close(): void {
    this.#journal?.close();
    this.#data?.close();
    this.#control?.close();
    this.#relay?.close();
    this.#timers?.close();
    this.#cancelProbe?.();
    this.#cancelPassivation?.();
    this.#settledTimer?.();
    this.#after?.close();
    this.#group = undefined;
  }
}
