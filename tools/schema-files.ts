/**
 * The JSON Schema files under protocols/schemas/, made from the TypeBox schemas (EN2, GW1, OP5).
 * Pure: the same sources give the same bytes.
 */
import type { TSchema } from '@sinclair/typebox';
import { EnvelopeSchema } from '../protocols/envelope.ts';
import {
  EventFrame,
  GatewayEvents,
  GatewayMethods,
  PROTOCOL_VERSION,
  RequestFrame,
  ResponseFrame,
} from '../protocols/gateway/index.ts';
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

/** Path below protocols/schemas/ and contents of every file. */
export const schemaFiles = (): ReadonlyMap<string, string> => {
  const documents = {
    'envelope/1.0.json': { $schema: DIALECT, ...EnvelopeSchema },
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
