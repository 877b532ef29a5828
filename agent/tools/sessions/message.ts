/**
 * `message`: a message to the users of this conversation, or a notification that the Notifier
 * stores for a named person.
 *
 * A message of this conversation is part of `ToolResult.sent`. The session commits it once with the
 * call's result, however often the call runs. A notification's id is derived from the call's key,
 * so a repeated call sends nothing.
 */
import { createHash } from 'node:crypto';
import { Type } from '@sinclair/typebox';
import { notificationAddress } from '../../../protocols/notification.ts';
import { defineTool } from '../tool.ts';

export const messageTool = defineTool({
  name: 'message',
  groups: ['messaging'],
  description:
    'Sends text to users. Without `to` it appears in this conversation at once, as a separate message; do not repeat it in your answer. With `to` that user is notified at once.',
  parameters: Type.Object(
    {
      text: Type.String({ minLength: 1, maxLength: 16_384 }),
      to: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 256,
          description: 'name of the notified user; default the users of this conversation',
        }),
      ),
    },
    { additionalProperties: false },
  ),
  class: 'keyed',
  parallel: false,
  async run({ text, to }, { tenant, sessionKey, system, idempotencyKey }) {
    if (to === undefined)
      return {
        text: 'The message was added to the conversation.',
        sent: [{ to: sessionKey, text }],
      };
    const id = `message-${createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 32)}`;
    const event = { type: 'notifier.send_notification', to, text, task_id: id };
    const answer = await system.ask(notificationAddress(tenant, id), event, {
      key: idempotencyKey,
    });
    if (answer.kind === 'answered')
      return { text: `${to} was notified (${id}).`, sent: [{ to, text }] };
    const why = answer.kind === 'refused' ? answer.error.message : 'there was no answer in time';
    return { text: `${to} was not notified: ${why}`, isError: true };
  },
});
