/**
 * Caller: the one answer to the requester's session about its message. Pure.
 *
 * Every transition out of `asking` answers. The delivery, the caller's timeout and its release
 * answer, too, if they are earlier; `once` sends only the first answer.
 */
import { address } from '../../protocols/address.ts';
import type { ConversationAnswered, ConversationResult } from '../../protocols/conversation.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { RunEnded } from '../../protocols/session.ts';
import { aboutOf, type ActionArgs, type ActionResult, nowOf, on } from './action-result.ts';
import { refusalOf, replyOf } from './exchange.ts';
import type { ConversationContext } from './types.ts';

/** How long a caller that waits for no answer waits for the delivery, milliseconds. */
const DELIVERY_PATIENCE_MS = 10_000;

export const patienceMs = ({ about }: ConversationContext): number =>
  about?.waitMs || DELIVERY_PATIENCE_MS;

type Known = Omit<
  ConversationResult,
  'conversationId' | 'runId' | 'sessionKey' | 'delivered' | 'responseTime'
>;

function once({ context, event }: ActionArgs, known: Known): ActionResult {
  if (context.answered) return {};
  const { requester, target } = aboutOf(context);
  const result: ConversationResult = {
    conversationId: context.id,
    runId: context.turns[0]!.runId,
    sessionKey: target,
    delivered: context.delivered,
    responseTime: nowOf(event) - context.createdAt,
    ...known,
  };
  const answered: ConversationAnswered = {
    type: 'conversation.answered',
    id: context.id,
    result,
  };
  return {
    change: { answered: true },
    tells: [{ to: address(context.tenant, 'session', requester), event: answered }],
  };
}

const withReason = (reason: string | undefined): Pick<Known, 'reason'> =>
  reason === undefined ? {} : { reason };

/** The target has accepted the message. A caller that does not wait needs no more. */
export function sendDelivered(at: ActionArgs): ActionResult {
  const { released } = at.context;
  const waits = aboutOf(at.context).waitMs > 0 && released === undefined;
  return waits ? {} : once(at, { status: 'accepted', ...withReason(released) });
}

/** The caller's time limit, or that of the exchange, has passed. */
export const sendLate = (at: ActionArgs): ActionResult =>
  once(at, {
    status: at.context.delivered && at.context.released === undefined ? 'timeout' : 'accepted',
    ...withReason(at.context.released),
  });

/** An operator ended the exchange. */
export const sendEnded = (at: ActionArgs): ActionResult =>
  once(at, { status: 'accepted', reason: 'ended' });

/** The caller stops waiting. It is answered as soon as the delivery to the target is known. */
export const release = on('conversation.unwait', (at): ActionResult => {
  const { reason } = at.event;
  if (!at.context.delivered) return { change: { released: reason } };
  return once(at, { status: 'accepted', reason });
});

export const sendRefused = on(
  'reply',
  (at): ActionResult =>
    once(at, {
      status: 'refused',
      reason: refusalOf(at.event).message,
      error: refusalOf(at.event),
    }),
);

/** The first answer, or the reason for its absence. */
export const sendReply = on('run.ended', (at): ActionResult => {
  const { status, text, error } = at.event;
  if (status === 'ok') return once(at, { status: 'ok', reply: replyOf(text) });
  return once(at, { status: 'error', error: error ?? endedAs(status, aboutOf(at.context).target) });
});

const endedAs = (status: RunEnded['status'], sessionKey: string): ErrorData => ({
  code: status === 'aborted' ? 'CANCELLED' : 'INTERNAL',
  message: `the run of ${sessionKey} ended as ${status}`,
});
