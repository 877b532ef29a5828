/** The paths for operators: people who look after a cell, and their tools. */
import type { Schema } from './documents.ts';
import { agentPaths } from './openapi-agents.ts';
import {
  answered,
  job,
  json,
  listOf,
  object,
  operation,
  pathParameter,
  queryParameter,
  ref,
  row,
  tenant,
  text,
} from './openapi-operation.ts';

/** Nothing else is refused to everybody. */
const NO_HTTP = { '4XX': { description: 'The request is not HTTP as it should be' } };
const why = object({ why: text('kept as a record'), who: text('beside the token’s name') }, [
  'why',
]);

export const operatorPaths = (): Schema => ({
  ...keyPaths(),
  ...deadLetterPaths(),
  ...decisionPaths(),
  ...agentPaths(),
  '/v1/usage': {
    get: job({
      id: 'getUsage',
      summary: 'Tokens and money: the day of all agents, or an agent’s sessions',
      parameters: [
        queryParameter('agent', 'One, with its sessions'),
        queryParameter('session', 'One, with its agent'),
        tenant,
      ],
      answers: { 200: answered('The report', row) },
      errors: ['INVALID_ARGUMENT', 'NOT_FOUND'],
    }),
  },
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
  '/v1/slo': {
    get: job({
      id: 'getSlo',
      summary: 'Whether the cell keeps what it promises',
      parameters: [queryParameter('hours', '1 to 24; default 24'), tenant],
      answers: { 200: answered('The report', row) },
      errors: ['INVALID_ARGUMENT'],
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

const publicKey = object(
  {
    tenant: text(),
    sub: text('whose it is'),
    public_jwk: { type: 'object', description: 'Ed25519: kty, crv, x' },
  },
  ['sub', 'public_jwk'],
);

const keyPaths = (): Schema => ({
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
  '/v1/keys': {
    get: job({
      id: 'listKeys',
      summary: 'Public keys of programs outside',
      parameters: [tenant],
      answers: { 200: answered('The keys', object({ keys: listOf(row) })) },
      errors: ['INVALID_ARGUMENT'],
    }),
    post: job({
      id: 'addKey',
      summary: 'Register a public key',
      body: json(publicKey),
      answers: { 201: answered('Registered', row) },
      errors: ['INVALID_ARGUMENT', 'CONFLICT'],
    }),
  },
  '/v1/keys/rotate': {
    post: job({
      id: 'rotateKey',
      summary: 'Register a public key in the place of those that its `sub` has',
      body: json({
        allOf: [publicKey, object({ overlap_sec: { type: 'integer' } }, [])],
      }),
      answers: { 201: answered('Registered; the old ones stay good for the overlap', row) },
      errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT'],
    }),
  },
  '/v1/keys/{kid}': {
    delete: job({
      id: 'revokeKey',
      summary: 'End a key at once and for good',
      parameters: [pathParameter('kid', 'The key’s name'), tenant],
      answers: { 200: answered('The key as it is then', row) },
      errors: ['NOT_FOUND'],
    }),
  },
});

const letter = [
  pathParameter('domain', 'Of the letter'),
  pathParameter('position', 'Of the letter in its domain'),
];

const deadLetterPaths = (): Schema => ({
  '/v1/dead-letters': {
    get: job({
      id: 'listDeadLetters',
      summary: 'Messages that could not be applied or got done',
      parameters: [
        queryParameter('domain', 'Of one domain only'),
        queryParameter('from', 'The first position'),
        queryParameter('limit', 'At most so many: 1 to 1000'),
      ],
      answers: {
        200: answered('A page', object({ dead_letters: listOf(row), domains: listOf(row) }, [])),
      },
      errors: ['INVALID_ARGUMENT'],
    }),
  },
  '/v1/dead-letters/{domain}/{position}': {
    get: job({
      id: 'getDeadLetter',
      summary: 'One dead letter, its message, and what was done about it',
      parameters: letter,
      answers: { 200: answered('The letter', row) },
      errors: ['INVALID_ARGUMENT', 'NOT_FOUND'],
    }),
  },
  '/v1/dead-letters/{domain}/{position}/redrive': {
    post: job({
      id: 'redriveDeadLetter',
      summary: 'Send its message again, as new',
      parameters: letter,
      body: json(why),
      answers: {
        200: answered(
          'The new message, or when and by whom it was sent again before',
          object({ message_id: text(), already: object({ at: text(), who: text() }) }, []),
        ),
      },
      errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT'],
    }),
  },
  '/v1/dead-letters/{domain}/{position}/drop': {
    post: job({
      id: 'dropDeadLetter',
      summary: 'Set it aside',
      parameters: letter,
      body: json(why),
      answers: { 200: answered('Done', row) },
      errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT'],
    }),
  },
});

const decisionPaths = (): Schema => ({
  '/v1/approvals': {
    get: job({
      id: 'listApprovals',
      summary: 'What waits for a person’s yes or no',
      parameters: [
        queryParameter('state', 'asked (default), allowed, denied, expired or all'),
        tenant,
      ],
      answers: { 200: answered('The longest waiting first', object({ approvals: listOf(row) })) },
      errors: ['INVALID_ARGUMENT'],
    }),
  },
  '/v1/approvals/{id}': {
    post: job({
      id: 'answerApproval',
      summary: 'Answer; the first answer counts',
      parameters: [pathParameter('id', 'The approval'), tenant],
      body: json(object({ decision: text('one of its options'), why: text() }, ['decision'])),
      answers: { 200: answered('The approval as it is then', row) },
      errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
    }),
  },
  '/v1/decisions': {
    get: job({
      id: 'listDecisions',
      summary: 'Tasks that go on only by a person’s word',
      parameters: [tenant],
      answers: {
        200: answered('The longest waiting first', object({ tasks: listOf(ref('Task')) })),
      },
      errors: ['INVALID_ARGUMENT'],
    }),
  },
  '/v1/decisions/{task_id}': {
    post: job({
      id: 'decideTask',
      summary: 'Say what became of lost work, or what to do about a failed compensation',
      parameters: [pathParameter('task_id', 'The task'), tenant],
      body: json(
        object(
          {
            decision: { type: 'string', enum: ['again', 'done', 'failed', 'accept'] },
            why: text(),
            result: { description: 'Of the work, with `done`' },
          },
          ['decision', 'why'],
        ),
      ),
      answers: {
        200: answered('The task has ended', ref('Task')),
        202: answered('The task goes on', ref('Task')),
      },
      errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
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
