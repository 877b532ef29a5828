/**
 * Inbound: messages of the chat go to the session, in order, and its replies to the chat. Pure.
 *
 * Invariant: a message that the session refuses is answered in the chat, so its sender knows.
 */
import { type InboundMessage } from '../../protocols/channel.ts';
import { address } from '../../protocols/address.ts';
import { defined } from '../../protocols/defined.ts';
import { plainName } from '../../protocols/plain-text.ts';
import type { SessionReceive } from '../../protocols/session.ts';
import type { ActorInput } from '../../protocols/statechart.ts';
import { type ActionArgs, type ActionResult, on, outputOf } from './action-result.ts';
import { deliver } from './outbound.ts';
import type { PrepareInput, PrepareOutput } from '../../protocols/channel-effects.ts';
import type { ChatContext } from './types.ts';

/**
 * Messages that the session has not answered. Replies to older ones are sent without a preview, and
 * quote nothing.
 */
const OPEN_RUNS_MAX = 100;
const NAME_CHARACTERS_MAX = 80;

export const initialContext = ({ self, tenant, key }: ActorInput): ChatContext => {
  const [channel = key, account = ''] = key.split(':');
  return {
    self,
    tenant,
    channel,
    account,
    chat: null,
    preparing: null,
    open: [],
    live: null,
    queue: [],
    attempts: 0,
    firstTriedAt: 0,
    checks: 0,
    waitMs: 0,
    recent: [],
  };
};

// ---- from the service to the session

export const needsPreparation = on('chat.inbound', ({ event }) => event.needsPreparation === true);

export const prepare = on('chat.inbound', ({ event }): ActionResult => {
  const { meta: _, ...inbound } = event;
  const { chat } = inbound.message;
  return { change: { preparing: inbound, chat, isObserved: inbound.isObserved === true } };
});

export const prepareInput = ({ context }: { context: ChatContext }): PrepareInput => {
  const { tenant, channel, account, preparing } = context;
  const { message, route } = preparing!;
  return { tenant, channel, account, chat: message.chat, message, route };
};

export const receive = on('chat.inbound', ({ context, event }): ActionResult => {
  const { message, route } = event;
  const { change, send } = sent(context, message, { text: message.text, route });
  return { change: { ...change, isObserved: event.isObserved === true }, ...defined({ send }) };
});

export const receivePrepared = (at: ActionArgs): ActionResult => {
  const { context } = at;
  const { message } = context.preparing!;
  const prepared = outputOf<PrepareOutput>(at.event);
  const next = { ...context, preparing: null };
  if (prepared.refuse === undefined) return sent(next, message, prepared);
  return after({ preparing: null }, refusalText(next, message, prepared.refuse));
};

/** Hooks that fail, and files that cannot be downloaded, must not lose the text. */
export const receiveUnprepared = ({ context }: ActionArgs): ActionResult => {
  const { message, route } = context.preparing!;
  return sent({ ...context, preparing: null }, message, { text: message.text, route });
};

const refusalText = (
  context: ChatContext,
  { key, messageId }: InboundMessage,
  text: string,
): ActionResult =>
  text === '' ? {} : deliver(context, { id: `refused:${key}`, text, replyTo: messageId });

/** A change, and the result of what follows it. */
const after = (change: Partial<ChatContext>, { change: more, ...rest }: ActionResult) => ({
  change: { ...change, ...more },
  ...rest,
});

/** Tells the session, and follows the run. The mailbox has ignored repeated messages. */
function sent(
  context: ChatContext,
  message: InboundMessage,
  { text, images, route }: Omit<PrepareOutput, 'refuse'>,
): ActionResult {
  const { tenant, channel, account, self } = context;
  const runId = `${channel}:${account}:${message.key}`;
  const event: SessionReceive = {
    type: 'session.receive',
    runId,
    text: textOf(message, text),
    sender: `${channel}:${message.sender.id}`,
    channel,
    notify: true,
    deliverTo: { actor: self, chat: message.chat, rule: route.rule },
    ...defined({ images }),
  };
  const { sessionKey } = route;
  const open = { runId, sessionKey, messageId: message.messageId, isAccepted: false };
  return {
    change: {
      chat: message.chat,
      preparing: null,
      open: [...context.open, open].slice(-OPEN_RUNS_MAX),
    },
    send: [
      {
        type: 'tell',
        params: { to: address(tenant, 'session', sessionKey), event, ask: true },
      },
    ],
  };
}

/** In a group, the model has to know who speaks. */
const textOf = ({ kind, chat, sender }: InboundMessage, text: string): string => {
  const name = plainName(sender.name ?? sender.username ?? sender.id, NAME_CHARACTERS_MAX);
  if (kind === 'reaction') return `(${name} reacted to a message with ${text})`;
  return chat.kind === 'group' ? `${name}: ${text}` : text;
};

// ---- from the session

export const isRefusal = on(
  ['reply', 'refused'],
  ({ event }) => event.type === 'refused' || event.error !== undefined,
);

export const onAccepted = on('reply', ({ context, event }): ActionResult => {
  const open = context.open.map((one) =>
    one.runId === event.result?.runId ? { ...one, isAccepted: true } : one,
  );
  return { change: { open } };
});

/** Replies of a session arrive in order: this one is about the oldest unconfirmed message. */
export const onRefused = on(['reply', 'refused'], ({ context, event }): ActionResult => {
  const refused = context.open.find(({ isAccepted }) => !isAccepted);
  if (!refused) return {};
  const { runId, messageId } = refused;
  const reason = event.error?.message ?? 'the session refused it';
  const rest = { ...context, open: context.open.filter((one) => one !== refused) };
  const text = `This message was not accepted: ${reason}`;
  return after(
    { open: rest.open },
    deliver(rest, { id: `refused:${runId}`, text, replyTo: messageId }),
  );
});

/** The reply of a run is sent once, also when several messages of this chat joined it. */
export const onRunEnded = on('run.ended', ({ context, event }): ActionResult => {
  const { runId, joined, text } = event;
  const found = context.open.find((one) => one.runId === runId);
  const rest = { ...context, open: context.open.filter((one) => one !== found) };
  const isOwn = joined !== undefined && context.open.some((one) => one.runId === joined);
  if (text === '' || isOwn) return { change: { open: rest.open } };
  const delivery = {
    id: joined ?? runId,
    runId,
    sessionKey: event.sessionKey,
    text,
    ...defined({ replyTo: found && replyOf(context, found.messageId) }),
  };
  return after({ open: rest.open }, deliver(rest, delivery));
});

/** Replies quote the message in groups only. */
const replyOf = ({ chat }: ChatContext, messageId: string): string | undefined =>
  chat?.kind === 'group' ? messageId : undefined;
