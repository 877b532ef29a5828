/** The errors with which providers and servers of open models report that a request is too long. */
import { expect, it } from 'vitest';
import { failureOf, ReportedError } from '../../../agent/models/failure.ts';

const about = { provider: 'p', keyPath: 'models.providers.p', secrets: [], wallMs: () => 0 };
const refused = (message: string, type = 'invalid_request_error') =>
  failureOf(Object.assign(new Error(message), { status: 400, error: { type, message } }), about);

it.each([
  'prompt is too long: 215301 tokens > 200000 maximum',
  'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000',
  'Your input exceeds the context window of this model. Please adjust your input and try again.',
  "This model's maximum context length is 8192 tokens. However, you requested 9001 tokens.",
  'The input token count (1200345) exceeds the maximum number of tokens allowed (1048576).',
  "This model's maximum prompt length is 131072 but the request contains 140001 tokens.",
  'the request exceeds the available context size, try increasing it',
  'Input is too long for requested model.',
])('recognizes a request that is too long by: %s', (message) => {
  const error = refused(message);
  expect(error.code).toBe('INVALID_ARGUMENT');
  expect(error.details).toMatchObject({ reason: 'context_length' });
  expect(failureOf(new ReportedError('error', message), about)).toMatchObject({
    code: 'INVALID_ARGUMENT',
    details: { reason: 'context_length' },
  });
});

it.each([
  'max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens',
  'The model `gpt-9` does not exist',
  'thinking.budget_tokens: out of range',
])('does not shorten a conversation for: %s', (message) => {
  expect(refused(message).details).not.toHaveProperty('reason');
});
