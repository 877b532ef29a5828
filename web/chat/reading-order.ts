/** The parts of a conversation in reading order. */
import { declinesIn, type Subagent, subagentsByItem } from './agents-talk.ts';
import type { Aside, Conversation, HistoryItem, LiveRun, Sent } from './conversation.ts';

export type Line =
  | { readonly kind: 'history'; readonly key: string; readonly item: HistoryItem }
  | { readonly kind: 'sent'; readonly key: string; readonly sent: Sent; readonly queued: boolean }
  | { readonly kind: 'live'; readonly key: string; readonly run: LiveRun }
  | { readonly kind: 'aside'; readonly key: string; readonly aside: Aside }
  | { readonly kind: 'subagent'; readonly key: string; readonly subagent: Subagent };

/** All items in reading order: each live answer follows the message that it answers. */
export const linesOf = (now: Conversation): readonly Line[] => {
  const { loaded, history, live, outbox, asides } = now;
  const lines: Line[] = [];
  const liveLines = (fits: (run: LiveRun) => boolean) =>
    lines.push(
      ...live.filter(fits).map((run) => ({ kind: 'live', key: `l${run.runId}`, run }) as const),
    );
  const asidesAfter = (id: string | undefined) =>
    lines.push(
      ...asides
        .filter(({ after }) => after === id)
        .map((aside) => ({ kind: 'aside', key: `a${aside.runId}`, aside }) as const),
    );
  const under = subagentsByItem(now.subagents, history);
  const subagentsUnder = (id: string | undefined) =>
    lines.push(
      ...(under.get(id) ?? []).map(
        (subagent) => ({ kind: 'subagent', key: `g${subagent.id}`, subagent }) as const,
      ),
    );
  const declined = declinesIn(history);
  asidesAfter(undefined);
  for (const item of history) {
    if (item.role === 'end') liveLines((run) => run.torso === true && run.runId === item.runId);
    if (!declined.has(item.id)) lines.push({ kind: 'history', key: `h${item.id}`, item });
    subagentsUnder(item.id);
    asidesAfter(item.id);
  }
  subagentsUnder(undefined);
  const ofOutbox = new Set(outbox.map(({ runId }) => runId));
  liveLines((run) => !run.torso && !ofOutbox.has(run.runId));
  for (const sent of outbox) {
    const begun = live.some(({ runId }) => runId === sent.runId);
    // Before the history has arrived, the message may already be answered.
    const queued = loaded && sent.state === 'accepted' && !begun;
    lines.push({ kind: 'sent', key: `s${sent.runId}`, sent, queued });
    liveLines(({ runId }) => runId === sent.runId);
  }
  return lines;
};
