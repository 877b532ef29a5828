/**
 * copy: reads the conversation of another session as it was after a turn, for a fork: its state
 * from the history, and its transcript from the last reset to that turn, in pages. `repeatable`.
 *
 * Prompts are left out, because the fork builds its own. Answers are without their usage, so that
 * nothing is counted twice. A compaction names the position of the first entry that stays; it
 * begins a page, so that this entry has its position in the fork already.
 */
import { address, type Address } from '../../../protocols/address.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { ForkPoint } from '../../../protocols/session-fork.ts';
import type { SessionEntry } from '../../../protocols/session.ts';
import type { EffectContext, EffectDefinition, TranscriptEntry } from '../../../runtime/index.ts';
import { startOf } from '../fork.ts';
import type { CopyInput, CopyOutput, CopyRest, ForkStart, SessionContext } from '../types.ts';
import { entriesFrom, entryOf } from './transcript.ts';

/** Of one page: the turn that appends it is one record of the shard. */
const PAGE = { entries: 200, bytes: 2 ** 20 };
const READ_MAX = 1_000;
/** How far the transcript may lag behind the turn (only where messages are relayed). */
const WAIT_MS = 10_000;
const POLL_MS = 20;

export const copy: EffectDefinition<CopyInput, CopyOutput> = {
  class: 'repeatable',
  timeoutMs: 60_000,
  async run({ tenant, from, rest }, context) {
    const of = { source: address(tenant, 'session', from.key), from, context };
    if (rest) return pageAt(rest, of);
    const begun = await begin(of);
    return { start: begun.start, ...(begun.rest ? await pageAt(begun.rest, of) : { entries: [] }) };
  },
};

type Source = {
  readonly source: Address;
  readonly from: ForkPoint;
  readonly context: EffectContext;
};

/** The state after the turn, and where the entries of its conversation are. */
async function begin({
  source,
  from: { key, turn },
  context,
}: Source): Promise<{ readonly start: ForkStart; readonly rest?: CopyRest }> {
  const { context: past, appended } = await context.past(source, turn);
  // The row was written by this machine, or migrated to it.
  const session = past as SessionContext;
  if (session.fork) {
    const message = `at turn ${turn} the session ${key} was itself being forked: choose a later turn`;
    throw new TroupeError('INVALID_ARGUMENT', message);
  }
  const entries = await storedUpTo(source, turn, { context, appended });
  const last = entries.at(-1);
  const start = startOf(session);
  if (!last && session.length > 0) throw removed(key);
  const reset = entries.findLast((one) => entryOf(one).type === 'reset');
  if (!last || reset === last) return { start };
  return { start, rest: { next: (reset?.position ?? 0) + 1, end: last.position } };
}

type Awaited = { readonly turn: number; readonly entries: number };

/** @throws TroupeError UNAVAILABLE when entries that the turns appended are not stored in time */
async function storedUpTo(
  source: Address,
  turn: number,
  { context, appended }: { context: EffectContext; appended: Awaited | undefined },
): Promise<readonly TranscriptEntry[]> {
  const entries: TranscriptEntry[] = [];
  const deadline = performance.now() + WAIT_MS;
  for (let from = 1; ; ) {
    const page = await context.transcript(source).read({ from, limit: READ_MAX });
    entries.push(...page.filter((one) => isUpTo(one, turn)));
    from = (page.at(-1)?.position ?? from - 1) + 1;
    if (page.length > 0) continue;
    const found = entries.filter((one) => one.turn === appended?.turn).length;
    if (found >= (appended?.entries ?? 0)) return entries;
    if (performance.now() > deadline || context.signal.aborted)
      throw new TroupeError(
        'UNAVAILABLE',
        `the transcript of ${source} is not readable up to turn ${turn} yet`,
      );
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

const isUpTo = ({ turn = 0 }: TranscriptEntry, last: number): boolean => turn <= last;
const isCopied = (one: TranscriptEntry): boolean => entryOf(one).type !== 'prompt';
const removed = (key: string) =>
  new TroupeError('NOT_FOUND', `the transcript of the session ${key} was removed`);

async function pageAt(
  { next, end }: CopyRest,
  of: Source,
): Promise<Pick<CopyOutput, 'entries' | 'rest'>> {
  const { source, from, context } = of;
  const read = await context.transcript(source).read({ from: next, limit: READ_MAX });
  if (read.length === 0) throw removed(from.key);
  // What a former owner stored late are copies of entries that were read.
  const wanted = read.filter(
    (one) => one.position <= end && isUpTo(one, from.turn) && isCopied(one),
  );
  const taken = fitting(wanted);
  const entries: SessionEntry[] = [];
  for (const one of taken) entries.push(await copyOf(one, of));
  const left = wanted[taken.length]?.position ?? read.at(-1)!.position + 1;
  return { entries, ...(left > end ? {} : { rest: { next: left, end } }) };
}

/** As many of them as one page has, at least one. */
function fitting(all: readonly TranscriptEntry[]): readonly TranscriptEntry[] {
  let bytes = 0;
  const end = all.findIndex((one, at) => {
    bytes += JSON.stringify(one.entry).length;
    const isFull = at === PAGE.entries || bytes > PAGE.bytes || entryOf(one).type === 'compaction';
    return at > 0 && isFull;
  });
  return end < 0 ? all : all.slice(0, end);
}

async function copyOf(one: TranscriptEntry, of: Source): Promise<SessionEntry> {
  const entry = entryOf(one);
  // An entry that was copied before keeps where it came from first.
  const copied = entry.copied ?? { key: of.from.key, turn: one.turn ?? of.from.turn };
  if (entry.type === 'compaction')
    return { ...entry, keptFrom: await keptFromIn(entry.keptFrom, one.position, of), copied };
  if (entry.type !== 'assistant') return { ...entry, copied };
  const { usage: _, ...answer } = entry;
  return { ...answer, copied };
}

/** The position, in the fork, of the first entry that a compaction keeps. */
async function keptFromIn(
  keptFrom: number,
  position: number,
  { source, context }: Source,
): Promise<number> {
  const kept = await entriesFrom(context.transcript(source), keptFrom, position);
  const own = await entriesFrom(context.transcript(), 1);
  const count = kept.filter(isCopied).length;
  return own[Math.max(0, own.length - count)]?.position ?? (own.at(-1)?.position ?? 0) + 1;
}
