/**
 * `message`: says something to people while the run goes on: into this conversation, or as a
 * notification that the Notifier keeps for somebody by name.
 *
 * What is said here is part of `ToolResult.sent`: the reply does not say it again (AL7). A
 * notification's id is made of the call's key, so a repeat of a call sends nothing.
 */
import { createHash } from 'node:crypto';
import { Type } from '@sinclair/typebox';
import { notificationAddress } from '../../../protocols/notification.ts';
import { defineTool } from './tool.ts';

export const messageTool = defineTool({
  name: 'message',
  groups: ['messaging'],
  description:
    'Says something to people at once, before your answer is complete. Without `to` into this conversation; do not repeat it in your answer.',
  parameters: Type.Object(
    {
      text: Type.String({ minLength: 1, maxLength: 16_384 }),
      to: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 256,
          description: 'who is notified, by name; default the people of this conversation',
        }),
      ),
    },
    { additionalProperties: false },
  ),
  class: 'keyed',
  parallel: false,
  async run({ text, to }, { tenant, sessionKey, system, idempotencyKey }) {
    if (to === undefined)
      return { text: 'It was said in this conversation.', sent: [{ to: sessionKey, text }] };
    const id = `message-${createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 32)}`;
    const event = { type: 'notifier.send_notification', to, text, task_id: id };
    const answer = await system.ask(notificationAddress(tenant, id), event, {
      key: idempotencyKey,
    });
    if (answer.kind === 'answered')
      return { text: `${to} is notified (${id}).`, sent: [{ to, text }] };
    const why = answer.kind === 'refused' ? answer.error.message : 'there was no answer in time';
    return { text: `${to} was not notified: ${why}`, isError: true };
  },
});
