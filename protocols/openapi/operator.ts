/** The paths for operators: people who look after a cell, and their tools. */
import type { Schema } from './documents.ts';
import {
  answered,
  job,
  listOf,
  object,
  operation,
  pathParameter,
  row,
  tenant,
  text,
} from './operation.ts';

/** Operations without further checks refuse only requests that are not valid HTTP. */
const NO_HTTP = { '4XX': { description: 'The request is not valid HTTP' } };
export const operatorPaths = (): Schema => ({
  ...jwksPaths(),
  '/v1/actors/{actor}/turns': {
    get: job({
      id: 'followActor',
      summary: 'The turns of an actor from now on',
      parameters: [pathParameter('actor', 'Address: tenant/type/key'), tenant],
      answers: {
        200: {
          description: 'Server-sent events `turn` without an end; `data` is one committed turn',
          content: { 'text/event-stream': { schema: { type: 'object' } } },
        },
      },
      errors: ['INVALID_ARGUMENT', 'NOT_FOUND'],
    }),
  },
  '/metrics': {
    get: job({
      id: 'getMetrics',
      summary: 'Metrics of this process for Prometheus',
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
      description:
        '`use`: `sig` for keys that verify tokens, `enc` for the key to which payloads are sealed.',
      open: true,
      answers: {
        200: answered('A JWK set (RFC 7517)', object({ keys: listOf(row) })),
        ...NO_HTTP,
      },
      errors: ['INTERNAL'],
    }),
  },
});

/** Health checks for the service manager or load balancer. */
const healthPaths = (): Schema => ({
  '/healthz': {
    get: operation({
      id: 'getHealth',
      tag: 'operators',
      summary: 'Liveness of the process',
      open: true,
      answers: { 200: answered('The process is alive', row), ...NO_HTTP },
      errors: ['INTERNAL'],
    }),
  },
  '/readyz': {
    get: operation({
      id: 'getReadiness',
      tag: 'operators',
      summary: 'Readiness of the gateway',
      open: true,
      answers: {
        200: answered('Ready', object({ ready: { type: 'boolean' } })),
        503: answered('Not ready', object({ ready: { type: 'boolean' } })),
        ...NO_HTTP,
      },
      errors: ['INTERNAL'],
    }),
  },
});
