/** The paths for operators: people who look after a cell, and their tools. */
import type { Schema } from './documents.ts';
import { answered, job, listOf, object, operation, row, text } from './operation.ts';

/** Nothing else is refused to everybody. */
const NO_HTTP = { '4XX': { description: 'The request is not valid HTTP' } };
export const operatorPaths = (): Schema => ({
  ...jwksPaths(),
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
