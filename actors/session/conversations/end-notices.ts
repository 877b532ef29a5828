/**
 * End notices: which actors receive the ends of runs and messages: senders of messages with
 * `notify`, and for every run of a subagent's session its subagent. Pure.
 *
 * Invariants: each message with `notify` has one RunEnded, however it ends; the subagent has one
 * per run, without the text if that was the answer to another agent. A chat receives each message
 * that the run sends at once, and the reply at the end.
 */
import type { Address } from '../../../protocols/address.ts';
import {
  accountOfChat,
  type ChatDeliver,
  DELIVERY_CHARACTERS_MAX,
  type DeliveryTarget,
  type TextDestination,
} from '../../../protocols/channel.ts';
import type { FilePart } from '../../../protocols/content.ts';
import type { RunEnded } from '../../../protocols/session.ts';
import type { Tell } from '../../../protocols/statechart.ts';
import { below } from '../subagents/budget-ledger.ts';
import { openOf } from '../subagents/children.ts';
import { defined, runOf, type RunEventBody } from '../action-result.ts';
import { firstOf } from '../../kit/text.ts';
import { NO_USAGE } from '../../../protocols/models/model-usage.ts';
import * as rows from '../rows.ts';
import { grantorOf } from '../subagents/subagent-limits.ts';
import type { Joined, SessionContext } from '../types.ts';

/** Of a reply to another actor than a chat; the transcript has the complete text. */
const TEXT_CHARACTERS_MAX = 32 * 1024;

// ---- events for subscribers

/** The one end of the run, and of each message that joined it. */
export const endEvents = (context: SessionContext, now: number): readonly RunEventBody[] => [
  endEvent(context, now),
  ...runOf(context).joined.map(({ runId }) => joinedEnd(context, runId, now)),
];

function endEvent(context: SessionContext, endedAt: number): RunEventBody {
  const { startedAt, usage, status, reply = '', error } = runOf(context);
  const { messages } = runOf(context);
  const sent = defined({ messages });
  if (status === 'ok' || status === 'aborted') {
    const end = { stream: 'lifecycle', phase: 'end', startedAt, endedAt, usage, status } as const;
    return { ...end, text: reply, ...sent };
  }
  return {
    stream: 'lifecycle',
    phase: 'error',
    startedAt,
    endedAt,
    error: error ?? { code: 'INTERNAL', message: 'the run failed without a reason' },
    status: status as 'error' | 'timeout',
    ...(reply ? { text: reply } : {}),
    ...sent,
  };
}

function joinedEnd(context: SessionContext, runId: string, now: number): RunEventBody {
  const text = rows.replyOfJoined(context);
  const event = endEvent(context, now);
  if ('usage' in event) return { ...event, runId, text, usage: NO_USAGE };
  return { ...event, runId, ...(text ? { text } : {}) };
}

// ---- actors that wait

/** The fields that all notices of one turn share. `after`: the session after the turn. */
const stateOf = (after: SessionContext) => ({
  sessionKey: after.sessionKey,
  open: openOf(after),
  below: below(after),
  ...defined({ channel: after.channel }),
});

/**
 * The messages that the run sent into this conversation and the reply, for actors that wait.
 */
const wholeReply = (context: SessionContext): string => {
  const { sent, reply = '' } = runOf(context);
  const ours = sent.filter(({ to }) => to === context.sessionKey).map(({ text }) => text);
  return [...ours, reply].filter((text) => text !== '').join('\n\n');
};

const isChat = (actor: Address): boolean => accountOfChat(actor) !== undefined;

/** A chat has the sent messages already. */
const textFor = (to: Address, context: SessionContext): string =>
  isChat(to)
    ? firstOf(runOf(context).reply ?? '', DELIVERY_CHARACTERS_MAX)
    : firstOf(wholeReply(context), TEXT_CHARACTERS_MAX);

/** The chat that the user wrote in last, for a run that no user requested. */
function ownChat(context: SessionContext): DeliveryTarget | undefined {
  const { deliverTo } = context;
  const { notify, origin } = runOf(context);
  if (!deliverTo || notify !== undefined || origin?.kind === 'agent') return undefined;
  return deliverTo;
}

/**
 * The channel that the texts of the run go to, with the account of a messenger; undefined when no
 * user wrote or another actor requested the run.
 */
export function destinationOf(context: SessionContext): TextDestination | undefined {
  const { notify, origin } = runOf(context);
  const to = notify ?? ownChat(context)?.actor;
  if (to !== undefined) return accountOfChat(to);
  const { channel } = context;
  return channel === undefined || origin?.kind === 'agent' ? undefined : { channel };
}

function delivery(context: SessionContext): Tell[] {
  const target = ownChat(context);
  const text = target ? textFor(target.actor, context) : '';
  if (!target || text === '') return [];
  const { actor, chat } = target;
  const event: ChatDeliver = { type: 'chat.deliver', id: runOf(context).runId, chat, text };
  return [{ to: actor, event }];
}

type SaidMessage = {
  readonly of: string;
  readonly text: string;
  readonly files?: readonly FilePart[];
};

/** Messages that tools of the run send into this conversation, for the chats that wait for it. */
export function sentMessages(context: SessionContext, messages: readonly SaidMessage[]): Tell[] {
  const { runId, notify, joined } = runOf(context);
  const waiting = [notify, ...joined.map((one) => one.notify)];
  const own = ownChat(context);
  const chats = new Set(
    [...waiting, own?.actor].filter((one): one is Address => one !== undefined && isChat(one)),
  );
  return messages.flatMap(({ of: id, text, files }) =>
    [...chats].map((to): Tell => {
      const chat = to === own?.actor ? own.chat : undefined;
      const more = defined({ files, chat });
      const event: ChatDeliver = { type: 'chat.deliver', id, runId, text, ...more };
      return { to, event };
    }),
  );
}

/** End notices of the run and of the messages that joined it, and the one to the subagent. */
export function runEnds(context: SessionContext, after: SessionContext, now: number): Tell[] {
  const { runId, notify, joined, status, error, usage, startedAt } = runOf(context);
  const grantor = grantorOf(context);
  const listeners = new Set([notify, grantor].filter((one): one is Address => one !== undefined));
  const notified = joined.filter((one) => one.notify !== undefined);
  const delivered = delivery(context);
  if (listeners.size + notified.length === 0) return delivered;
  const eventFor = (to: Address): RunEnded => ({
    type: 'run.ended',
    runId,
    status: status as RunEnded['status'],
    text: textFor(to, context),
    usage,
    startedAt,
    endedAt: now,
    ...defined({ error }),
    ...stateOf(after),
  });
  return [
    ...delivered,
    ...[...listeners].map((to): Tell => {
      // replies in a conversation are not the subagent's findings
      const isOverheard = notify !== undefined && to !== notify;
      return { to, event: { ...eventFor(to), ...(isOverheard && { text: '' }) } };
    }),
    ...notified.map(({ runId: own, notify: to }): Tell => {
      return { to: to!, event: { ...eventFor(to!), runId: own, usage: NO_USAGE, joined: runId } };
    }),
  ];
}

/** End notices of messages that end without a run. */
export function messageEnds(ending: readonly Joined[], after: SessionContext, now: number): Tell[] {
  return ending.flatMap(({ runId, acceptedAt, notify }): Tell[] => {
    if (notify === undefined) return [];
    const event: RunEnded = {
      type: 'run.ended',
      runId,
      status: 'aborted',
      text: '',
      usage: NO_USAGE,
      startedAt: acceptedAt,
      endedAt: now,
      ...stateOf(after),
    };
    return [{ to: notify, event }];
  });
}
