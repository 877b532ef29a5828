/**
 * EmbeddedLog: the Log of the embedded store. An append is stored by a frame of the write-ahead log
 * and answered; a checkpoint writes it to LMDB later. Until then it is read from memory.
 *
 * Invariants:
 *  - all appends of one turn of the event loop are one frame, in the order of the calls;
 *  - an append is decided (stored at which position, or refused) when its frame is laid out, from
 *    what is stored and what the same frame stores before it, so P2 holds without any lock;
 *  - an append and the entries that are stored with it (`alongside`) are in one frame;
 *  - readers see an entry only when its frame has the promised durability;
 *  - bounded (I8): FRAME_BYTES_MAX per frame (one append may exceed it alone), and the bytes that
 *    wait for a checkpoint.
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { Clock } from '../clock/clock.ts';
import type { Checkpointer } from './checkpointer.ts';
import { ENTRY_HEADER_BYTES, writeEntry } from './entry-row.ts';
import { followByReading } from './follow.ts';
import {
  type AppendAnswer,
  type AppendOptions,
  AppendUnknown,
  type Follow,
  type Log,
  type LogEntry,
  type Position,
  READ_BYTES_DEFAULT,
  READ_LIMIT_DEFAULT,
  type ReadOptions,
} from './log.ts';
import { LogTime } from './log-time.ts';
import type { StoreHealth } from './store-health.ts';
import type { Subject, Subjects } from './subjects.ts';
import { FrameBuilder, frameEntryBytes } from './wal/frame.ts';
import { WalBroken, type WriteAheadLog } from './wal/write-ahead-log.ts';
import { Watchers } from './watchers.ts';

export const FRAME_BYTES_MAX = 16 * 2 ** 20;

export type EmbeddedLogOptions = {
  readonly wal: WriteAheadLog;
  readonly subjects: Subjects;
  readonly checkpointer: Checkpointer;
  readonly health: StoreHealth;
  readonly clock: Clock;
  /** true: an append is answered when it survives a power loss, not only the process's death */
  readonly isSynced: boolean;
  /** calls at the end of the turn of the event loop; default setImmediate */
  readonly atTurnEnd?: (call: () => void) => void;
  /** frames were written that may not survive a power loss yet */
  readonly onUnsynced: () => void;
};

type Part = { readonly subject: string; readonly bytes: Uint8Array };

type Append = Part & {
  readonly expectedLast: Position | undefined;
  readonly alongside: readonly Part[];
  readonly answer: (answer: AppendAnswer) => void;
  readonly reject: (error: Error) => void;
};

/** An entry that a frame is to store. */
type Planned = {
  readonly subject: Subject;
  readonly position: Position;
  readonly bytes: Uint8Array;
};

type Decided = { readonly append: Append; readonly answer: AppendAnswer };

type Plan = {
  readonly logTimeMs: number;
  readonly decided: readonly Decided[];
  readonly planned: readonly Planned[];
};

/** Appends that share a frame, or that depend on earlier ones without a frame of their own. */
type Batch = {
  readonly decided: readonly Decided[];
  readonly stored: readonly { readonly subject: Subject; readonly value: Buffer }[];
  /** number of its frame, or of the last one before it */
  readonly frame: number;
};

export class EmbeddedLog implements Log {
  readonly atomic = true;
  readonly #o: EmbeddedLogOptions;
  readonly #time: LogTime;
  readonly #watchers = new Watchers();
  readonly #atTurnEnd: (call: () => void) => void;
  #waiting: Append[] = [];
  #isScheduled = false;
  /** a thread writes a frame, because a sync is running */
  #writing: Promise<void> | undefined;
  /** written, and waiting for a sync */
  #unsynced: Batch[] = [];
  #syncing: Promise<void> | undefined;
  #isClosed = false;
  #shownFrame: number;
  /** highest time of an entry that was stored or read */
  #newestMs = 0;

  constructor(options: EmbeddedLogOptions) {
    this.#o = options;
    this.#shownFrame = options.wal.last;
    this.#time = new LogTime(options.clock);
    this.#atTurnEnd = options.atTurnEnd ?? setImmediate;
  }

  /** Number of the last frame whose entries readers see. */
  get shownFrame(): number {
    return this.#shownFrame;
  }

  async append(
    subject: string,
    bytes: Uint8Array,
    { expectedLast, alongside }: AppendOptions = {},
  ): Promise<AppendAnswer> {
    this.#assertOpen();
    const entries = alongside?.entries ?? [];
    const { subjects, checkpointer } = this.#o;
    let size = bytes.length;
    subjects.assertName(subject);
    for (const entry of entries) {
      subjects.assertName(entry.subject);
      size += entry.bytes.length;
    }
    checkpointer.assertRoom(size);
    return new Promise((answer, reject) => {
      this.#waiting.push({ subject, bytes, expectedLast, alongside: entries, answer, reject });
      this.#schedule();
    });
  }

  async last(subject: string): Promise<Position> {
    this.#assertOpen();
    return this.#o.subjects.find(subject)?.last ?? 0;
  }

  async readLast(subject: string): Promise<LogEntry | undefined> {
    this.#assertOpen();
    const found = this.#o.subjects.find(subject);
    const entry = found && this.#o.subjects.lastEntry(found);
    if (entry) this.#noteTime(entry);
    return entry;
  }

  async read(
    subject: string,
    from: Position,
    { limit = READ_LIMIT_DEFAULT, bytesMax = READ_BYTES_DEFAULT }: ReadOptions = {},
  ): Promise<readonly LogEntry[]> {
    this.#assertOpen();
    const { subjects } = this.#o;
    const found = subjects.find(subject);
    if (found === undefined || from > found.last || limit <= 0) return [];
    const entries: LogEntry[] = [];
    let bytes = 0;
    for (const entry of subjects.entries(found, from, limit)) {
      this.#noteTime(entry);
      entries.push(entry);
      bytes += entry.bytes.length;
      if (entries.length >= limit || bytes >= bytesMax) break;
    }
    return entries;
  }

  follow(subject: string, from: Position): Follow {
    return followByReading(this, subject, from);
  }

  watch(subject: string, onAppended: () => void): () => void {
    return this.#watchers.add(subject, onAppended);
  }

  lastKnown(subject: string): Position {
    return this.#o.subjects.lastKnown(subject);
  }

  async trim(subject: string, upTo: Position): Promise<void> {
    this.#assertOpen();
    const { subjects, checkpointer } = this.#o;
    const found = subjects.find(subject);
    if (found === undefined) return;
    const trimmed = subjects.trim(found, upTo);
    checkpointer.changed(0);
    await trimmed;
  }

  /** Stores and answers earlier appends, then refuses all that comes. */
  async close(): Promise<void> {
    this.#writeWaiting();
    while (this.#writing || this.#syncing) await (this.#writing ?? this.#syncing);
    this.#isClosed = true;
    this.#watchers.clear();
  }

  /** An earlier process may have stored it at a time that this clock has not reached yet. */
  #noteTime({ logTimeMs }: LogEntry): void {
    if (logTimeMs <= this.#newestMs) return;
    this.#newestMs = logTimeMs;
    this.#time.found(logTimeMs);
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new TroupeError('UNAVAILABLE', 'the log is closed');
    this.#o.health.assertSound();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#atTurnEnd(() => {
      this.#isScheduled = false;
      this.#writeWaiting();
    });
  }

  #writeWaiting(): void {
    while (this.#waiting.length > 0 && !this.#writing) {
      const appends = this.#takeFrame();
      if (this.#o.health.isBroken) {
        for (const { subject, reject } of appends) reject(refused(subject, 'the store is broken'));
        continue;
      }
      this.#write(this.#decide(appends));
    }
  }

  /** As many waiting appends as fit into one frame. */
  #takeFrame(): Append[] {
    let bytes = 0;
    const end = this.#waiting.findIndex((append, i) => {
      bytes += sizeOf(append);
      return i > 0 && bytes > FRAME_BYTES_MAX;
    });
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  /** Decides each append in order. One that cannot be decided is rejected alone. */
  #decide(appends: readonly Append[]): Plan {
    const { subjects } = this.#o;
    const logTimeMs = this.#time.now();
    this.#newestMs = logTimeMs;
    const decided: Decided[] = [];
    const planned: Planned[] = [];
    for (const append of appends) {
      const { subject: name, expectedLast, alongside } = append;
      let subject: Subject;
      let others: Subject[];
      try {
        subject = subjects.findOrMake(name);
        others = alongside.map((entry) => subjects.findOrMake(entry.subject));
      } catch (cause) {
        append.reject(refused(name, cause));
        continue;
      }
      if (expectedLast !== undefined && expectedLast !== subject.assigned) {
        decided.push({ append, answer: { kind: 'refused', last: subject.assigned } });
        continue;
      }
      const position = ++subject.assigned;
      decided.push({ append, answer: { kind: 'stored', position, logTimeMs } });
      planned.push({ subject, position, bytes: append.bytes });
      others.forEach((other, i) =>
        planned.push({ subject: other, position: ++other.assigned, bytes: alongside[i]!.bytes }),
      );
    }
    return { logTimeMs, decided, planned };
  }

  #write(plan: Plan): void {
    const { decided, planned } = plan;
    const { wal } = this.#o;
    if (planned.length === 0) return this.#settle({ decided, stored: [], frame: wal.last });
    const { frame, stored } = layOut(plan);
    if (wal.isSyncing) {
      this.#writing = this.#writeInThread(plan, frame, stored);
      return;
    }
    try {
      wal.write(frame);
    } catch (cause) {
      return this.#notWritten(plan, cause);
    }
    this.#written(plan, frame, stored);
  }

  /** Appends that arrive meanwhile are the next frame. */
  async #writeInThread(plan: Plan, frame: Buffer, stored: Batch['stored']): Promise<void> {
    let failure: { readonly cause: unknown } | undefined;
    try {
      await this.#o.wal.writeInThread(frame);
    } catch (cause) {
      failure = { cause };
    }
    this.#writing = undefined;
    if (failure) this.#notWritten(plan, failure.cause);
    else this.#written(plan, frame, stored);
    this.#writeWaiting();
  }

  #written({ decided }: Plan, frame: Buffer, stored: Batch['stored']): void {
    const { wal, isSynced, onUnsynced, checkpointer } = this.#o;
    checkpointer.changed(frame.length);
    if (!isSynced) onUnsynced();
    this.#settle({ decided, stored, frame: wal.last });
  }

  #notWritten({ decided, planned }: Plan, cause: unknown): void {
    for (const { subject } of planned) subject.assigned--;
    const isUnknown = cause instanceof WalBroken;
    if (isUnknown) this.#o.health.fail(cause);
    for (const { append } of decided)
      append.reject(
        isUnknown ? new AppendUnknown(append.subject, { cause }) : refused(append.subject, cause),
      );
  }

  /** Shows and answers a batch, as soon as everything before it is durable, too. */
  #settle(batch: Batch): void {
    if (!this.#o.isSynced) return this.#show(batch);
    this.#unsynced.push(batch);
    this.#syncing ??= this.#syncAll();
  }

  async #syncAll(): Promise<void> {
    while (this.#unsynced.length > 0) {
      const batches = this.#unsynced.length;
      try {
        await this.#o.wal.sync();
      } catch (cause) {
        this.#o.health.fail(cause);
        for (const { decided } of this.#unsynced.splice(0))
          for (const { append } of decided)
            append.reject(new AppendUnknown(append.subject, { cause }));
        break;
      }
      for (const batch of this.#unsynced.splice(0, batches)) this.#show(batch);
    }
    this.#syncing = undefined;
  }

  #show({ decided, stored, frame }: Batch): void {
    for (const { subject, value } of stored) {
      this.#o.subjects.store(subject, value);
      this.#watchers.notify(subject.name);
    }
    this.#shownFrame = frame;
    for (const { append, answer } of decided) append.answer(answer);
  }
}

const layOut = ({ logTimeMs, planned }: Plan): { frame: Buffer; stored: Batch['stored'] } => {
  let payloadBytes = 0;
  for (const { subject, bytes } of planned)
    payloadBytes += frameEntryBytes(subject.nameBytes, ENTRY_HEADER_BYTES + bytes.length);
  const builder = new FrameBuilder(payloadBytes);
  const stored = planned.map(({ subject, position, bytes }) => {
    const value = builder.entry(subject.nameBytes, position, ENTRY_HEADER_BYTES + bytes.length);
    writeEntry(value, position, logTimeMs, bytes);
    return { subject, value };
  });
  return { frame: builder.bytes, stored };
};

const sizeOf = ({ bytes, alongside }: Append): number =>
  alongside.reduce((sum, entry) => sum + entry.bytes.length, bytes.length);

/** Nothing of the append was stored. */
const refused = (subject: string, cause: unknown): TroupeError =>
  new TroupeError(
    'UNAVAILABLE',
    `the store could not write (is the disk full?); nothing was stored: ${String(cause)}`,
    { details: { reason: 'STORE_WRITE_FAILED', subject }, cause },
  );
