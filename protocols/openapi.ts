/**
 * OpenAPI 3.1 of the door for programs over HTTP: every route that there is. Made of the schemas
 * that check what comes in.
 */
import type { ActionSpec } from './action.ts';
import { schemaTable, type Schema } from './documents.ts';
import { ERRORS } from './errors.ts';
import { BASE, json, ref } from './openapi-operation.ts';
import { operatorPaths } from './openapi-operator.ts';
import { ArtifactRef, artifactPaths, discoveryPaths, taskPaths } from './openapi-paths.ts';
import { payloadTable } from './openapi-payloads.ts';

export type OpenApiOptions = {
  /** of troupe */
  readonly version: string;
  /** where the door is; default this document's own server */
  readonly url?: string;
  /** on offer, for examples and the payloads' schemas */
  readonly specs: readonly ActionSpec[];
  /** of operations, which this folder does not import */
  readonly paths: Schema;
};

export function openApi({ version, url = '/', specs, paths }: OpenApiOptions): Schema {
  // Told on NATS only; what agents outside register.
  const { RefusedEvent: _, ActionSpec: __, ...spoken } = schemaTable(BASE);
  return {
    openapi: '3.1.0',
    info: {
      title: 'troupe: envelopes, tasks, artifacts',
      version,
      description:
        'One envelope per request; it becomes a task. A request is done once per idempotency key, however often it is sent.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url }],
    security: [{ bearer: [] }],
    tags: [
      { name: 'tasks', description: 'Envelopes and what becomes of them' },
      { name: 'artifacts', description: 'Files that are too large for an envelope' },
      { name: 'operators', description: 'For the people who look after a cell' },
      { name: 'discovery', description: 'What is on offer, and how it is called' },
    ],
    paths: {
      ...taskPaths(specs),
      ...artifactPaths(),
      ...discoveryPaths(),
      ...operatorPaths(),
      ...paths,
    },
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'aud names this gateway (RFC 8707); sub, tenant and roles are the principal',
        },
      },
      schemas: { ...spoken, ...payloadTable(specs), ArtifactRef },
      responses: errorResponses(),
    },
  };
}

/** Of tasks that ended so; no answer has them as its status. */
const NEVER_A_STATUS: ReadonlySet<string> = new Set(['CANCELLED']);

const errorResponses = (): Schema =>
  Object.fromEntries(
    Object.entries(ERRORS)
      .filter(([code]) => !NEVER_A_STATUS.has(code))
      .map(([code, { retriable }]) => [
        code,
        {
          description: retriable
            ? `${code}: send it again with the same idempotency key, not before Retry-After`
            : code,
          ...(retriable
            ? {
                headers: {
                  'Retry-After': { description: 'Seconds', schema: { type: 'integer' } },
                },
              }
            : {}),
          content: json(ref('Refusal')),
        },
      ]),
  );
