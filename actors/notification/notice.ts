/** Notice: the pure parts of the notification's chart. */
import type { ErrorData } from '../../protocols/errors.ts';
import {
  type NotificationRow,
  NOTIFICATIONS_INDEX,
  type NotificationSend,
  type NotificationSent,
  notificationsTopic,
} from '../../protocols/notification.ts';
import type {
  ActorInput,
  Delivered,
  Project,
  Publish,
  Reply,
  ReplyRef,
} from '../../protocols/statechart.ts';

export type NotificationContext = {
  readonly id: string;
  readonly tenant: string;
  readonly row: NotificationRow | null;
  /** of the newest request */
  readonly asker: ReplyRef | null;
  readonly error: ErrorData | null;
};
export type NotificationEvent = Delivered<NotificationSend>;

export type PostInput = {
  readonly url: string;
  readonly body: { readonly notification_id: string; readonly to: string; readonly text: string };
};
/** status of the answer */
export type Posted = { readonly status: number };

type Args = { context: NotificationContext; event: NotificationEvent };

export const initialContext = ({ key, tenant }: ActorInput): NotificationContext => ({
  id: key,
  tenant,
  row: null,
  asker: null,
  error: null,
});

const iso = (at: number): string => new Date(at).toISOString();

export const hasUrl = ({ event }: Args): boolean => event.url !== undefined;

export const take = ({ context, event }: Args): Partial<NotificationContext> => ({
  asker: event.meta.reply ?? null,
  error: null,
  row: {
    notification_id: context.id,
    to: event.to,
    text: event.text,
    ...(event.url === undefined ? {} : { url: event.url }),
    state: event.url === undefined ? 'sent' : 'posting',
    at: iso(event.meta.now),
  },
});

export const keepAsker = ({ context, event }: Args): Partial<NotificationContext> => ({
  asker: event.meta.reply ?? context.asker,
});

export const again = (args: Args): Partial<NotificationContext> => ({
  ...keepAsker(args),
  error: null,
  row: { ...args.context.row!, state: 'posting', at: iso(args.event.meta.now) },
});

export const keepPosted = (
  { context, event }: Args,
  { status }: Posted,
): Partial<NotificationContext> => ({
  row: { ...context.row!, state: 'sent', at: iso(event.meta.now), status },
});

export const keepError = (
  { context, event }: Args,
  { error }: { error: ErrorData },
): Partial<NotificationContext> => ({
  error,
  row: { ...context.row!, state: 'failed', at: iso(event.meta.now) },
});

export const toPost = ({ row }: NotificationContext): PostInput => {
  const { notification_id, to, text, url = '' } = row!;
  return { url, body: { notification_id, to, text } };
};

// ---- row and events

export const project = ({ context }: Args): Project => ({
  index: NOTIFICATIONS_INDEX,
  key: context.id,
  value: context.row,
});
export const unproject = ({ context }: Args): Project => ({
  index: NOTIFICATIONS_INDEX,
  key: context.id,
  value: null,
});

export const publish = ({ context }: Args): Publish => ({
  topic: notificationsTopic(context.tenant),
  event: { type: 'notification.sent', row: context.row },
});

export const sent = ({ context }: Args): Reply => {
  const { notification_id, at, status } = context.row!;
  const result: NotificationSent = {
    notification_id,
    sent_at: at,
    ...(status === undefined ? {} : { status }),
  };
  return { to: context.asker ?? undefined, result };
};
export const failed = ({ context }: Args): Reply => ({
  to: context.asker ?? undefined,
  error: context.error!,
});
