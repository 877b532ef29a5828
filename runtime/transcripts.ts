/**
 * Transcripts: append-only conversations, read by effects and entry points. Entries never change,
 * so they are cached within bounds: a long conversation is decoded once, not once per model call.
 */
import type { Address } from '../protocols/address.ts';
import type { Message } from '../protocols/statechart.ts';
import { transcriptSubject } from '../protocols/subjects.ts';
import type { Log, LogEntry, Position } from './log/log.ts';
import { decodeKept } from './shard/commit/records.ts';
import type { TranscriptEntry, Transcripts } from './system.ts';

const READ_MAX = 1_000;
/** Size of the entries that are kept decoded, all transcripts together. */
const CACHE_BYTES_MAX = 16 * 2 ** 20;
/** Counted per entry in addition to its encoded bytes: its objects, its keys, its id in the set. */
const ENTRY_OVERHEAD_BYTES = 600;

/** The beginning of one transcript, without a gap. */
type Cached = {
  readonly entries: TranscriptEntry[];
  readonly ids: Set<string>;
  next: Position;
  bytes: number;
};

export class LogTranscripts implements Transcripts {
  readonly #log: Log;
  readonly #env: string;
  /** in order of use */
  readonly #cache = new Map<Address, Cached>();
  #bytes = 0;

  constructor(log: Log, env: string) {
    this.#log = log;
    this.#env = env;
  }

  async read(actor: Address, { from = 1, limit = READ_MAX } = {}): Promise<TranscriptEntry[]> {
    const cached = this.#use(actor);
    const found = () => cached.entries.slice(firstFrom(cached.entries, from)).slice(0, limit);
    // A page far before the cached entries is read alone, without what lies between.
    if (from > cached.next + READ_MAX) return this.#page(actor, from, limit);
    while (found().length < limit) {
      const page = await this.#log.read(transcriptSubject(this.#env, actor), cached.next, {
        limit: READ_MAX,
      });
      if (page.length === 0) break;
      this.#keep(cached, page);
    }
    this.#evict();
    return found();
  }

  last(actor: Address): Promise<Position> {
    return this.#log.last(transcriptSubject(this.#env, actor));
  }

  async #page(actor: Address, from: Position, limit: number): Promise<TranscriptEntry[]> {
    const page = await this.#log.read(transcriptSubject(this.#env, actor), from, { limit });
    const alone: Cached = { entries: [], ids: new Set(), next: from, bytes: 0 };
    for (const entry of page) append(alone, entry);
    return alone.entries;
  }

  #use(actor: Address): Cached {
    const cached = this.#cache.get(actor) ?? {
      entries: [],
      ids: new Set<string>(),
      next: 1,
      bytes: 0,
    };
    this.#cache.delete(actor);
    this.#cache.set(actor, cached);
    return cached;
  }

  /** Two readers may bring the same page: what is known already is passed over. */
  #keep(cached: Cached, page: readonly LogEntry[]): void {
    for (const entry of page)
      if (entry.position >= cached.next) this.#bytes += append(cached, entry);
  }

  #evict(): void {
    for (const [actor, { bytes }] of this.#cache) {
      if (this.#bytes <= CACHE_BYTES_MAX) return;
      this.#cache.delete(actor);
      this.#bytes -= bytes;
    }
  }
}

/** Adds one entry unless its id is known: relays may store one twice (D6). Answers its size. */
function append(cached: Cached, { position, bytes }: LogEntry): number {
  const { id, event } = decodeKept(bytes, position);
  cached.next = position + 1;
  if (cached.ids.has(id)) return 0;
  cached.ids.add(id);
  cached.entries.push({ position, at: event['at'] as number, entry: event['entry'] as Message });
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
