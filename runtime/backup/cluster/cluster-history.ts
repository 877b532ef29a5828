/**
 * The history of a cluster at its cut, as frames: of each shard the turns with bodies of its
 * actors, and then its segments. Turns behind the cut are left out, because a restored shard gives
 * their numbers to other turns. Turns of the cut that no segment contains yet are read from the
 * journal, which no backup contains, and become one more segment.
 *
 * Invariant: an owner trims a journal only behind what its history contains. So while no segment
 * was added, everything behind the last one is in the journal.
 */
import { shardOf } from '../../../protocols/address.ts';
import {
  fullHistorySubject,
  historySubject,
  parseHistorySubject,
} from '../../../protocols/subjects.ts';
import { Batch } from '../../history/batch.ts';
import { decodeFullTurns, encodeFullTurn, encodeFullTurns } from '../../history/full-turns.ts';
import { turnsOfJournal } from '../../history/journal-turns.ts';
import type { HistoryPolicy } from '../../history/policy.ts';
import {
  decodeSegment,
  encodeSegment,
  type FullPlace,
  lastSegment,
  packSegment,
  type Segment,
  segmentUpTo,
} from '../../history/segment.ts';
import { openEffects } from '../../history/summary.ts';
import type { LogEntry, Position } from '../../log/log.ts';
import type { Frame } from '../../transfer/frames.ts';
import { pagesOf } from '../../transfer/pages.ts';
import type { ClusterCut } from './cluster-cut.ts';
import type { ClusterSource } from './nats-source.ts';
import type { ShardCopy } from './shard-copy.ts';

export type ClusterHistoryOptions = {
  readonly source: Pick<ClusterSource, 'log' | 'env' | 'shards' | 'history'>;
  /** of all shards, at the cut */
  readonly copies: readonly Pick<ShardCopy, 'shard' | 'scalars'>[];
  readonly cut: Pick<ClusterCut, 'position'>;
  /** what is kept of turns that no segment contains yet */
  readonly policyOf: (type: string) => HistoryPolicy;
};

/** A segment may be stored while the journal is read; then both are read again. */
const ATTEMPTS_MAX = 5;
/** Of entries that come from the journal: no entry of a log has it. */
const FROM_JOURNAL: Position = 0;

type Entries = Extract<Frame, readonly ['turns', ...unknown[]]>[2];

export async function* historyFrames(options: ClusterHistoryOptions): AsyncGenerator<Frame> {
  const { source, copies } = options;
  const subjects = await source.history();
  // A cell that only older programs have opened.
  if (!subjects) return;
  const actors = new Map<number, Set<string>>();
  for (const name of subjects) {
    const subject = parseHistorySubject(name);
    if (!subject || !('actor' in subject)) continue;
    const shard = shardOf(subject.actor, source.shards);
    const own = actors.get(shard) ?? new Set();
    actors.set(shard, own.add(subject.actor));
  }
  for (const copy of copies) yield* shardFrames(options, copy, actors.get(copy.shard));
}

async function* shardFrames(
  options: ClusterHistoryOptions,
  { shard, scalars: { turnNo } }: Pick<ShardCopy, 'shard' | 'scalars'>,
  actors: ReadonlySet<string> = new Set(),
): AsyncGenerator<Frame> {
  const { source, cut } = options;
  const { env } = source;
  const { last, batch } = await behindLastSegment(options, shard, turnNo);
  const places: FullPlace[] = [];
  let fullBytes = 0;
  for (const actor of new Set([...actors, ...batch.full.keys()])) {
    if (actors.has(actor) && !batch.removed.has(actor))
      for await (const page of pagesOf(source.log, fullHistorySubject(env, actor)))
        yield ['turns', actor, await turnsUpTo(page, turnNo)];
    const turns = batch.full.get(actor);
    if (!turns) continue;
    const bytes = await encodeFullTurns(turns);
    fullBytes += bytes.length;
    places.push([actor, FROM_JOURNAL]);
    yield ['turns', actor, [[FROM_JOURNAL, bytes]]];
  }
  for await (const page of pagesOf(source.log, historySubject(env, shard), {
    upTo: last?.position ?? 0,
  }))
    yield ['history', shard, await segmentsUpTo(page, turnNo)];
  if (batch.isEmpty) return;
  const { lastTurn, lastAt, summaries } = batch;
  const head = { covers: cut.position, lastTurn, lastAt, back: 0, full: places };
  const sum = (bytes: number) => (last?.total ?? 0) + bytes + fullBytes;
  const bytes = await encodeSegment(head, { actors: batch.actors(), summaries }, sum);
  yield ['history', shard, [[FROM_JOURNAL, bytes]]];
}

/** The last segment, and the turns of the cut behind it. */
async function behindLastSegment(
  { source, cut, policyOf }: ClusterHistoryOptions,
  shard: number,
  turnNo: number,
): Promise<{ readonly last: Segment | undefined; readonly batch: Batch }> {
  const { log, env } = source;
  const subject = historySubject(env, shard);
  const rules = { policyOf };
  for (let attempt = 1; ; attempt++) {
    const batch = new Batch(rules, openEffects());
    const last = await lastSegment(log, subject);
    if (last && last.lastTurn >= turnNo) return { last, batch };
    const range = { after: last?.covers ?? 0, before: cut.position + 1 };
    for await (const { position, now, turns } of turnsOfJournal({ log, env, shard }, range)) {
      // Before there was history, the mailbox was trimmed without it.
      const known = turns.filter((turn) => turn.turnNo <= turnNo && (last || turn.source));
      if (known.length > 0) batch.add({ now, aheadMs: 0, turns: known }, position);
    }
    const isLast = (await log.last(subject)) === (last?.position ?? 0);
    if (isLast || attempt === ATTEMPTS_MAX) return { last, batch };
  }
}

async function turnsUpTo(page: readonly LogEntry[], turnNo: number): Promise<Entries> {
  const kept = page.map(async (entry) => {
    const turns = decodeFullTurns(entry);
    const inCut = turns.filter(({ turn }) => turn.turnNo <= turnNo);
    if (inCut.length === 0) return [];
    const isWhole = inCut.length === turns.length;
    const bytes = isWhole ? entry.bytes : await encodeFullTurns(inCut.map(encodeFullTurn));
    return [[entry.position, bytes] as const];
  });
  return (await Promise.all(kept)).flat();
}

async function segmentsUpTo(page: readonly LogEntry[], turnNo: number): Promise<Entries> {
  const kept = page.map(async (entry) => {
    const segment = decodeSegment(entry);
    const inCut = await segmentUpTo(segment, turnNo);
    if (!inCut) return [];
    return [[entry.position, inCut === segment ? entry.bytes : packSegment(inCut)] as const];
  });
  return (await Promise.all(kept)).flat();
}
