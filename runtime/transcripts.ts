/**
 * Transcripts: append-only conversations, read by effects and entry points. Entries never change,
 * so they are cached within bounds: a long conversation is decoded once, not once per model call.
 * Where a process owns the shard, a transcript leaves memory with its actor.
 *
 * Only the owner of an actor's shard adds to its transcript; a former owner stores only copies
 * (D6). So a process that owns the shard reads a transcript once, and then adds the entries that
 * its own relay stores. An owner that was replaced and does not know it yet may miss newer entries;
 * its effects still see everything that was committed before them.
 */
import { shardOf, type Address } from '../protocols/address.ts';
import type { Message } from '../protocols/statechart.ts';
import { transcriptSubject } from '../protocols/subjects.ts';
import { type Log, type LogEntry, type Position, READ_BYTES_DEFAULT } from './log/log.ts';
import { isErased } from './shard/commit/erased-entry.ts';
import { decodeKept } from './shard/commit/records.ts';
import { turnOfId } from './shard/commit/message-ids.ts';
import type { TranscriptEntry, Transcripts } from './system.ts';

const READ_MAX = 1_000;
/** Maximum size of the decoded entries of all transcripts together. */
const CACHE_BYTES_MAX = 16 * 2 ** 20;
/**
 * Where memory is full, one in this number of transcripts that are read from the log takes the
 * place of the least recently used ones. If each did, and more were read in turn than fit, each
 * would be forgotten before it is read again. Those of idle actors leave memory anyway.
 */
const ADMITTED_ONE_IN = 32;
/** Counted per entry in addition to its encoded bytes: its objects, its keys, its id in the set. */
const ENTRY_OVERHEAD_BYTES = 600;

/** The beginning of one transcript, without a gap. */
type Cached = {
  readonly shard: number;
  readonly entries: TranscriptEntry[];
  readonly ids: Set<string>;
  next: Position;
  bytes: number;
  /** the owner that adds everything since the end was read; undefined: it must be read again */
  addedBy: TranscriptWriter | undefined;
  /**
   * entries that owners here have stored; changes while a page is read mean that it may lack one
   */
  stored: number;
};

/** Notifications from the owner of a shard to the readers of its process. */
export type TranscriptWriter = {
  /** The relay stored an entry. Called for every one, in their order. */
  stored(actor: Address, entry: Pick<LogEntry, 'position' | 'bytes'>): void;
  /** The shard is no longer owned. */
  close(): void;
};

export class LogTranscripts implements Transcripts {
  readonly #log: Log;
  readonly #env: string;
  readonly #shards: number;
  /** in order of use */
  readonly #cache = new Map<Address, Cached>();
  /** of the shards that this process owns */
  readonly #writers = new Map<number, TranscriptWriter>();
  #bytes = 0;
  /** transcripts that were read from the log while memory was full */
  #candidates = 0;

  /** @param shards of the cell */
  constructor(log: Log, env: string, shards: number) {
    this.#log = log;
    this.#env = env;
    this.#shards = shards;
  }

  /** What is kept in memory: transcripts, and the counted bytes of their entries. */
  get kept(): { readonly transcripts: number; readonly bytes: number } {
    return { transcripts: this.#cache.size, bytes: this.#bytes };
  }

  /** For a new owner of a shard, before its relay stores anything. */
  writer(shard: number): TranscriptWriter {
    const writer: TranscriptWriter = {
      stored: (actor, entry) => this.#stored(writer, actor, entry),
      close: () => {
        if (this.#writers.get(shard) === writer) this.#writers.delete(shard);
      },
    };
    this.#writers.set(shard, writer);
    return writer;
  }

  async read(actor: Address, { from = 1, limit = READ_MAX } = {}): Promise<TranscriptEntry[]> {
    const isKnown = this.#cache.has(actor);
    const cached = this.#use(actor);
    const found = () => cached.entries.slice(firstFrom(cached.entries, from)).slice(0, limit);
    // A page far before the cached entries is read alone, without what lies between.
    if (from > cached.next + READ_MAX) return this.#page(actor, from, limit);
    const writer = this.#writers.get(cached.shard);
    const isComplete = () => writer !== undefined && cached.addedBy === writer;
    while (found().length < limit && !isComplete()) {
      const { stored } = cached;
      const page = await this.#log.read(transcriptSubject(this.#env, actor), cached.next, {
        limit: READ_MAX,
      });
      this.#keep(actor, cached, page);
      if (!isLast(page)) continue;
      if (cached.stored === stored) cached.addedBy = writer;
      break;
    }
    if (isKnown || this.#admitsNext()) this.#evict();
    else this.forget(actor);
    return found();
  }

  last(actor: Address): Promise<Position> {
    return this.#log.last(transcriptSubject(this.#env, actor));
  }

  /**
   * Forgets transcripts of a shard's idle actors: they leave memory with their actors, and are read
   * again when they are needed. Called by the owner of the shard.
   */
  passivate(shard: number, isActive: (actor: Address) => boolean): void {
    for (const [actor, cached] of this.#cache)
      if (cached.shard === shard && !isActive(actor)) this.forget(actor);
  }

  /** The transcript was erased, or leaves memory: it is read again when it is needed. */
  forget(actor: Address): void {
    this.#bytes -= this.#cache.get(actor)?.bytes ?? 0;
    this.#cache.delete(actor);
  }

  /** Transcripts were erased elsewhere: all are read again. */
  forgetAll(): void {
    this.#bytes = 0;
    this.#cache.clear();
  }

  async #page(actor: Address, from: Position, limit: number): Promise<TranscriptEntry[]> {
    const subject = transcriptSubject(this.#env, actor);
    const alone = this.#nothingRead(actor, from);
    // The log bounds the bytes of one read, so a page of large entries takes several.
    for (let left = limit; left > 0; left = limit - alone.entries.length) {
      const page = await this.#log.read(subject, alone.next, { limit: left });
      if (page.length === 0) break;
      for (const entry of page) append(alone, entry);
    }
    return alone.entries;
  }

  #use(actor: Address): Cached {
    const cached = this.#cache.get(actor) ?? this.#nothingRead(actor, 1);
    this.#cache.delete(actor);
    this.#cache.set(actor, cached);
    return cached;
  }

  /** With its shard: a worker asks for that of each transcript every few seconds, per shard. */
  #nothingRead(actor: Address, next: Position): Cached {
    const shard = shardOf(actor, this.#shards);
    return { shard, entries: [], ids: new Set(), next, bytes: 0, addedBy: undefined, stored: 0 };
  }

  #stored(writer: TranscriptWriter, actor: Address, entry: Omit<LogEntry, 'logTimeMs'>): void {
    const cached = this.#cache.get(actor);
    if (!cached) return;
    cached.stored += 1;
    if (cached.addedBy !== writer) return;
    this.#keep(actor, cached, [entry]);
    this.#evict();
  }

  /**
   * Two readers may read the same page: known entries are skipped. What was forgotten during the
   * read is not counted: nothing would subtract it again.
   */
  #keep(actor: Address, cached: Cached, page: readonly Omit<LogEntry, 'logTimeMs'>[]): void {
    const isKept = this.#cache.get(actor) === cached;
    for (const entry of page) {
      const size = entry.position >= cached.next ? append(cached, entry) : 0;
      if (isKept) this.#bytes += size;
    }
  }

  /** Whether the transcript that was just read from the log stays in memory; counts it. */
  #admitsNext(): boolean {
    if (this.#bytes <= CACHE_BYTES_MAX) return true;
    this.#candidates += 1;
    return this.#candidates % ADMITTED_ONE_IN === 0;
  }

  #evict(): void {
    for (const [actor, { bytes }] of this.#cache) {
      if (this.#bytes <= CACHE_BYTES_MAX) return;
      this.#cache.delete(actor);
      this.#bytes -= bytes;
    }
  }
}

/** Whether the page ended at the end of the log. */
const isLast = (page: readonly LogEntry[]): boolean =>
  page.length < READ_MAX &&
  page.reduce((sum, { bytes }) => sum + bytes.length, 0) < READ_BYTES_DEFAULT;

/** Adds one entry unless its id is known: relays may store one twice (D6). Returns its size. */
function append(cached: Cached, { position, bytes }: Omit<LogEntry, 'logTimeMs'>): number {
  const kept = decodeKept(bytes, position);
  const { id, event } = kept;
  cached.next = position + 1;
  if (cached.ids.has(id) || isErased(kept)) return 0;
  cached.ids.add(id);
  const at = event['at'] as number;
  cached.entries.push({ position, at, turn: turnOfId(id), entry: event['entry'] as Message });
  const size = bytes.length + ENTRY_OVERHEAD_BYTES;
  cached.bytes += size;
  return size;
}

/** Index of the first entry at or behind a position. */
function firstFrom(entries: readonly TranscriptEntry[], from: Position): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (entries[middle]!.position < from) low = middle + 1;
    else high = middle;
  }
  return low;
}
