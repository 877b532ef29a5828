/**
 * Outbound: the deliveries of the chat, one piece at a time. Pure.
 *
 * Invariants: a piece is sent again only when it is known that the service did not accept it, or
 * recognizes it; what cannot be found out becomes a dead letter, which an operator can send again;
 * order is kept.
 */
import {
  type ChatDeliver,
  DELIVERIES_MAX,
  DELIVERY_CHARACTERS_MAX,
  pieceIdOf,
  type SendOutcome,
} from '../../protocols/channel.ts';
import { defined } from '../../protocols/defined.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { DeadLetterAsk } from '../../protocols/statechart.ts';
import { pauseMsOf } from '../kit/backoff.ts';
import { type ActionArgs, type ActionResult, nowOf, on, outputOf } from './action-result.ts';
import type { ReportInput, SendInput, SendOutput } from '../../protocols/channel-effects.ts';
import type { ChatContext, Delivery, Ended } from './types.ts';

/** Attempts of a piece that the service did not accept, and the pauses between them. */
const ATTEMPTS_MAX = 12;
const BACKOFF_MS = { first: 1_000, max: 300_000 };
/** Questions about an unknown outcome, and the pause between them. */
const CHECKS_MAX = 3;
const CHECK_PAUSE_MS = 5_000;
const RECENT_MAX = 100;
/** Characters of all waiting deliveries. */
const QUEUE_CHARACTERS_MAX = 1_048_576;
export const DEAD_LETTER_DOMAIN = 'channels';

// ---- the queue

/** Adds a reply, unless it is a repeat. Without room it becomes a dead letter. */
export function deliver(context: ChatContext, reply: Omit<Delivery, 'piece'>): ActionResult {
  const delivery = { ...reply, piece: 0 };
  if (context.recent.includes(reply.id)) return {};
  if (hasRoomFor(context, reply.text)) return { change: enqueued(context, delivery) };
  return {
    change: { recent: withRecent(context, reply.id) },
    send: [letter(context, delivery, noRoom(context))],
  };
}

/** The first text of a run replaces its preview. */
function enqueued(context: ChatContext, delivery: Delivery): Partial<ChatContext> {
  const { queue, live } = context;
  const recent = withRecent(context, delivery.id);
  const isOfLive = live !== null && live.runId === delivery.runId;
  if (!isOfLive || live.messageId === undefined) return { queue: [...queue, delivery], recent };
  const { messageId: editOf, ...rest } = live;
  return { queue: [...queue, { ...delivery, editOf }], recent, live: rest };
}
const withRecent = ({ recent }: ChatContext, id: string) => [...recent, id].slice(-RECENT_MAX);

const hasRoomFor = ({ queue }: ChatContext, text: string): boolean => {
  const waiting = queue.reduce((sum, one) => sum + one.text.length, 0);
  return (
    text.length <= DELIVERY_CHARACTERS_MAX &&
    queue.length < DELIVERIES_MAX &&
    waiting + text.length <= QUEUE_CHARACTERS_MAX
  );
};
/** A repeat needs none. */
export const hasRoom = on(
  'chat.deliver',
  ({ context, event }): boolean =>
    context.recent.includes(event.id) || hasRoomFor(context, event.text),
);

export const enqueue = on('chat.deliver', ({ context, event }): ActionResult => {
  const { id, text, files, chat = context.chat, fromPiece: piece = 0 } = event;
  const { isOnePiece, runId } = event;
  if (context.recent.includes(id)) return { change: { chat } };
  const delivery = { id, text, piece, ...defined({ files, isOnePiece, runId }) };
  return { change: { chat, ...enqueued(context, delivery) } };
});

/** The sender is notified, and operators see the text. */
export const refuse = on('chat.deliver', ({ context, event }): ActionResult => {
  const { meta, ...given } = event;
  const error = noRoom(context);
  return {
    send: [{ type: 'reply', params: { to: meta.reply, error } }, unsent(context, given, error)],
  };
});

const noRoom = ({ queue }: ChatContext): ErrorData => ({
  code: 'RATE_LIMIT_EXCEEDED',
  message: `${queue.length} deliveries wait for this chat, or the text is longer than ${DELIVERY_CHARACTERS_MAX} characters`,
});

/**
 * The rest is a timer of the chat and not a part of the effect: a process that is killed meanwhile
 * has certainly not sent the next piece.
 */
export const mustRest = ({ context, event }: ActionArgs): boolean =>
  hasDelivery({ context }) && nowOf(event) < (context.restUntil ?? 0);
export const untilRested = ({ context, event }: ActionArgs): number =>
  Math.max(0, (context.restUntil ?? 0) - nowOf(event));

export const hasDelivery = ({ context }: { context: ChatContext }): boolean =>
  context.queue.length > 0 && context.live?.isPending !== true;

// ---- one piece

const current = ({ queue }: ChatContext): Delivery => queue[0]!;

export const begin = ({ context, event }: ActionArgs): ActionResult => ({
  change: {
    attempts: context.attempts + 1,
    firstTriedAt: context.attempts === 0 ? nowOf(event) : context.firstTriedAt,
    checks: 0,
  },
});

export const sendInput = ({ context }: { context: ChatContext }): SendInput => {
  const { tenant, channel, account, chat, attempts, firstTriedAt } = context;
  const { id, text, files, piece, replyTo, editOf } = current(context);
  return {
    tenant,
    channel,
    account,
    chat: chat!,
    id,
    text,
    piece,
    attempt: attempts,
    firstTriedAt,
    ...defined({ files }),
    ...(piece === 0 ? defined({ replyTo, editOf }) : {}),
  };
};

/** A proof of the service counts more than the answer to the request. */
const outcomeOf = ({ context, event }: Done): SendOutput =>
  context.proof ?? outputOf<SendOutput>(event);

export const isOfCurrent = on('chat.outcome', ({ context: { queue }, event }): boolean => {
  const [first] = queue;
  return first !== undefined && pieceIdOf(first) === event.pieceId;
});

export const keepProof = on('chat.outcome', ({ event }): ActionResult => {
  return { change: { proof: event.outcome } };
});

/** The outcome of the piece is known already. */
export const ignoreProof = (): ActionResult => ({});

type Done = { readonly context: ChatContext; readonly event: object };

export const isSent = (at: Done): boolean => outcomeOf(at).status === 'sent';
export const isUnknown = (at: Done): boolean => outcomeOf(at).status === 'unknown';
export const isNotSent = (at: Done): boolean => outcomeOf(at).status === 'not_sent';
export const mayRepeat = (at: ActionArgs): boolean => {
  const outcome = outcomeOf(at);
  const isOver = at.context.attempts >= ATTEMPTS_MAX;
  return outcome.status === 'not_sent' && outcome.isFinal !== true && !isOver;
};
export const mayCheckAgain = ({ context }: ActionArgs): boolean => context.checks < CHECKS_MAX;

/** The next piece, or the next delivery. Without `pieces`, another send finds out. */
export const advance = (at: ActionArgs): ActionResult => ({
  change: advanced(at.context, at.event),
});

const advanced = (context: ChatContext, event: ActionArgs['event']): Partial<ChatContext> => {
  const [first, ...rest] = context.queue;
  const { piece, isOnePiece } = first!;
  const { pieces, restMs = 0 }: Partial<SendOutput> =
    'output' in event ? outputOf<SendOutput>(event) : {};
  const isLast = isOnePiece === true || (pieces !== undefined && piece + 1 >= pieces);
  return {
    queue: isLast ? rest : [{ ...first!, piece: piece + 1 }, ...rest],
    attempts: 0,
    checks: 0,
    proof: null,
    restUntil: nowOf(event) + restMs,
    ...(isLast && ended(context, first!.isUnknown ? 'unknown' : 'sent')),
  };
};

/** Kept for the hooks, if there are any. */
function ended(
  context: ChatContext,
  outcome: Ended['outcome'],
  error?: string,
): Pick<ChatContext, 'ended'> {
  if (!context.isObserved) return {};
  const { text, files, runId, sessionKey } = current(context);
  return { ended: { text, outcome, ...defined({ files, error, runId, sessionKey }) } };
}

export const hasEnded = ({ context }: { context: ChatContext }): boolean =>
  context.ended !== undefined && context.ended !== null;

export const reportInput = ({ context }: { context: ChatContext }): ReportInput => {
  const { tenant, channel, account } = context;
  return { tenant, channel, account, ...context.ended! };
};

export const forgetEnded = (): ActionResult => ({ change: { ended: null } });

/** Waits exactly as long as the service asked, else with growing pauses. */
export const retryLater = (at: ActionArgs): ActionResult => {
  const { context, event } = at;
  const error = errorOf(outcomeOf(at));
  const { retryAfterMs } = error;
  const pause = pauseMsOf(BACKOFF_MS, context.attempts, { seed: event.meta.id, error });
  return { change: { waitMs: retryAfterMs ?? pause, proof: null } };
};
export const waitMs = ({ context }: { context: ChatContext }): number => context.waitMs;

/** As long as the service asks for, or 5 s. */
export const checkLater = (at: ActionArgs): ActionResult => {
  const asked = 'output' in at.event ? errorOf(outcomeOf(at)).retryAfterMs : undefined;
  return { change: { waitMs: asked ?? CHECK_PAUSE_MS } };
};

export const countCheck = ({ context }: ActionArgs): ActionResult => ({
  change: { checks: context.checks + 1 },
});

/** The service will not take this delivery: an operator sees it, and the next one follows. */
export const giveUp = (at: ActionArgs): ActionResult => {
  const { context } = at;
  const error = errorOf(outcomeOf(at));
  return {
    change: {
      queue: context.queue.slice(1),
      attempts: 0,
      checks: 0,
      proof: null,
      ...ended(context, 'not_sent', error.message),
    },
    send: [letter(context, current(context), error)],
  };
};

/**
 * Whether this piece was sent cannot be found out: an operator decides, and the next one follows.
 */
export const reportUnknown = (at: ActionArgs): ActionResult => {
  const { context, event } = at;
  const outcome = 'output' in event ? outcomeOf(at) : undefined;
  const cause = outcome && outcome.status !== 'sent' ? `: ${outcome.error.message}` : '';
  const error: ErrorData = {
    code: 'UNAVAILABLE',
    message: `it is not known whether the service accepted piece ${current(context).piece + 1}${cause}`,
    details: { outcome: 'unknown' },
  };
  const [first, ...rest] = context.queue;
  const queue: Delivery[] = [{ ...first!, isUnknown: true }, ...rest];
  return {
    change: advanced({ ...context, queue }, event),
    send: [letter(context, { ...first!, isOnePiece: true }, error)],
  };
};

const errorOf = (outcome: SendOutcome): ErrorData =>
  outcome.status === 'sent' ? { code: 'INTERNAL', message: 'sent' } : outcome.error;

/** Redriving it sends from the piece on. Its id is another one, because this one is known. */
const letter = (context: ChatContext, delivery: Delivery, error: ErrorData) => {
  const { id, text, files, piece, isOnePiece } = delivery;
  const event: ChatDeliver = {
    type: 'chat.deliver',
    id: `${id}:again:${piece}`,
    chat: context.chat!,
    text,
    fromPiece: piece,
    ...defined({ files, isOnePiece }),
  };
  return unsent(context, event, error);
};

/** The dead letter of a delivery. */
const unsent = ({ self }: ChatContext, event: ChatDeliver, error: ErrorData) => {
  const reason = error.details?.['outcome'] === 'unknown' ? 'UNKNOWN' : 'NOT_SENT';
  const params: DeadLetterAsk = { domain: DEAD_LETTER_DOMAIN, reason, error, to: self, event };
  return { type: 'deadLetter', params } as const;
};
