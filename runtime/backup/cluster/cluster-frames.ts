/** The frames of an export, from a cut of a cluster. */
import { encode } from '../../../protocols/codec.ts';
import { parseSubject, transcriptSubject } from '../../../protocols/subjects.ts';
import { auditSubject } from '../../dead-letters.ts';
import type { LogEntry } from '../../log/log.ts';
import { isHead, TABLE } from '../../shard/commit/fold.ts';
import { domainOf } from '../../shard/commit/relay.ts';
import { decodeKept, encodeKept, type OutItem } from '../../shard/commit/records.ts';
import type { State, TableRow } from '../../state/state.ts';
import type { Frame } from '../../transfer/frames.ts';
import { pagesOf, rowFrames } from '../../transfer/pages.ts';
import type { ClusterCut } from './cluster-cut.ts';
import type { ClusterSource } from './nats-source.ts';
import { LANES, type ShardCopy } from './shard-copy.ts';
import { Outboxes, settledMail } from './settled-mail.ts';

export type ClusterFramesOptions = {
  readonly source: ClusterSource;
  /** of all shards, at the cut */
  readonly copies: readonly ShardCopy[];
  readonly cut: ClusterCut;
  readonly rows: State;
};

/** Everything between the header and the end, blobs excluded. */
export async function* clusterFrames(options: ClusterFramesOptions): AsyncGenerator<Frame> {
  const { copies, rows, source } = options;
  const outboxes = new Outboxes(copies, rows);
  for (const copy of copies) {
    yield ['shard', copy.shard, encode(copy.scalars)];
    for (const lane of LANES)
      for (const page of settledMail({ ...options, cell: source.cell, outboxes }, copy, lane))
        yield ['mail', lane, page];
    yield* rowFrames(keptRows(rows, copy.shard));
  }
  yield* keptFrames(options, outboxes);
}

function* keptRows(rows: State, shard: number): Generator<TableRow> {
  for (const row of rows.dump(shard))
    if (!isHead(row.table, row.key) && row.table !== TABLE.out) yield row;
}

/** Dead letters, the decisions about them, and transcripts: with what is on its way to them. */
async function* keptFrames(
  options: ClusterFramesOptions,
  outboxes: Outboxes,
): AsyncGenerator<Frame> {
  const { source } = options;
  const { env } = source;
  const letters = groupBy(outboxes.kept.get('dlq') ?? [], domainOf);
  const entries = groupBy(outboxes.kept.get('transcript') ?? [], ({ to }) =>
    transcriptSubject(env, to),
  );
  const subjects = await source.kept();
  const parsed = subjects.map((name) => ({ name, subject: parseSubject(name) }));
  for (const { name, subject } of parsed) {
    if (subject.kind !== 'deadLetters' || name === auditSubject(env)) continue;
    const { domain } = subject;
    for await (const page of pagesInCut(options, name))
      yield ['letters', page.map(({ position, bytes }) => [position, bytes] as const), domain];
    yield* waitingLetters(domain, letters.get(domain));
    letters.delete(domain);
  }
  for (const [domain, waiting] of letters) yield* waitingLetters(domain, waiting);
  for await (const page of pagesOf(source.log, auditSubject(env)))
    yield ['audits', page.map(({ bytes }) => bytes)];
  for (const name of new Set([...subjects, ...entries.keys()])) {
    const subject = parseSubject(name);
    if (subject.kind !== 'transcript') continue;
    const actor = `${subject.tenant}/${subject.type}/${subject.key}`;
    for await (const page of pagesInCut(options, name))
      yield ['transcript', actor, page.map(({ bytes }) => bytes)];
    const waiting = entries.get(name);
    if (waiting) yield ['transcript', actor, waiting.map((item) => encodeKept(item))];
  }
}

function* waitingLetters(domain: string, items: readonly OutItem[] = []): Generator<Frame> {
  if (items.length > 0)
    yield ['letters', items.map((item) => [0, encodeKept(item)] as const), domain];
}

/**
 * Without what turns after the cut have written: they run again, and give the same ids to other
 * entries.
 */
async function* pagesInCut(
  options: ClusterFramesOptions,
  subject: string,
): AsyncGenerator<readonly LogEntry[]> {
  const prefix = options.source.cell.slice(0, 8);
  for await (const page of pagesOf(options.source.log, subject)) {
    const kept = page.filter(({ bytes, position }) => {
      const [, cell, shard, turn] = MADE_ID.exec(decodeKept(bytes, position).id) ?? [];
      const copy = cell === prefix ? options.copies[Number(shard)] : undefined;
      return copy === undefined || Number(turn) <= copy.scalars.turnNo;
    });
    if (kept.length > 0) yield kept;
  }
}

/** As `messageId` makes it: cell, shard, turn, number. */
const MADE_ID = /^([^-]+)-(\d+)-(\d+)-\d+$/;

function groupBy(
  items: readonly OutItem[],
  keyOf: (item: OutItem) => string,
): Map<string, OutItem[]> {
  const groups = new Map<string, OutItem[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}
