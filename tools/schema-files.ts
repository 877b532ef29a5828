/**
 * The JSON Schema files under protocols/schemas/, made from the TypeBox schemas (EN2, GW1, OP5).
 * Pure: the same sources give the same bytes.
 */
import type { TSchema } from '@sinclair/typebox';
import { shippedSpecs } from '../compose/actions.ts';
import packageJson from '../package.json' with { type: 'json' };
import { type ActionSpec, schemaPath } from '../protocols/action.ts';
import { asyncApi } from '../protocols/asyncapi.ts';
import { schemaTable } from '../protocols/documents.ts';
import { EnvelopeSchema } from '../protocols/envelope.ts';
import {
  EventFrame,
  GatewayEvents,
  GatewayMethods,
  PROTOCOL_VERSION,
  RequestFrame,
  ResponseFrame,
} from '../protocols/gateway/index.ts';
import { openApi } from '../protocols/openapi.ts';
import { configSchema } from '../runtime/config/index.ts';

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** One document: frames, and per method and event what they carry. */
const gatewayDocument = () => {
  const frames = { RequestFrame, ResponseFrame, EventFrame };
  return {
    $schema: DIALECT,
    $id: `urn:troupe:gateway:${PROTOCOL_VERSION}`,
    title: `Frames of the gateway, OpenClaw protocol v${PROTOCOL_VERSION}`,
    oneOf: Object.keys(frames).map((name) => ({ $ref: `#/$defs/${name}` })),
    $defs: {
      ...frames,
      methods: {
        $comment: 'Per method the params and the payload of an ok response.',
        $defs: mapped(GatewayMethods, ({ params, result, scope }) => ({
          $comment: scope === null ? 'grants scopes' : `needs ${scope}`,
          $defs: { params, result },
        })),
      },
      events: {
        $comment: 'Per event its payload.',
        $defs: GatewayEvents as Record<string, TSchema>,
      },
    },
  };
};

const mapped = <V, R>(
  table: Readonly<Record<string, V>>,
  map: (value: V) => R,
): Record<string, R> =>
  Object.fromEntries(Object.entries(table).map(([name, value]) => [name, map(value)]));

/** What an action takes, one file per schema version (EN2). */
const payloadDocuments = (specs: readonly ActionSpec[]): Record<string, object> =>
  Object.fromEntries(
    specs.flatMap(({ action, description, schemas }) =>
      Object.entries(schemas).map(([schemaVersion, schema]) => [
        schemaPath(action, schemaVersion),
        { $schema: DIALECT, title: action, description, ...schema },
      ]),
    ),
  );

/** Path below protocols/schemas/ and contents of every file. */
export const schemaFiles = (): ReadonlyMap<string, string> => {
  const specs = shippedSpecs();
  const { version } = packageJson;
  const documents = {
    'envelope/1.0.json': { $schema: DIALECT, ...EnvelopeSchema },
    'task/1.0.json': {
      $schema: DIALECT,
      $id: 'urn:troupe:tasks:1.0',
      title: 'Tasks, their events and refusals',
      $defs: schemaTable(),
    },
    ...payloadDocuments(specs),
    'openapi.json': openApi({ version, specs }),
    'asyncapi.json': asyncApi({ version, env: 'main', specs }),
    [`gateway/${PROTOCOL_VERSION}.json`]: gatewayDocument(),
    'config.json': configSchema,
  };
  return new Map(
    Object.entries(documents).map(([path, document]) => [
      path,
      `${JSON.stringify(document, null, 2)}\n`,
    ]),
  );
};
