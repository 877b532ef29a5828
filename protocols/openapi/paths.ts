/** The paths for programs: tasks, files, and what is on offer. */
import type { ActionSpec } from '../action.ts';
import type { Schema } from './documents.ts';
import {
  answered,
  COMMON,
  json,
  listOf,
  object,
  operation,
  pathParameter,
  queryParameter,
  ref,
  text,
} from './operation.ts';
import { payloadTable } from './payloads.ts';

const taskId = pathParameter('task_id', 'Id of the task, from the response to its envelope');

const RATE = {
  'X-RateLimit-Limit': { description: 'Envelopes per minute', schema: { type: 'integer' } },
  'X-RateLimit-Remaining': {
    description: 'Envelopes that may be sent now',
    schema: { type: 'integer' },
  },
};

const TASK_THEN = {
  200: answered('The task has ended', ref('Task')),
  202: answered('The task has not ended yet', ref('Task')),
};

/** An envelope, with the payload schemas of this installation; external agents have their own. */
const envelopeOf = (specs: readonly ActionSpec[]): Schema => ({
  allOf: [
    ref('Envelope'),
    {
      type: 'object',
      properties: {
        payload: {
          anyOf: [
            ...Object.keys(payloadTable(specs)).map(ref),
            { type: 'object', description: 'Of an external agent, or sealed: schema_version, jwe' },
          ],
        },
      },
    },
  ],
});

export const taskPaths = (specs: readonly ActionSpec[]): Schema => ({
  ...envelopePath(specs),
  ...lookPaths(),
  ...wordPaths(),
});

const envelopePath = (specs: readonly ActionSpec[]): Schema => ({
  '/v1/envelopes': {
    post: operation({
      id: 'submitEnvelope',
      tag: 'tasks',
      summary: 'Send an envelope',
      parameters: [
        {
          name: 'Prefer',
          in: 'header',
          description: '`respond-async`: respond as soon as the task is accepted',
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
        202: answered('The task is accepted and has not ended yet', ref('Task'), RATE),
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
});

/** Reading a task and its evidence. */
const lookPaths = (): Schema => ({
  '/v1/tasks/{task_id}': {
    get: operation({
      id: 'getTask',
      tag: 'tasks',
      summary: 'Read a task',
      parameters: [taskId],
      answers: { 200: answered('The current state of the task', ref('Task')) },
      errors: ['NOT_FOUND', ...COMMON],
    }),
  },
  '/v1/tasks/{task_id}/events': {
    get: operation({
      id: 'followTask',
      tag: 'tasks',
      summary: 'Stream the events of a task',
      parameters: [
        taskId,
        {
          name: 'Last-Event-ID',
          in: 'header',
          description: 'Number of the last event received',
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
  '/evidence/{job_id}': {
    get: operation({
      id: 'getEvidence',
      tag: 'tasks',
      summary: 'Evidence about a job',
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

/** What may be said to a task. */
const wordPaths = (): Schema => ({
  '/v1/tasks/{task_id}/cancel': {
    post: operation({
      id: 'cancelTask',
      tag: 'tasks',
      summary: 'Cancel a task, and compensate it if possible',
      parameters: [taskId],
      body: json(object({ reason: text() }, [])),
      answers: TASK_THEN,
      errors: ['NOT_FOUND', 'CONFLICT', ...COMMON],
    }),
  },
  '/v1/tasks/{task_id}/input': {
    post: operation({
      id: 'answerTask',
      tag: 'tasks',
      summary: 'Send the input that a task waits for',
      parameters: [taskId],
      body: json(object({ input: {} })),
      answers: TASK_THEN,
      errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', ...COMMON],
    }),
  },
});

export const ArtifactRef: Schema = {
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

export const artifactPaths = (): Schema => ({
  '/v1/artifacts': {
    post: operation({
      id: 'putArtifact',
      tag: 'artifacts',
      summary: 'Store a file',
      parameters: [
        {
          name: 'X-Artifact-SHA256',
          in: 'header',
          description: 'Expected SHA-256 of the contents, hex',
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
      summary: 'Get a new URL of a stored file',
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
        pathParameter('tenant', 'Tenant of the file'),
        pathParameter('hash', 'SHA-256, hex'),
        ...['exp', 'sig'].map((name) => queryParameter(name, 'Of the signed URL', true)),
      ],
      answers: { 200: { description: 'The contents', content: BINARY } },
      errors: ['FORBIDDEN', 'NOT_FOUND', 'EXPIRED'],
    }),
  },
});

const capabilities = (id: string, summary: string): Schema => ({
  get: operation({
    id,
    tag: 'discovery',
    summary,
    answers: {
      200: answered(
        'Of the caller’s tenant',
        object(
          {
            envelope_versions: listOf(text()),
            transports: listOf(text()),
            agents: listOf({ type: 'object' }),
            actions: listOf({ type: 'object', description: 'schemas are URLs' }),
          },
          ['actions', 'agents'],
        ),
      ),
    },
    errors: COMMON,
  }),
});

/** A public document. With a token it also contains what only the token's tenant may see. */
const ownDocument = (id: string, summary: string): Schema => ({
  get: operation({
    id,
    tag: 'discovery',
    summary,
    description:
      'Needs no token. With a token, it lists what is offered to the tenant of the token.',
    open: true,
    answers: { 200: answered('The document', { type: 'object' }) },
    errors: ['UNAUTHORIZED', 'INTERNAL'],
  }),
});

export const discoveryPaths = (): Schema => ({
  '/mcp/capabilities': capabilities('getCapabilities', 'Offered agents and actions'),
  '/acp/capabilities': capabilities(
    'getAcpCapabilities',
    'The same for the Agent Communication Protocol, which merged into A2A',
  ),
  '/v1/agents': {
    get: operation({
      id: 'listAgents',
      tag: 'discovery',
      summary: 'The registered agents: their status and actions',
      answers: {
        200: answered('By id', object({ agents: listOf({ type: 'object' }) })),
      },
      errors: COMMON,
    }),
  },
  '/v1/events': {
    get: operation({
      id: 'followAnnouncements',
      tag: 'discovery',
      summary: 'Announced removals of action versions: those in effect, then each new one',
      answers: {
        200: {
          description: 'Server-sent events without an end; `data` is a Deprecation',
          content: { 'text/event-stream': { schema: ref('Deprecation') } },
        },
      },
      errors: COMMON,
    }),
  },
  '/v1/schemas/{domain}/{name}/{version}.json': {
    get: operation({
      id: 'getSchema',
      tag: 'discovery',
      summary: 'JSON Schema of a payload',
      parameters: [
        pathParameter('domain', 'Of the action'),
        pathParameter('name', 'The action without its domain: verb_object'),
        pathParameter('version', 'schema_version'),
        queryParameter('major', 'MAJOR version of the action; default the newest'),
      ],
      answers: {
        200: {
          description: 'The schema',
          content: { 'application/schema+json': { schema: { type: 'object' } } },
        },
      },
      errors: ['NOT_FOUND', ...COMMON],
    }),
  },
  '/openapi.json': ownDocument('getOpenApi', 'This document'),
  '/asyncapi.json': ownDocument('getAsyncApi', 'The same requests over NATS'),
  ...functionPaths(),
});

const functionPaths = (): Schema => ({
  '/v1/functions': {
    get: operation({
      id: 'getFunctions',
      tag: 'discovery',
      summary: 'Actions as OpenAI function definitions',
      answers: {
        200: answered('For the `tools` of a model', object({ tools: listOf({ type: 'object' }) })),
      },
      errors: COMMON,
    }),
  },
  '/v1/function-calls': {
    post: operation({
      id: 'callFunctions',
      tag: 'tasks',
      summary: 'Execute the function calls of a model: each call becomes an envelope',
      description: 'Not available with A2A-External, because these envelopes have no signature.',
      body: json(
        object(
          {
            call: { type: 'object', description: 'One entry of `tool_calls`' },
            tool_calls: listOf({ type: 'object' }),
            head: {
              type: 'object',
              description: 'The fields of the envelopes except action and payload',
            },
          },
          ['head'],
        ),
      ),
      answers: {
        200: answered(
          'One message per call, for the model',
          object({
            messages: listOf(object({ role: text(), tool_call_id: text(), content: text() })),
          }),
        ),
      },
      errors: ['INVALID_ARGUMENT', 'PAYLOAD_TOO_LARGE', ...COMMON],
    }),
  },
});
