/**
 * The Process agent's saga: writes a document and notifies a recipient. The Verifier agent checks
 * each step; when the second fails, the first is compensated.
 */
import { Type } from '@sinclair/typebox';
import { defined } from '../protocols/defined.ts';
import type { DocumentRestored, DocumentVersion } from '../protocols/document.ts';
import type { NotificationSent } from '../protocols/notification.ts';
import { defineProcess, type ProcessDefinition } from '../actors/process/define.ts';

const verifyDocument = { action: 'verifier.verify_document', version: '1.0.0' } as const;

export const publishDocument: ProcessDefinition = defineProcess({
  action: 'process.publish_document',
  version: '1.0.0',
  description: 'Writes a document and sends a notification about it, or does neither.',
  payload: Type.Object({
    document_id: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$' }),
    content: Type.String({ maxLength: 32_768 }),
    expected_version: Type.Optional(Type.Integer({ minimum: 0 })),
    notify: Type.Object({
      to: Type.String({ minLength: 1, maxLength: 256 }),
      text: Type.Optional(Type.String({ minLength: 1, maxLength: 8_192 })),
      url: Type.Optional(Type.String({ pattern: '^https?://', maxLength: 2_048 })),
    }),
  }),
  steps: [
    {
      name: 'update',
      action: 'agent_data.update_document',
      version: '1.0.0',
      payload: ({ document_id, content, expected_version }) => ({
        document_id,
        content,
        ...defined({ expected_version }),
      }),
      verify: {
        ...verifyDocument,
        payload: ({ document_id }, _, { processId, result }) => ({
          job_id: processId,
          document_id,
          version: (result as DocumentVersion).version,
          content_hash: (result as DocumentVersion).content_hash,
        }),
      },
      compensate: {
        action: 'agent_data.restore_document',
        version: '1.0.0',
        payload: ({ document_id }, _, { taskId }) => ({ document_id, update_task_id: taskId }),
        verify: {
          ...verifyDocument,
          payload: ({ document_id }, _, { processId, undone }) => ({
            job_id: processId,
            document_id,
            version: (undone as DocumentRestored).version,
            content_hash: (undone as DocumentRestored).content_hash,
          }),
        },
      },
    },
    {
      name: 'notify',
      action: 'notifier.send_notification',
      version: '1.0.0',
      payload: ({ document_id, notify }) => ({
        to: notify.to,
        text: notify.text ?? `${document_id} was published`,
        ...defined({ url: notify.url }),
      }),
      verify: {
        action: 'verifier.verify_notification',
        version: '1.0.0',
        payload: ({ notify }, _, { processId, result }) => ({
          job_id: processId,
          notification_id: (result as NotificationSent).notification_id,
          to: notify.to,
        }),
      },
      // A notification cannot be undone, so watchers are notified that it is withdrawn. Nothing is
      // posted to the web address, which may be what failed.
      compensate: {
        action: 'notifier.send_notification',
        version: '1.0.0',
        payload: ({ document_id, notify }) => ({
          to: notify.to,
          text: `${document_id} was taken back`,
        }),
      },
    },
  ],
  result: ({ document_id }, results) => ({
    document_id,
    version: (results['update'] as DocumentVersion).version,
    content_hash: (results['update'] as DocumentVersion).content_hash,
    notification_id: (results['notify'] as NotificationSent).notification_id,
  }),
});
