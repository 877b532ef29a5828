/** Turns as the journal of a shard has them, with what each of them processed (TurnSources). */
import { setImmediate as letOthersRun } from 'node:timers/promises';
import { journalSubject } from '../../protocols/subjects.ts';
import { type ShardLog, TurnSources } from '../inspect/turn-sources.ts';
import type { Position } from '../log/log.ts';
import type { OpenTurn } from '../shard/commit/group.ts';
import { decodeRecord, type JournalRecord } from '../shard/commit/records.ts';

/** The turns of one record. */
export type JournalTurns = {
  readonly position: Position;
  readonly now: number;
  readonly turns: readonly OpenTurn[];
};

export type JournalRange = {
  /** only records behind this position */
  readonly after: Position;
  /** only records before this position */
  readonly before?: Position;
  /** only turns of this actor */
  readonly actor?: string;
};

/** Journal that is decoded in one turn of the event loop. */
const SLICE_BYTES = 512 * 1024;
/** Mailbox entries that are read at once for all actors of a shard. */
const MAIL_PAGE = 256;

/** @throws TroupeError when the journal or the mailbox cannot be read */
export async function* turnsOfJournal(
  of: ShardLog,
  range: JournalRange,
): AsyncGenerator<JournalTurns> {
  const { after, before = Number.POSITIVE_INFINITY, actor } = range;
  const sources = new TurnSources(of, actor === undefined ? MAIL_PAGE : 1);
  for await (const { position, record } of countingRecords(of, before)) {
    if (record.t !== 'TURNS') continue;
    const turns: OpenTurn[] = [];
    for (const turn of record.turns) {
      if (position > after && (actor === undefined || turn.actor === actor))
        turns.push({ ...turn, source: await sources.of(turn) });
      sources.apply(turn.puts);
    }
    sources.apply(record.puts);
    if (turns.length > 0) yield { position, now: record.now, turns };
  }
}

type Counting = { readonly position: Position; readonly record: JournalRecord };

/** From the first record that is there; void ones are left out (C4). */
async function* countingRecords(
  { log, env, shard }: ShardLog,
  end: Position,
): AsyncGenerator<Counting> {
  let last = 0;
  let slice = 0;
  for (;;) {
    const entries = await log.read(journalSubject(env, shard), last + 1);
    for (const { position, bytes } of entries) {
      if (position >= end) return;
      const record = decodeRecord(bytes, position);
      if (record.prev >= last) yield { position, record };
      last = position;
      slice += bytes.length;
      if (slice < SLICE_BYTES) continue;
      slice = 0;
      await letOthersRun();
    }
    if (entries.length === 0) return;
  }
}
