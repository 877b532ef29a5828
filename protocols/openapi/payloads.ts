/** Schemas of payloads as components of the OpenAPI document. */
import type { ActionSpec } from '../action.ts';
import type { Schema } from './documents.ts';

/** Payload of each action and schema version, as `agent_data.update_document.1.0`. */
export const payloadTable = (specs: readonly ActionSpec[]): Schema =>
  Object.fromEntries(
    specs.flatMap(({ action, action_version, schemas }) =>
      Object.entries(schemas).map(([schemaVersion, schema]) => {
        const { $id: _, ...rest } = schema as Schema;
        return [`${action}.v${action_version.split('.', 1)[0]}.${schemaVersion}`, rest];
      }),
    ),
  );
