/**
 * Transcript: what a run may read of its session's conversation, up to the turn that requested it.
 * Reads only entries after the last reset or compaction, and the prompt.
 */
import { TroupeError } from '../../../protocols/errors.ts';
import type { SessionEntry } from '../../../protocols/session.ts';
import type { EffectContext, TranscriptEntry, TranscriptReader } from '../../../runtime/index.ts';
import type { CallModelInput } from '../types.ts';

/** How far the transcript may lag behind the requesting turn (only where messages are relayed). */
const WAIT_MS = 10_000;
const POLL_MS = 20;
const PAGE = 1_000;

export type Seen = {
  /** in order of position; the prompt may lie far before the others */
  readonly entries: readonly TranscriptEntry[];
  /** models see nothing before this position */
  readonly from: number;
};

type Wanted = Pick<CallModelInput, 'runId' | 'from' | 'entries' | 'isCompacted'>;

export const entryOf = ({ entry }: TranscriptEntry): SessionEntry => entry as SessionEntry;

/** All entries from position `first` on, and before position `before`. */
export async function entriesFrom(
  transcript: TranscriptReader,
  first: number,
  before = Number.POSITIVE_INFINITY,
): Promise<TranscriptEntry[]> {
  const entries: TranscriptEntry[] = [];
  for (let from = first; ; ) {
    const page = await transcript.read({ from, limit: PAGE });
    entries.push(...page.filter(({ position }) => position < before));
    const last = page.at(-1);
    if (!last || last.position >= before) return entries;
    from = last.position + 1;
  }
}

/**
 * @param system the prompt, if the transcript does not contain it yet
 * @throws TroupeError UNAVAILABLE when the entries of the turn do not arrive in time
 */
export async function readConversation(
  wanted: Wanted,
  context: EffectContext,
  system?: string,
): Promise<Seen> {
  const read = await readUpTo(wanted, context);
  const reset = read.findLast((found) => entryOf(found).type === 'reset');
  const from = Math.max(wanted.from, reset?.position ?? 0);
  const entries = from > wanted.from ? read.filter(({ position }) => position >= from) : read;
  if (system !== undefined) {
    const { position, at } = entries.at(-1)!;
    entries.push({ position: position + 1, at, entry: { type: 'prompt', system } });
    return { entries, from };
  }
  if (reset || entries.some((found) => entryOf(found).type === 'prompt')) return { entries, from };
  const prompt = await promptBefore(from, context);
  return { entries: prompt ? [prompt, ...entries] : entries, from };
}

async function readUpTo(wanted: Wanted, context: EffectContext): Promise<TranscriptEntry[]> {
  const transcript = context.transcript();
  const deadline = performance.now() + WAIT_MS;
  const entries: TranscriptEntry[] = [];
  for (let from = wanted.from; ; ) {
    const page = await transcript.read({ from, limit: PAGE });
    entries.push(...page);
    from = (page.at(-1)?.position ?? from - 1) + 1;
    const begin = entries.findLastIndex((found) => isAnchor(entryOf(found), wanted));
    const end = begin + wanted.entries;
    if (page.length < PAGE && begin >= 0 && entries.length >= end) return entries.slice(0, end);
    if (page.length === PAGE) continue;
    if (performance.now() > deadline || context.signal.aborted) {
      const what = `the transcript does not contain the run's ${wanted.entries} entries yet`;
      throw new TroupeError('UNAVAILABLE', what);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Whether this is the entry from which the entries of the run are counted. */
const isAnchor = (entry: SessionEntry, { runId, isCompacted, from }: Wanted): boolean =>
  isCompacted
    ? entry.type === 'compaction' && entry.runId === runId && entry.keptFrom === from
    : entry.type === 'user' && entry.runId === runId && entry.of === undefined;

/** The prompt from before the last compaction. */
async function promptBefore(
  position: number,
  context: EffectContext,
): Promise<TranscriptEntry | undefined> {
  for (let end = position; end > 1; end -= PAGE) {
    const from = Math.max(1, end - PAGE);
    const page = await context.transcript().read({ from, limit: end - from });
    const before = page.filter((found) => found.position < end);
    const found = before.findLast((one) => ['prompt', 'reset'].includes(entryOf(one).type));
    if (found) return entryOf(found).type === 'prompt' ? found : undefined;
  }
  return undefined;
}
