/** The Notifier agent: stores a short message for a recipient and posts it to a web address. */
import { Type } from '@sinclair/typebox';
import { notificationAddress } from '../protocols/notification.ts';
import { type ActionDefinition, defineAction } from '../actors/task/action.ts';

export const notifierActions = (): readonly ActionDefinition[] => [
  defineAction({
    action: 'notifier.send_notification',
    version: '1.0.0',
    description:
      'Stores a notification and publishes it to watchers; with a url, also posts it there as JSON.',
    agent: 'notifier',
    schemas: {
      '1.0': Type.Object({
        to: Type.String({ minLength: 1, maxLength: 256 }),
        text: Type.String({ minLength: 1, maxLength: 8_192 }),
        url: Type.Optional(Type.String({ pattern: '^https?://', maxLength: 2_048 })),
      }),
    },
    result: Type.Object({
      notification_id: Type.String(),
      sent_at: Type.String(),
      status: Type.Optional(Type.Integer()),
    }),
    actor: ({ tenant_id }, taskId) => notificationAddress(tenant_id, taskId),
  }),
];
