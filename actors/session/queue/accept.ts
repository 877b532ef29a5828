/**
 * Accept: which messages a session accepts, and what it answers. A message waits in `queue`, begins
 * a run, or is refused. Pure.
 */
import type { QueueMode, RunAccepted, SessionReceive } from '../../../protocols/session.ts';
import type { Reply } from '../../../protocols/statechart.ts';
import { type ActionResult, type ArgsOf, defined, metaOf, nowOf, on } from '../action-result.ts';
import * as rows from '../rows.ts';
import { expiryReason, isOfPerson } from './expiry.ts';
import { mayAccept, refusalReason } from '../subagents/subagent-limits.ts';
import type { Pending, SessionContext } from '../types.ts';
import { roomToJoin } from './queue.ts';
import { isTooMuch, mayWait, queueOf, withOne } from './waiting-messages.ts';

/** The channel of a message that names none. */
const CHANNEL = 'webchat';

/**
 * The queue mode of a message: its own, else that of the session, the channel or the agent. A
 * message of another agent has its own run.
 */
function modeOf(
  context: SessionContext,
  message: Pick<SessionReceive, 'queue' | 'channel' | 'origin'>,
): QueueMode {
  if (message.origin) return message.queue ?? 'followup';
  const { byChannel, mode } = queueOf(context);
  const channel = message.channel ?? CHANNEL;
  const ofChannel = byChannel && Object.hasOwn(byChannel, channel) ? byChannel[channel] : undefined;
  return message.queue ?? context.own.queue ?? ofChannel ?? mode ?? 'steer';
}

type Receive = ArgsOf<'session.receive'>;

const pendingOf = ({ context, event: given }: Receive): Pending => {
  const { meta, type: _, queue, channel = CHANNEL, terms: __, ...rest } = given;
  const { notify, priority, origin, lineage, deliverTo: ___, ...message } = rest;
  // an entry point cannot send in the name of an agent
  const ofActor = meta.from && {
    ...defined({ origin, lineage }),
    ...(notify ? { notify: meta.from } : {}),
    ...(priority && priority !== 'normal' ? { priority } : {}),
  };
  const isSettled = context.settings !== null || queue || context.own.queue || origin;
  return {
    ...message,
    ...ofActor,
    mode: modeOf(context, given),
    ...(isSettled ? {} : { channel }),
    acceptedAt: meta.now,
  };
};

/** Applies settings that arrived after the messages: each gets its queue mode. */
export const settled = (context: SessionContext): readonly Pending[] =>
  context.queue.map(({ channel, ...pending }) =>
    channel === undefined ? pending : { ...pending, mode: modeOf(context, { channel }) },
  );

/**
 * The channel that the user sent the last message through, and when. Messages of other actors,
 * except chats, do not come from the user.
 */
const lastOf = (at: Receive): Pick<SessionContext, 'channel' | 'deliverTo' | 'lastMessageAt'> => ({
  ...channelOf(at),
  ...(isOfPerson(at.event) ? { lastMessageAt: nowOf(at.event) } : {}),
});

const channelOf = ({ event }: Receive): Pick<SessionContext, 'channel' | 'deliverTo'> => {
  const { meta, channel = CHANNEL, deliverTo } = event;
  if (meta.from === undefined) return { channel, deliverTo: null };
  return deliverTo === undefined ? {} : { channel, deliverTo };
};

const accepted = ({ context, event }: Receive, queued: boolean): Reply => {
  const { meta, runId } = event;
  const { sessionKey } = context;
  const result: RunAccepted = {
    runId,
    sessionKey,
    status: 'accepted',
    acceptedAt: meta.now,
    queued,
  };
  return { to: meta.reply, result };
};

/** The first message of an idle session: its run starts in the same turn. */
export const receive = on(
  'session.receive',
  (at): ActionResult => ({
    change: {
      queue: [...at.context.queue, pendingOf(at)],
      ...lastOf(at),
      ...defined({ terms: at.context.terms ?? at.event.terms }),
      sessionId: at.context.sessionId || metaOf(at.event).id,
      updatedAt: nowOf(at.event),
    },
    answer: accepted(at, false),
  }),
);

export const hasRoom = on(
  'session.receive',
  ({ context, event }): boolean => mayAccept({ context, event }) && mayWait(context, event),
);

/** Whether an idle session has expired: the message starts it over. */
export const hasExpired = on(
  'session.receive',
  (at): boolean => hasRoom(at) && expiryReason(at.context, at.event) !== undefined,
);

/** The chart resets the session before the run of this message. */
export const expire = on('session.receive', ({ context, event }): ActionResult => {
  const { id: sessionId } = metaOf(event);
  return {
    change: {
      reset: { reply: null, sessionId, ...defined({ reason: expiryReason(context, event) }) },
    },
  };
});

/** Queues the message. In a full queue, the oldest message makes room for it. */
export const wait = on('session.receive', (at): ActionResult => {
  const pending = pendingOf(at);
  return waiting(at, pending, withOne(at.context, pending));
});

/** Queues the message before all others; the chart aborts the current run for it. */
export const waitFirst = on('session.receive', (at): ActionResult => {
  const pending = pendingOf(at);
  return waiting(at, pending, { queue: [pending, ...at.context.queue] });
});

function waiting(at: Receive, pending: Pending, change: Partial<SessionContext>): ActionResult {
  const updated = { ...change, ...lastOf(at), updatedAt: nowOf(at.event) };
  return {
    change: updated,
    answer: accepted(at, true),
    rows: [
      rows.waitingRow(at.context, pending, { status: 'queued' }),
      rows.sessionRow({ ...at.context, ...updated }),
    ],
  };
}

export const refuse = on('session.receive', (at): ActionResult => {
  const { context, event } = at;
  const wrong = refusalReason(at);
  if (wrong) return { answer: { to: metaOf(event).reply, error: wrong } };
  const isLong = isTooMuch(context, event);
  const limit = isLong ? 'too large to add this one' : 'which is its limit';
  const message = `the session ${context.sessionKey} has ${context.queue.length} messages waiting, ${limit}; send again when one is answered`;
  return {
    answer: { to: metaOf(event).reply, error: { code: 'RATE_LIMIT_EXCEEDED', message } },
  };
});

export const interrupts = on(
  'session.receive',
  ({ context, event }): boolean =>
    mayAccept({ context, event }) && modeOf(context, event) === 'interrupt',
);

/** Whether the message may join a run that waits for an approval, ahead of the decision. */
export const interjects = on('session.receive', (at): boolean => {
  const { context, event } = at;
  const isSteering = modeOf(context, event) === 'steer';
  return isSteering && hasRoom(at) && roomToJoin(context) > 0;
});
