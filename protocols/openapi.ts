/** OpenAPI 3.1 of the door for programs over HTTP; schemas.ts says of what it is made. */
import type { ActionSpec } from './action.ts';
import { schemaTable, type Schema } from './documents.ts';
import { ERRORS, type ErrorCode } from './errors.ts';

export type OpenApiOptions = {
  /** of troupe */
  readonly version: string;
  /** where the door is; default this document's own server */
  readonly url?: string;
  /** on offer, for examples and the payloads' schemas */
  readonly specs: readonly ActionSpec[];
};

const BASE = '#/components/schemas/';
const ref = (name: string): Schema => ({ $ref: BASE + name });
const json = (schema: Schema) => ({ 'application/json': { schema } });

export function openApi({ version, url = '/', specs }: OpenApiOptions): Schema {
  // told on NATS only
  const { RefusedEvent: _, ...spoken } = schemaTable(BASE);
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
      { name: 'discovery', description: 'What is on offer, and how it is called' },
    ],
    paths: { ...taskPaths(specs), ...artifactPaths(), ...discoveryPaths() },
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'aud names this door (RFC 8707); sub, tenant and roles are the principal',
        },
      },
      schemas: { ...spoken, ...payloadTable(specs), ArtifactRef },
      responses: errorResponses(),
    },
  };
}

// ---- paths

type Operation = {
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly answers: Schema;
  readonly errors: readonly ErrorCode[];
  readonly parameters?: readonly Schema[];
  readonly body?: Schema;
  readonly open?: boolean;
};

const operation = (o: Operation): Schema => ({
  operationId: o.id,
  tags: [o.tag],
  summary: o.summary,
  ...(o.open ? { security: [] } : {}),
  ...(o.parameters ? { parameters: o.parameters } : {}),
  ...(o.body ? { requestBody: { required: true, content: o.body } } : {}),
  responses: {
    ...o.answers,
    ...Object.fromEntries(
      o.errors.map((code) => [
        String(ERRORS[code].http),
        { $ref: `#/components/responses/${code}` },
      ]),
    ),
  },
});

const pathParameter = (name: string, description: string): Schema => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: { type: 'string' },
});
const taskId = pathParameter('task_id', 'The task, as its answer names it');

const answered = (description: string, schema: Schema, headers?: Schema): Schema => ({
  description,
  ...(headers ? { headers } : {}),
  content: json(schema),
});

const RATE = {
  'X-RateLimit-Limit': { description: 'Envelopes a minute', schema: { type: 'integer' } },
  'X-RateLimit-Remaining': { description: 'Left at present', schema: { type: 'integer' } },
};

const COMMON = ['UNAUTHORIZED', 'RATE_LIMIT_EXCEEDED', 'INTERNAL', 'UNAVAILABLE'] as const;

/** An envelope, with the payloads that are known here; agents outside bring others. */
const envelopeOf = (specs: readonly ActionSpec[]): Schema => ({
  allOf: [
    ref('Envelope'),
    {
      type: 'object',
      properties: {
        payload: {
          anyOf: [
            ...Object.keys(payloadTable(specs)).map(ref),
            { type: 'object', description: 'Of an agent outside, or sealed: schema_version, jwe' },
          ],
        },
      },
    },
  ],
});

const taskPaths = (specs: readonly ActionSpec[]): Schema => ({
  '/v1/envelopes': {
    post: operation({
      id: 'submitEnvelope',
      tag: 'tasks',
      summary: 'Send an envelope',
      parameters: [
        {
          name: 'Prefer',
          in: 'header',
          description: '`respond-async`: answer as soon as it is accepted',
          schema: { type: 'string' },
        },
        {
          name: 'X-JWS-Signature',
          in: 'header',
          description: 'A2A-External: detached JWS over the canonical envelope (RFC 8785)',
          schema: { type: 'string' },
        },
      ],
      body: json(envelopeOf(specs)),
      answers: {
        200: answered('The task has ended', ref('Task'), RATE),
        202: answered('The task is accepted and goes on', ref('Task'), RATE),
      },
      errors: [
        'INVALID_ARGUMENT',
        'FORBIDDEN',
        'NOT_FOUND',
        'CONFLICT',
        'EXPIRED',
        'PAYLOAD_TOO_LARGE',
        ...COMMON,
      ],
    }),
  },
  '/v1/tasks/{task_id}': {
    get: operation({
      id: 'getTask',
      tag: 'tasks',
      summary: 'Look at a task',
      parameters: [taskId],
      answers: { 200: answered('The task as it is', ref('Task')) },
      errors: ['NOT_FOUND', ...COMMON],
    }),
  },
  '/v1/tasks/{task_id}/events': {
    get: operation({
      id: 'followTask',
      tag: 'tasks',
      summary: 'Follow a task to its end',
      parameters: [
        taskId,
        {
          name: 'Last-Event-ID',
          in: 'header',
          description: 'Number of the last event that was seen',
          schema: { type: 'string' },
        },
      ],
      answers: {
        200: {
          description: 'Server-sent events; `data` is a TaskEvent',
          content: { 'text/event-stream': { schema: ref('TaskEvent') } },
        },
      },
      errors: ['NOT_FOUND', ...COMMON],
    }),
  },
  '/v1/tasks/{task_id}/cancel': {
    post: operation({
      id: 'cancelTask',
      tag: 'tasks',
      summary: 'Cancel a task, and undo it where it can be undone',
      parameters: [taskId],
      body: json({ type: 'object', properties: { reason: { type: 'string' } } }),
      answers: { 200: answered('The task as it is then', ref('Task')) },
      errors: ['NOT_FOUND', 'CONFLICT', ...COMMON],
    }),
  },
  '/v1/tasks/{task_id}/input': {
    post: operation({
      id: 'answerTask',
      tag: 'tasks',
      summary: 'Give a task what it waits for',
      parameters: [taskId],
      body: json({ type: 'object', required: ['input'], properties: { input: {} } }),
      answers: { 200: answered('The task as it is then', ref('Task')) },
      errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', ...COMMON],
    }),
  },
  '/evidence/{job_id}': {
    get: operation({
      id: 'getEvidence',
      tag: 'tasks',
      summary: 'What verifiers found about a job',
      parameters: [pathParameter('job_id', 'A task or a process')],
      answers: {
        200: answered('Records, oldest first', {
          type: 'object',
          required: ['job_id', 'records'],
          properties: {
            job_id: { type: 'string' },
            records: { type: 'array', items: ref('Evidence') },
          },
        }),
      },
      errors: ['NOT_FOUND', ...COMMON],
    }),
  },
});

const ArtifactRef: Schema = {
  type: 'object',
  title: 'ArtifactRef',
  required: ['artifact_uri', 'artifact_hash', 'content_type'],
  properties: {
    artifact_uri: { type: 'string', description: 'signed, GET only, for 15 minutes at most' },
    artifact_hash: { type: 'string', description: 'SHA-256, hex' },
    content_type: { type: 'string' },
  },
};

const BINARY = {
  '*/*': { schema: { type: 'string', contentMediaType: 'application/octet-stream' } },
};

const artifactPaths = (): Schema => ({
  '/v1/artifacts': {
    post: operation({
      id: 'putArtifact',
      tag: 'artifacts',
      summary: 'Store a file',
      parameters: [
        {
          name: 'X-Artifact-SHA256',
          in: 'header',
          description: 'What the contents must be, hex',
          schema: { type: 'string' },
        },
      ],
      body: BINARY,
      answers: { 201: answered('Stored', ref('ArtifactRef')) },
      errors: ['INVALID_ARGUMENT', 'PAYLOAD_TOO_LARGE', ...COMMON],
    }),
  },
  '/v1/artifacts/{hash}/sign': {
    post: operation({
      id: 'signArtifact',
      tag: 'artifacts',
      summary: 'A fresh URL of a stored file',
      parameters: [pathParameter('hash', 'SHA-256, hex')],
      answers: { 200: answered('Signed', ref('ArtifactRef')) },
      errors: ['NOT_FOUND', ...COMMON],
    }),
  },
  '/v1/artifacts/{tenant}/{hash}': {
    get: operation({
      id: 'getArtifact',
      tag: 'artifacts',
      summary: 'Read a file by its signed URL',
      open: true,
      parameters: [
        pathParameter('tenant', 'Whose it is'),
        pathParameter('hash', 'SHA-256, hex'),
        ...['exp', 'sig'].map((name) => ({
          name,
          in: 'query',
          required: true,
          description: 'Of the signed URL',
          schema: { type: 'string' },
        })),
      ],
      answers: { 200: { description: 'The contents', content: BINARY } },
      errors: ['FORBIDDEN', 'NOT_FOUND', 'EXPIRED'],
    }),
  },
});

const DOCUMENT: Schema = {
  type: 'object',
  properties: { actions: { type: 'array', items: ref('ActionSpec') } },
};

const document = (id: string, summary: string): Schema => ({
  get: operation({
    id,
    tag: 'discovery',
    summary,
    answers: { 200: answered('The document', DOCUMENT) },
    errors: COMMON,
  }),
});

const discoveryPaths = (): Schema => ({
  '/mcp/capabilities': document('getCapabilities', 'Agents and actions on offer'),
  '/acp/capabilities': document(
    'getAcpCapabilities',
    'The same for the Agent Communication Protocol, which merged into A2A',
  ),
  '/v1/functions': document('getFunctions', 'Actions as OpenAI function definitions'),
});

// ---- components

/** Payload of each action and schema version, as `agent_data.update_document.1.0`. */
const payloadTable = (specs: readonly ActionSpec[]): Schema =>
  Object.fromEntries(
    specs.flatMap(({ action, action_version, schemas }) =>
      Object.entries(schemas).map(([schemaVersion, schema]) => {
        const { $id: _, ...rest } = schema as Schema;
        return [`${action}.v${action_version.split('.', 1)[0]}.${schemaVersion}`, rest];
      }),
    ),
  );

/** Of tasks that ended so; no answer has them as its status. */
const NEVER_A_STATUS: ReadonlySet<string> = new Set(['CANCELLED', 'DEADLINE_EXCEEDED']);

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
