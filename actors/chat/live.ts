/**
 * Live: what the chat shows while a run is active: that the account types, then a preview of the
 * answer that is edited while the model writes. Pure.
 *
 * Invariant: a preview becomes the first piece of the run's next text: of a message that a tool
 * sends, or of the reply. While it is being sent, deliveries wait; if its outcome is unknown, the
 * text is sent as new messages.
 */
import { type ActionArgs, type ActionResult, outputOf } from './action-result.ts';
import { sendInput } from './outbound.ts';
import type {
  EditInput,
  FollowInput,
  FollowOutput,
  SendInput,
  SendOutput,
} from '../../protocols/channel-effects.ts';
import type { ChatContext } from './types.ts';

type State = { readonly context: ChatContext };

export const hasRun = ({ context }: State): boolean => context.open.length > 0;

/** The run that is shown has ended. */
export const isOver = ({ context: { live, open } }: State): boolean =>
  !open.some(({ runId }) => runId === live?.runId);

/** Follows the run that answers the oldest message. */
export const begin = ({ context }: State): ActionResult => {
  const { runId, sessionKey } = context.open[0]!;
  return { change: { live: { runId, sessionKey } } };
};

export const followInput = ({ context }: State): FollowInput => {
  const { tenant, channel, account, chat, live } = context;
  const { runId, sessionKey } = live!;
  return { tenant, channel, account, chat: chat!, runId, sessionKey };
};

/** There is text, and no earlier reply is still being sent, which it would overtake. */
export const mayPreview = (at: ActionArgs): boolean =>
  outputOf<FollowOutput>(at.event).text !== undefined &&
  at.context.queue.length === 0 &&
  !isOver(at);

export const startPreview = ({ context }: State): ActionResult => ({
  change: { live: { ...context.live!, isPending: true } },
});

/** The preview is a piece of its own: only its first piece is sent. A run may have several. */
export const previewInput = ({ context, event }: ActionArgs): SendInput => {
  const { text = '' } = outputOf<FollowOutput>(event);
  const { live } = context;
  const preview = { id: `${live!.runId}:preview:${event.meta.now}`, text, piece: 0 };
  const asked = context.open.find(({ runId }) => runId === live!.runId);
  const replyTo = context.chat?.kind === 'group' ? asked?.messageId : undefined;
  return sendInput({
    context: {
      ...context,
      queue: [{ ...preview, ...(replyTo === undefined ? {} : { replyTo }) }],
      attempts: 1,
      firstTriedAt: event.meta.now,
    },
  });
};

/** The text that replaces the preview may be waiting already. */
export const keepPreview = ({ context, event }: ActionArgs): ActionResult => {
  const { isPending: _, ...live } = context.live!;
  const outcome = 'output' in event ? outputOf<SendOutput>(event) : undefined;
  const messageId = outcome?.status === 'sent' ? outcome.messageId : undefined;
  if (messageId === undefined) return { change: { live } };
  const next = context.queue.find((one) => one.runId === live.runId && one.piece === 0);
  if (!next) return { change: { live: { ...live, messageId } } };
  const queue = context.queue.map((one) => (one === next ? { ...one, editOf: messageId } : one));
  return { change: { live, queue } };
};

/** A message of the run has replaced the preview. */
export const isReplaced = ({ context }: State): boolean => context.live?.messageId === undefined;

export const hasPreview = ({ context }: State): boolean => context.live?.messageId !== undefined;

export const editInput = ({ context }: State): EditInput => ({
  ...followInput({ context }),
  messageId: context.live!.messageId!,
});
