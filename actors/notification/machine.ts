/**
 * Notification: one notification, stored as a row and posted to a webhook if one is given. Each
 * task of the Notifier agent has its own actor, so that a repeated task posts nothing. The receiver
 * recognizes a repeated request by the id of the notification.
 */
import { assign, setup } from 'xstate';
import type { ErrorData } from '../../protocols/errors.ts';
import { type ActorInput, effect, hostActions } from '../../protocols/statechart.ts';
import { TASK_RETENTION_MS } from '../../protocols/task.ts';
import * as notice from './notice.ts';
import type { NotificationContext, NotificationEvent, Posted, PostInput } from './notice.ts';

export const notificationMachine = setup({
  types: {
    context: {} as NotificationContext,
    events: {} as NotificationEvent,
    input: {} as ActorInput,
  },
  actors: { post: effect<Posted, PostInput>() },
  actions: {
    ...hostActions,
    take: assign(notice.take),
    keepAsker: assign(notice.keepAsker),
    again: assign(notice.again),
    keepPosted: assign(notice.keepPosted),
    keepError: assign(notice.keepError),
  },
  guards: { hasUrl: notice.hasUrl },
  delays: { retention: TASK_RETENTION_MS },
}).createMachine({
  id: 'notification',
  description: 'One notification to a user or a system.',
  context: ({ input }) => notice.initialContext(input),
  initial: 'unsent',
  options: { maxIterations: 100 },
  states: {
    unsent: {
      description: 'Nothing was requested yet.',
      on: {
        'notifier.send_notification': [
          { guard: 'hasUrl', target: 'posting', actions: 'take' },
          { target: 'sent', actions: 'take' },
        ],
      },
    },
    posting: {
      description: 'Posts the notification to the webhook.',
      entry: { type: 'project', params: notice.project },
      on: { 'notifier.send_notification': { actions: 'keepAsker' } },
      invoke: {
        id: 'post',
        src: 'post',
        input: ({ context }) => notice.toPost(context),
        onDone: {
          target: 'sent',
          actions: { type: 'keepPosted', params: ({ event }) => event.output },
        },
        onError: {
          target: 'failed',
          actions: {
            type: 'keepError',
            params: ({ event }) => ({ error: event.error as ErrorData }),
          },
        },
      },
    },
    sent: {
      description: 'The notification is stored and was delivered where delivery was requested.',
      entry: [
        { type: 'project', params: notice.project },
        { type: 'publish', params: notice.publish },
        { type: 'reply', params: notice.sent },
      ],
      on: {
        'notifier.send_notification': {
          actions: ['keepAsker', { type: 'reply', params: notice.sent }],
        },
      },
      after: { retention: 'forgotten' },
    },
    failed: {
      description: 'Delivery failed; another request tries again.',
      entry: [
        { type: 'project', params: notice.project },
        { type: 'reply', params: notice.failed },
      ],
      on: { 'notifier.send_notification': { target: 'posting', actions: 'again' } },
      after: { retention: 'forgotten' },
    },
    forgotten: {
      description: 'The retention time is over.',
      entry: { type: 'project', params: notice.unproject },
      type: 'final',
    },
  },
});
