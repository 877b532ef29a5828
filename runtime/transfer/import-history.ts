/**
 * Imports history. Its entries get new positions, so those that segments name are replaced. The new
 * journal begins with a snapshot, so no segment covers a part of it.
 */
import { fullHistorySubject, historySubject } from '../../protocols/subjects.ts';
import { decodeSegment, type FullPlace, packSegment, SEGMENTS_BACK } from '../history/segment.ts';
import type { Log, Position } from '../log/log.ts';
import { Appender } from './appender.ts';
import { TranscriptImport } from './import-transcripts.ts';

type Entries = readonly (readonly [Position, Uint8Array])[];

export class HistoryImport {
  readonly #log: Log;
  readonly #env: string;
  readonly #turns: TranscriptImport;
  /** positions of turns with bodies, by actor and old position */
  #places = new Map<string, Map<Position, Position>>();
  #segments: { readonly shard: number; readonly appender: Appender } | undefined;
  /** of the last segments of the shard */
  #recent: Position[] = [];

  constructor(log: Log, env: string) {
    this.#log = log;
    this.#env = env;
    this.#turns = new TranscriptImport(log, (actor) => fullHistorySubject(env, actor));
  }

  async turns(actor: string, entries: Entries): Promise<void> {
    if (this.#segments) this.#places = new Map();
    this.#segments = undefined;
    const places = this.#places.get(actor) ?? new Map<Position, Position>();
    this.#places.set(actor, places);
    const contents = entries.map(([, bytes]) => bytes);
    await this.#turns.append(actor, contents, (at, position) =>
      places.set(entries[at]![0], position),
    );
  }

  async segments(shard: number, entries: Entries): Promise<void> {
    await this.settled();
    this.throwFailure();
    if (this.#segments?.shard !== shard) {
      const appender = new Appender(this.#log, historySubject(this.#env, shard));
      this.#segments = { shard, appender };
      this.#recent = [];
    }
    for (const [position, bytes] of entries) {
      const segment = decodeSegment({ position, bytes, logTimeMs: 0 });
      const full = segment.full.flatMap(([actor, old]): FullPlace[] => {
        const place = this.#places.get(actor)?.get(old);
        return place === undefined ? [] : [[actor, place]];
      });
      const moved = { ...segment, covers: 0, back: this.#recent[0] ?? 0, full };
      const stored = await this.#segments.appender.append(packSegment(moved));
      this.#recent = [...this.#recent, stored].slice(-SEGMENTS_BACK);
    }
  }

  /** Resolves when all turns are stored, or have failed. */
  settled(): Promise<void> {
    return this.#turns.settled();
  }

  /** @throws the error of turns that are not stored */
  throwFailure(): void {
    this.#turns.throwFailure();
  }
}
