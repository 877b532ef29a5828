/**
 * How many messages a session queues, in which order, and which one makes room for a new one. Pure.
 *
 * Invariants: at most `cap` messages and FOLDED_MAX folded ones wait. A message whose sender waits
 * for the answer is never folded, and no message is folded for it.
 */
import { QUEUE_CAP_MAX, QUEUE_DEFAULTS, type QueueSettings } from '../../../protocols/agent.ts';
import type { Priority } from '../../../protocols/conversation.ts';
import type { SessionReceive } from '../../../protocols/session.ts';
import { firstOf } from '../../kit/text.ts';
import type { Folded, Pending, SessionContext } from '../types.ts';

/**
 * Maximum number of folded messages; above it new messages are refused, whatever `overflow` says.
 */
const FOLDED_MAX = 200;
/** Maximum size of all waiting messages; a single one may have 4 MiB, as at entry points. */
const WAITING_BYTES_MAX = 4 * 2 ** 20;
const LINE_CHARACTERS = 160;

export const queueOf = ({ settings }: SessionContext): QueueSettings => settings?.queue ?? {};

export const capOf = (context: SessionContext): number =>
  Math.max(1, Math.min(queueOf(context).cap ?? QUEUE_DEFAULTS.cap, QUEUE_CAP_MAX));

export const isFull = (context: SessionContext): boolean => context.queue.length >= capOf(context);

/** At least the size of the stored row: a character has at most 3 bytes. */
const bytesOf = ({ text, extraSystemPrompt = '', images = [] }: Sized): number =>
  3 * (text.length + extraSystemPrompt.length) +
  images.reduce((sum, { data }) => sum + data.length, 0);
type Sized = Pick<SessionReceive, 'text' | 'extraSystemPrompt' | 'images'>;

/** Whether the waiting messages and this one are together larger than the limit. */
export const isTooMuch = ({ queue }: SessionContext, message: SessionReceive): boolean =>
  queue.length > 0 &&
  queue.reduce((sum, pending) => sum + bytesOf(pending), bytesOf(message)) > WAITING_BYTES_MAX;

/** The sender waits for an answer to this message, so it is never dropped. */
const isKept = ({ notify, origin }: Pick<SessionReceive, 'origin'> & { notify?: unknown }) =>
  notify !== undefined || (origin !== undefined && origin.kind !== 'subagents');

const oldestFoldable = ({ queue }: SessionContext): Pending | undefined =>
  queue.find((pending) => !isKept(pending));

/** Whether the message may wait: there is room, or an older one can be folded for it. */
export function mayWait(context: SessionContext, message: SessionReceive): boolean {
  if (isTooMuch(context, message)) return false;
  if (!isFull(context)) return true;
  if (isKept(message) || oldestFoldable(context) === undefined) return false;
  const { overflow = 'summarize' } = queueOf(context);
  return overflow !== 'refuse' && context.folded.length < FOLDED_MAX;
}

/**
 * The waiting messages with this one at its position; in a full queue the oldest is dropped.
 */
export function withOne(
  context: SessionContext,
  pending: Pending,
): Pick<SessionContext, 'queue' | 'folded'> {
  const { queue, folded } = context;
  const oldest = isFull(context) ? oldestFoldable(context) : undefined;
  if (!oldest) return { queue: placed(queue, pending), folded };
  const kept = queue.filter((one) => one !== oldest);
  return { queue: placed(kept, pending), folded: [...folded, fold(context, oldest)] };
}

const RANKS: Readonly<Record<Priority, number>> = { high: 0, normal: 1, low: 2 };
const rankOf = ({ priority }: Pending): number => RANKS[priority ?? 'normal'];

/** Inserts the message behind all with the same or a higher priority. */
function placed(queue: readonly Pending[], pending: Pending): readonly Pending[] {
  const before = queue.findLastIndex((one) => rankOf(one) <= rankOf(pending)) + 1;
  return queue.toSpliced(before, 0, pending);
}

const fold = (context: SessionContext, { runId, acceptedAt, text, sender }: Pending): Folded => {
  const words = firstOf(text.replaceAll(/\s+/g, ' ').trim(), LINE_CHARACTERS);
  const line =
    queueOf(context).overflow === 'old' ? '' : `- ${sender ? `${sender}: ` : ''}${words}`;
  return { runId, acceptedAt, line };
};

/**
 * The run sends its first model request now. Messages of users before that are not steering: each
 * has a run and a reply of its own. Messages to a subagent steer its one task.
 */
export const withOwnRuns = ({ queue, terms }: SessionContext): readonly Pending[] =>
  terms
    ? queue
    : queue.map((pending) =>
        pending.mode === 'steer' && !pending.origin ? { ...pending, mode: 'followup' } : pending,
      );
