/**
 * OpenAPI 3.1 document of the HTTP entry point for programs, with every route. It is generated from
 * the schemas that validate requests.
 */
import type { ActionSpec } from '../action.ts';
import { schemaTable, type Schema } from './documents.ts';
import { ERRORS } from '../errors.ts';
import { BASE, json, ref } from './operation.ts';
import { operatorPaths } from './operator.ts';
import { ArtifactRef, artifactPaths, discoveryPaths, taskPaths } from './paths.ts';
import { payloadTable } from './payloads.ts';

export type OpenApiOptions = {
  /** of troupe */
  readonly version: string;
  /** URL of the entry point; default: the server of this document */
  readonly url?: string;
  /** offered actions, for examples and payload schemas */
  readonly specs: readonly ActionSpec[];
  /** of operations, which this folder does not import */
  readonly paths: Schema;
};

export function openApi({ version, url = '/', specs, paths }: OpenApiOptions): Schema {
  // RefusedEvent is sent only over NATS, and ActionSpec is used only by external agents.
  const { RefusedEvent: _, ActionSpec: __, ...spoken } = schemaTable(BASE);
  return {
    openapi: '3.1.0',
    info: {
      title: 'troupe: envelopes, tasks, artifacts',
      version,
      description:
        'Each request has one envelope, which becomes a task. A request is executed once per idempotency key, even if it is sent several times.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url }],
    security: [{ bearer: [] }],
    tags: [
      { name: 'tasks', description: 'Envelopes and their tasks' },
      { name: 'artifacts', description: 'Files that are too large for an envelope' },
      { name: 'operators', description: 'For the operators of a cell' },
      { name: 'discovery', description: 'Offered agents and actions, and how to call them' },
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
