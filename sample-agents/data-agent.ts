/** The Data agent: documents with versions, and the compensation that restores a version. */
import { Type } from '@sinclair/typebox';
import { DOCUMENT_CHARACTERS_MAX, documentAddress } from '../protocols/document.ts';
import type { Envelope } from '../protocols/envelope.ts';
import { type ActionDefinition, defineAction } from '../actors/task/action.ts';

const DocumentId = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$',
  description: 'name of the document',
});
const Version = Type.Integer({ minimum: 0 });
const ContentHash = Type.Union([Type.String({ pattern: '^[0-9a-f]{64}$' }), Type.Null()], {
  description: 'SHA-256 of the content; null: the document does not exist',
});

const VersionResult = Type.Object({
  document_id: DocumentId,
  version: Version,
  content_hash: ContentHash,
});

/** The schema guarantees that it is present. */
const documentOf = ({ tenant_id, payload }: Envelope) =>
  documentAddress(tenant_id, payload['document_id'] as string);

export const dataActions = (): readonly ActionDefinition[] => [
  defineAction({
    action: 'agent_data.update_document',
    version: '1.0.0',
    description: 'Writes a document: creates it, or adds a new version.',
    agent: 'agent_data',
    schemas: {
      '1.0': Type.Object({
        document_id: DocumentId,
        content: Type.String({ maxLength: DOCUMENT_CHARACTERS_MAX }),
        expected_version: Type.Optional(
          Type.Integer({ minimum: 0, description: 'CONFLICT unless it is the current version' }),
        ),
      }),
    },
    result: VersionResult,
    actor: documentOf,
  }),
  defineAction({
    action: 'agent_data.read_document',
    version: '1.0.0',
    description: 'Reads a document: its content and version.',
    agent: 'agent_data',
    schemas: { '1.0': Type.Object({ document_id: DocumentId }) },
    result: Type.Object({ document_id: DocumentId, version: Version, content: Type.String() }),
    actor: documentOf,
  }),
  defineAction({
    action: 'agent_data.restore_document',
    version: '1.0.0',
    description:
      'Undoes one update by restoring the previous content as a new version. CONFLICT after a later change. An update that has not arrived yet is refused when it does.',
    agent: 'agent_data',
    schemas: {
      '1.0': Type.Object({
        document_id: DocumentId,
        update_task_id: Type.String({ minLength: 1, maxLength: 128 }),
      }),
    },
    result: Type.Intersect([VersionResult, Type.Object({ restored: Type.Boolean() })]),
    actor: documentOf,
  }),
];
