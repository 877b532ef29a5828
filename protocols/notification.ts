/** Notification: a short message to a recipient, stored and sent by the shipped Notifier agent. */
import { type Address, address } from './address.ts';

/** Index `notifications`, key the notification's id, which is the id of its task. */
export const NOTIFICATIONS_INDEX = 'notifications';
export type NotificationRow = {
  readonly notification_id: string;
  readonly to: string;
  readonly text: string;
  /** destination; absent: the notification is only stored */
  readonly url?: string;
  readonly state: 'posting' | 'sent' | 'failed';
  /** RFC 3339, time of the state */
  readonly at: string;
  /** HTTP status of the response */
  readonly status?: number;
};

/** Bus topic on which sent notifications are published (ephemeral): NotificationRow as `row`. */
export const notificationsTopic = (tenant: string): string => `notification.${tenant}`;

/** To a notification. Reply: NotificationSent; a repeat gets the same reply. */
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
