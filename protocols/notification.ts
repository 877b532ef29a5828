/**
 * Notification: a few words to somebody, as the shipped Notifier agent keeps and sends them (EN13).
 */
import { type Address, address } from './address.ts';

/** Index `notifications`, key the id of the notification, which is that of its task. */
export const NOTIFICATIONS_INDEX = 'notifications';
export type NotificationRow = {
  readonly notification_id: string;
  readonly to: string;
  readonly text: string;
  /** where it is sent; absent: it is kept here only */
  readonly url?: string;
  readonly state: 'posting' | 'sent' | 'failed';
  /** RFC 3339, of the state */
  readonly at: string;
  /** HTTP status that the other side answered with */
  readonly status?: number;
};

/** Bus topic on which sent notifications are told (ephemeral): NotificationRow as `row`. */
export const notificationsTopic = (tenant: string): string => `notification.${tenant}`;

/** To a notification. Answer: NotificationSent; the same to a repeat. */
export type NotificationSend = {
  readonly type: 'notifier.send_notification';
  readonly to: string;
  readonly text: string;
  readonly url?: string;
  readonly task_id: string;
};
export type NotificationSent = {
  readonly notification_id: string;
  readonly sent_at: string;
  readonly status?: number;
};

export const notificationAddress = (tenant: string, id: string): Address =>
  address(tenant, 'notification', id);
