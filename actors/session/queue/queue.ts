/**
 * Queue: which waiting messages start or join a run. Pure.
 *
 * Invariants: an accepted message is in `queue`, in `folded` or in a run, and none is lost. The
 * queue is small enough that one turn can move all of it into a run, together with the largest
 * outcome of an effect, within the limit of what a turn may write.
 */
import { IMAGES_MAX } from '../../../protocols/content.ts';
import { QUEUE_DEFAULTS } from '../../../protocols/agent.ts';
import type { Lineage } from '../../../protocols/lineage.ts';
import type { MessageOrigin, SessionEntry } from '../../../protocols/session.ts';
import type { Project } from '../../../protocols/statechart.ts';
import { renewedLedger } from '../subagents/budget-ledger.ts';
import {
  type ActionArgs,
  type ActionResult,
  defined,
  nowOf,
  runOf,
  withRun,
} from '../action-result.ts';
import { firstOf } from '../../kit/text.ts';
import { NO_USAGE } from '../../../protocols/models/model-usage.ts';
import { digestOf } from '../run/limits.ts';
import { joinedLineage } from '../conversations/lineage.ts';
import { reportsWait, takeReports, type TakenReports } from '../subagents/reports.ts';
import * as rows from '../rows.ts';
import type { Folded, Joined, Pending, Run, SessionContext } from '../types.ts';
import { isFull, queueOf } from './waiting-messages.ts';

/** Messages that end with one run by steering it; more become runs of their own. */
const JOINED_MAX = 256;
/** Messages that one turn adds to a run; the others are added at the next boundary. */
const STEERED_AT_ONCE = 16;
const PREVIEW_CHARACTERS = 120;
const TITLE_CHARACTERS = 80;

const SEPARATOR = '\n\n---\n\n';

// ---- start of a run

/** The summary of the folded messages, which precedes the next message; '' if there are none. */
const summaryOf = (folded: readonly Folded[]): string => {
  if (folded.length === 0) return '';
  const count = `[${folded.length} earlier messages arrived while the queue was full]`;
  return [count, ...folded.map(({ line }) => line).filter(Boolean)].join('\n');
};

const said = ({ sender, text }: Pending): string => (sender ? `${sender}: ${text}` : text);

/** The messages as one text, each with its sender. */
const textOf = (messages: readonly Pending[], folded: readonly Folded[]): string => {
  const summary = summaryOf(folded);
  const texts = messages.length === 1 ? [messages[0]!.text] : messages.map(said);
  return [...(summary ? [summary] : []), ...texts].join(SEPARATOR);
};

/** Whether another run follows. Folded messages have a run even if all later ones were aborted. */
export const hasWaiting = ({ context }: ActionArgs): boolean =>
  hasMessages(context) || reportsWait(context);

const hasMessages = ({ queue, folded }: SessionContext): boolean =>
  queue.length + folded.length > 0;

/** The messages of the next run; the first one gives it its id. */
const nextRun = ({ queue }: SessionContext): readonly Pending[] =>
  queue[0]?.mode === 'collect' ? queue.filter(({ mode }) => mode === 'collect') : queue.slice(0, 1);

/** Whether a user is among the senders: then the run starts a new lineage. */
const hasUserMessage = (messages: readonly Pending[], folded: readonly Folded[]): boolean =>
  folded.length > 0 || messages.some(({ origin, lineage }) => !origin && !lineage);

/**
 * Starts a run with the oldest waiting message, the messages collected with it, and the reports of
 * subagents; or with the reports alone.
 */
export function begin({ context, event }: ActionArgs): ActionResult {
  const now = nowOf(event);
  const messages = nextRun(context);
  const report = takeReports(context);
  const isOwn = hasUserMessage(messages, context.folded);
  const {
    images: _,
    mode: __,
    channel: ___,
    priority: ____,
    lineage: _____,
    ...first
  } = messages[0] ?? (hasMessages(context) ? unfolded(context.folded[0]!) : reported(report!, now));
  const joined: Joined[] = [...context.folded, ...messages]
    .filter(({ runId }) => runId !== first.runId)
    .map(joinedOf);
  const words = hasMessages(context) ? [textOf(messages, context.folded)] : [];
  const text = [...(report ? [report.text] : []), ...words].join(SEPARATOR);
  const lineage = isOwn ? undefined : lineageOf(messages, report?.lineage);
  const change = {
    ...(isOwn ? renewedLedger(context) : {}),
    ...report?.change,
    queue: context.queue.filter((pending) => !messages.includes(pending)),
    folded: [],
    run: { ...newRun(now), ...first, text, joined, ...(lineage ? { lineage } : {}) },
    updatedAt: now,
    ...(context.isFresh ? { startedAt: now } : {}),
    length: context.length + 1,
    lastMessage: firstOf(text, PREVIEW_CHARACTERS),
    ...titleFrom(context, text),
  };
  const next = { ...context, ...change };
  const { runId, origin } = first;
  return {
    change,
    entries: [{ ...userEntry({ runId, text, now, from: messages }), ...defined({ origin }) }],
    rows: [rows.runRow(next, now), ...joinedRows(next, joined), rows.sessionRow(next)],
  };
}

const lineageOf = (messages: readonly Pending[], first?: Lineage): Lineage | undefined =>
  messages.reduce((joined, { lineage }) => joinedLineage(joined, lineage), first);

/** The first message names the conversation, also after a reset. Older ones have no name. */
const titleFrom = ({ title, length }: SessionContext, text: string): { readonly title?: string } =>
  title === '' || (title === undefined && length === 0)
    ? { title: firstOf(text, TITLE_CHARACTERS) }
    : {};

/** A joining message shares the run's remaining messages, whose number does not change. */
const joining =
  ({ lineage: has }: Run) =>
  (pending: Pending): Pending => {
    const { lineage } = pending;
    return lineage && has ? { ...pending, lineage: { ...lineage, left: has.left } } : pending;
  };

/** A run for the reports of subagents; the same reports give the same id. */
const reported = ({ origin }: TakenReports, now: number): Pending => ({
  runId: reportId(origin),
  text: '',
  origin,
  mode: 'followup',
  acceptedAt: now,
});

const reportId = ({ ids }: MessageOrigin): string => `report-${digestOf(...ids)}`;

/** A folded message without its text, which is in the summary line. */
const unfolded = (one: Folded): Pending => ({ ...joinedOf(one), text: '', mode: 'followup' });

const newRun = (now: number): Omit<Run, 'runId' | 'text' | 'acceptedAt' | 'joined'> => ({
  startedAt: now,
  status: 'running',
  entries: 1,
  compactions: 0,
  calls: 0,
  attempt: 0,
  usage: NO_USAGE,
  isAssembled: false,
  replyHooks: false,
  planned: [],
  tools: [],
  sent: [],
});

const joinedOf = ({ runId, acceptedAt, notify }: Joined): Joined => ({
  runId,
  acceptedAt,
  ...(notify ? { notify } : {}),
});

const joinedRows = (context: SessionContext, joined: readonly Joined[]): Project[] =>
  joined.map((one) =>
    rows.waitingRow(context, one, { status: 'running', joined: runOf(context).runId }),
  );

function userEntry(message: {
  runId: string;
  text: string;
  now: number;
  from: readonly Pending[];
  of?: string;
}): SessionEntry {
  const { runId, text, now, from, of } = message;
  const images = from.flatMap((pending) => pending.images ?? []).slice(0, IMAGES_MAX);
  const sender = from.length === 1 ? from[0]!.sender : undefined;
  return {
    type: 'user',
    runId,
    text,
    at: now,
    ...defined({ sender, of }),
    ...(images.length > 0 ? { images } : {}),
  };
}

// ---- messages that join the run

/** Messages that the current run can still accept. */
export const roomToJoin = ({ folded, run }: SessionContext): number =>
  Math.max(0, JOINED_MAX - folded.length - run!.joined.length);

const steering = (context: SessionContext): readonly Pending[] =>
  context.queue
    .filter(({ mode }) => mode === 'steer')
    .slice(0, Math.min(STEERED_AT_ONCE, roomToJoin(context)));

export const hasSteering = ({ context }: ActionArgs): boolean => steering(context).length > 0;

/** Reports of subagents are also added before the model request. */
export const hasSteeringOrReports = (at: ActionArgs): boolean =>
  hasSteering(at) || reportsWait(at.context);

/**
 * Adds waiting messages to the run. Each keeps its id and ends with the run. Reports of subagents
 * precede them as one message.
 */
export function steer({ context, event }: ActionArgs): ActionResult {
  const now = nowOf(event);
  const run = runOf(context);
  const taken = steering(context);
  const folded = taken.length > 0 ? context.folded : [];
  const report = takeReports(context);
  const added = [
    ...(report ? [joiningReport(report)] : []),
    ...taken.map((pending, n) => ({
      of: pending.runId,
      text: textOf([pending], n === 0 ? folded : []),
      from: [pending],
      origin: pending.origin,
    })),
  ];
  const joined = [...folded, ...taken].map(joinedOf);
  const lineage = joinedLineage(run.lineage, lineageOf(taken.map(joining(run)), report?.lineage));
  const change = {
    ...report?.change,
    queue: context.queue.filter((pending) => !taken.includes(pending)),
    ...(taken.length > 0 ? { folded: [] } : {}),
    length: context.length + added.length,
    updatedAt: now,
    lastMessage: firstOf(added.at(-1)!.text, PREVIEW_CHARACTERS),
    ...withRun(context, {
      entries: run.entries + added.length,
      joined: [...run.joined, ...joined],
      ...(lineage ? { lineage } : {}),
    }),
  };
  const next = { ...context, ...change };
  const { runId } = run;
  return {
    change,
    entries: added.map(({ origin, ...one }) => ({
      ...userEntry({ runId, now, ...one }),
      ...defined({ origin }),
    })),
    events: added.map(({ of, text }) => ({ stream: 'steer', of, text })),
    rows: [...joinedRows(next, joined), rows.sessionRow(next)],
  };
}

const joiningReport = ({ text, origin }: TakenReports) => ({
  of: reportId(origin),
  text,
  from: [] as readonly Pending[],
  origin,
});

// ---- collecting

/** Whether the next run waits until no message has arrived for the debounce time. */
export const nextCollects = ({ context }: ActionArgs): boolean =>
  context.queue[0]?.mode === 'collect';

/** The rest of the debounce time; none when the queue is full or empty. */
export function quietMs({ context, event }: ActionArgs): number {
  if (isFull(context)) return 0;
  const last = Math.max(...context.queue.map(({ acceptedAt }) => acceptedAt));
  return Math.max(
    0,
    last + (queueOf(context).debounceMs ?? QUEUE_DEFAULTS.debounceMs) - nowOf(event),
  );
}
