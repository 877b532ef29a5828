/**
 * SettledMail: the mail of a cut, with every message that was sent in the cut and nothing that was
 * sent after it. A restored shard runs its later turns again, and sends under the same numbers.
 *
 * Messages that are on their way to another shard are put behind its mail. So no link has anything
 * unsettled, as in an embedded store, and the frames of an export can carry it.
 */
import { decodeOut, encodeMail, decodeMail, type OutItem } from '../../shard/commit/records.ts';
import type { LinkTarget, MailEntry } from '../../shard/commit/records.ts';
import { CorruptRecord } from '../../shard/commit/record-format.ts';
import { type Scalars, TABLE } from '../../shard/commit/fold.ts';
import type { Lane } from '../../../protocols/statechart.ts';
import type { Position } from '../../log/log.ts';
import type { State } from '../../state/state.ts';
import type { MailFrame } from '../../transfer/frames.ts';
import type { ClusterCut } from './cluster-cut.ts';

/** A shard in the cut, as `ShardCopy`. */
export type CutShard = {
  readonly shard: number;
  readonly scalars: Pick<Scalars, 'keyNow' | 'linkIn' | 'linkOut'>;
  mail(lane: Lane): Iterable<readonly MailFrame[]>;
};

type Waiting = { readonly n: number; readonly item: OutItem };
const FLIGHT_ITEMS = 64;
const PAGE = 1_000;

/** What shards have sent and not yet stored elsewhere, by where it goes. */
export class Outboxes {
  /** `target/lane` -> sender -> items, by number */
  readonly #links = new Map<string, Map<number, Waiting[]>>();
  /** for logs without an owner */
  readonly kept = new Map<'dlq' | 'transcript', OutItem[]>();

  constructor(copies: readonly Pick<CutShard, 'shard'>[], rows: State) {
    for (const { shard } of copies)
      for (let from = ''; ; ) {
        const page = rows.range(shard, TABLE.out, { from, limit: PAGE });
        for (const { value } of page) {
          const { target, lane, n, item } = decodeOut(value);
          this.#add(shard, target, lane, { n, item });
        }
        if (page.length < PAGE) break;
        from = `${page.at(-1)!.key}\0`;
      }
  }

  to(shard: number, lane: Lane): ReadonlyMap<number, readonly Waiting[]> {
    return this.#links.get(`${shard}/${lane}`) ?? new Map();
  }

  #add(from: number, target: LinkTarget, lane: Lane, waiting: Waiting): void {
    if (typeof target !== 'number') {
      const items = this.kept.get(target) ?? [];
      this.kept.set(target, items);
      items.push(waiting.item);
      return;
    }
    const link = `${target}/${lane}`;
    const senders = this.#links.get(link) ?? new Map<number, Waiting[]>();
    this.#links.set(link, senders);
    senders.set(from, [...(senders.get(from) ?? []), waiting]);
  }
}

export type SettledMailOptions = {
  readonly cell: string;
  /** by shard */
  readonly copies: readonly CutShard[];
  readonly cut: Pick<ClusterCut, 'mailEnd'>;
  readonly outboxes: Pick<Outboxes, 'to'>;
};

/** The mail of one lane of a shard, page by page. */
export function* settledMail(
  options: SettledMailOptions,
  receiver: CutShard,
  lane: Lane,
): Generator<readonly MailFrame[]> {
  /** by sender: the last number that is accepted, or in the mail */
  const marks = new Map<number, number>();
  const markOf = (src: number) => marks.get(src) ?? receiver.scalars.linkIn[`${src}/${lane}`] ?? 0;
  let last = { position: 0, timeMs: receiver.scalars.keyNow };
  for (const page of receiver.mail(lane)) {
    const settled = page.flatMap(([position, timeMs, bytes]): MailFrame[] => {
      last = { position, timeMs: Math.max(last.timeMs, timeMs) };
      const entry = entryOf(bytes);
      if (entry === undefined || entry.cell !== options.cell) return [[position, timeMs, bytes]];
      const kept = inCut(options, receiver, lane, { position, entry });
      if (kept === undefined) return [];
      if (kept.kind === 'links' && kept.n <= markOf(kept.src) + 1)
        marks.set(kept.src, Math.max(markOf(kept.src), kept.n + kept.items.length - 1));
      return [[position, timeMs, kept === entry ? bytes : encodeMail(kept)]];
    });
    if (settled.length > 0) yield settled;
  }
  const { cell } = options;
  for (const [src, waiting] of options.outboxes.to(receiver.shard, lane)) {
    const missing = waiting.filter(({ n }) => n > markOf(src)).toSorted((a, b) => a.n - b.n);
    for (let at = 0; at < missing.length; at += FLIGHT_ITEMS) {
      const flight = missing.slice(at, at + FLIGHT_ITEMS);
      const items = flight.map(({ item }) => item);
      const bytes = encodeMail({ kind: 'links', cell, src, lane, n: flight[0]!.n, items });
      last = { ...last, position: last.position + 1 };
      yield [[last.position, last.timeMs, bytes]];
    }
  }
}

/** Number of the last message that a shard sent to another one, in the cut. */
const lastSent = ({ scalars }: CutShard, receiver: CutShard, lane: Lane): number =>
  (scalars.linkOut[`${receiver.shard}/${lane}`] ?? 1) - 1;

/** What of an entry belongs to the cut; the same entry if all of it does. */
function inCut(
  { copies, cut }: SettledMailOptions,
  receiver: CutShard,
  lane: Lane,
  { position, entry }: { readonly position: Position; readonly entry: MailEntry },
): MailEntry | undefined {
  // An effect that was called after the cut is called again, and sends again.
  if (entry.kind !== 'links') return position <= cut.mailEnd ? entry : undefined;
  const sender = copies[entry.src];
  if (sender === undefined) return entry;
  const count = lastSent(sender, receiver, lane) - entry.n + 1;
  if (count >= entry.items.length) return entry;
  return count <= 0 ? undefined : { ...entry, items: entry.items.slice(0, count) };
}

/** Undefined for what cannot be read, which the receiver makes a dead letter (E5). */
function entryOf(bytes: Uint8Array): MailEntry | undefined {
  try {
    return decodeMail(bytes);
  } catch (error) {
    if (error instanceof CorruptRecord) return undefined;
    throw error;
  }
}
