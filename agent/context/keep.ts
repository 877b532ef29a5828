/**
 * Keep: decides which entries a compaction keeps and which it summarizes. Pure.
 *
 * The cut is before a user message, never between a call and its result. The newest turn stays
 * complete, unless that turn alone is too long. Then the cut is before a later answer of the turn,
 * and the summary repeats the user's message.
 */
import type { SessionEntry } from '../../protocols/session.ts';
import { messageOf, type ShownEntry } from './conversation.ts';
import { messagesTokens } from './tokens.ts';

export type Kept = {
  /** the entries to summarize; never empty */
  readonly old: readonly ShownEntry[];
  /** position of the first kept entry */
  readonly keptFrom: number;
  /** estimated tokens of the kept entries */
  readonly keptTokens: number;
  /** the message that started the newest turn, when the cut is inside that turn */
  readonly question?: string;
};

export type KeepOptions = {
  /** tokens to keep; the newest turn is kept even when it is larger */
  readonly keepTokens: number;
  /** the newest turn is cut when it has more tokens; Infinity: never */
  readonly turnTokensMax: number;
};

/** undefined when there is nothing to summarize. */
export function kept(
  entries: readonly ShownEntry[],
  { keepTokens, turnTokensMax }: KeepOptions,
): Kept | undefined {
  const after = tokensAfter(entries);
  const { turns, steps } = cutsOf(entries);
  const newest = turns.at(-1) ?? entries.length;
  const isTooLong = newest < entries.length && after[newest]! > turnTokensMax;
  const within = isTooLong ? steps.filter((at) => at > newest) : [];
  const at = within.length
    ? (within.find((one) => after[one]! <= keepTokens) ?? within.at(-1)!)
    : (turns.find((one) => after[one]! <= keepTokens) ?? newest);
  if (!entries.slice(0, at).some(({ entry }) => isSaid(entry))) return undefined;
  const question = within.length ? entries[newest]!.entry : undefined;
  return {
    old: entries.slice(0, at),
    keptFrom: entries[at]?.position ?? entries.at(-1)!.position + 1,
    keptTokens: after[at] ?? 0,
    ...(question?.type === 'user' ? { question: question.text } : {}),
  };
}

const isSaid = ({ type }: SessionEntry): boolean =>
  type === 'user' || type === 'assistant' || type === 'tool';

/** For each entry: the tokens of this entry and all later ones. */
function tokensAfter(entries: readonly ShownEntry[]): number[] {
  const after: number[] = [];
  let sum = 0;
  for (let at = entries.length - 1; at >= 0; at--) {
    sum += messagesTokens(messageOf(entries[at]!.entry));
    after[at] = sum;
  }
  return after;
}

/** Possible cuts: before messages that started a turn, and before answers. */
function cutsOf(entries: readonly ShownEntry[]): { turns: number[]; steps: number[] } {
  const [turns, steps]: [number[], number[]] = [[], []];
  const open = new Set<string>();
  for (const [at, { entry }] of entries.entries()) {
    if (entry.type === 'user' && entry.of === undefined && open.size === 0) turns.push(at);
    if (entry.type === 'assistant' && entry.of === undefined) {
      if (open.size === 0) steps.push(at);
      for (const { id } of entry.calls ?? []) open.add(id);
    }
    if (entry.type === 'tool') open.delete(entry.callId);
    if (entry.type === 'run.end') open.clear(); // what is open now will never be answered
  }
  return { turns, steps };
}
