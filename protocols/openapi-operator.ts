/** The paths for operators: people who look after a cell, and their tools. */
import type { Schema } from './documents.ts';
import {
  answered,
  job,
  listOf,
  object,
  operation,
  pathParameter,
  queryParameter,
  row,
  tenant,
  text,
} from './openapi-operation.ts';

/** Nothing else is refused to everybody. */
const NO_HTTP = { '4XX': { description: 'The request is not HTTP as it should be' } };
export const operatorPaths = (): Schema => ({
  ...jwksPaths(),
  '/v1/runs/{run_id}/trace': {
    get: job({
      id: 'getRunTrace',
      summary: 'What a run led to, across sessions, agents and workers',
      parameters: [
        pathParameter('run_id', 'The run'),
        queryParameter('depth', 'Follow so many messages and spawns: 0 to 8; default 8'),
        tenant,
      ],
      answers: { 200: answered('Participants, and steps in the order of their times', row) },
      errors: ['INVALID_ARGUMENT', 'NOT_FOUND'],
    }),
  },
  '/metrics': {
    get: job({
      id: 'getMetrics',
      summary: 'What this process counts, for Prometheus',
      answers: {
        200: { description: 'Text format', content: { 'text/plain': { schema: text() } } },
      },
    }),
  },
  ...healthPaths(),
});

const jwksPaths = (): Schema => ({
  '/.well-known/jwks.json': {
    get: operation({
      id: 'getJwks',
      tag: 'discovery',
      summary: 'Public keys of this installation',
      description: '`use`: `sig` for those of its tokens, `enc` for the one to seal payloads to.',
      open: true,
      answers: {
        200: answered('A set of keys (RFC 7517)', object({ keys: listOf(row) })),
        ...NO_HTTP,
      },
      errors: ['INTERNAL'],
    }),
  },
});

/** For whoever keeps the process running. */
const healthPaths = (): Schema => ({
  '/healthz': {
    get: operation({
      id: 'getHealth',
      tag: 'operators',
      summary: 'Whether the process lives',
      open: true,
      answers: { 200: answered('It does', row), ...NO_HTTP },
      errors: ['INTERNAL'],
    }),
  },
  '/readyz': {
    get: operation({
      id: 'getReadiness',
      tag: 'operators',
      summary: 'Whether the gateway can take what comes',
      open: true,
      answers: {
        200: answered('It can', object({ ready: { type: 'boolean' } })),
        503: answered('Not yet: why', object({ ready: { type: 'boolean' } })),
        ...NO_HTTP,
      },
      errors: ['INTERNAL'],
    }),
  },
});
