/** Errors: one table of codes for every binding, and the nine errors of the protocol itself. */
import {
  ContentTypeNotSupportedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
  VersionNotSupportedError,
} from '@a2a-js/sdk/errors';
import { expect, test } from 'vitest';
import {
  jsonRpcError,
  jsonRpcStatus,
  refusalOf,
  restError,
} from '../../../channels/agent2agent/errors.ts';
import { type ErrorCode, ERRORS, GRPC_CODES, TroupeError } from '../../../protocols/errors.ts';

test.each(Object.keys(ERRORS) as ErrorCode[])('%s is sent as the table has it', (code) => {
  const { http, a2a } = ERRORS[code];
  const details = { errors: [{ path: '/payload/text', message: 'must be a text' }], limit: 5 };
  const refusal = refusalOf(new TroupeError(code, 'why', { details, retryAfterMs: 1_001 }));
  expect(restError(refusal)).toEqual({
    error: {
      code: http,
      status: GRPC_CODES[code],
      message: 'why',
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: code,
          domain: 'troupe',
          metadata: { limit: '5' },
        },
        {
          '@type': 'type.googleapis.com/google.rpc.BadRequest',
          fieldViolations: [{ field: '/payload/text', description: 'must be a text' }],
        },
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '2s' },
      ],
    },
  });
  const { error } = jsonRpcError(1, refusal);
  expect([error.code, error.message]).toEqual([a2a, 'why']);
  expect([200, http]).toContain(jsonRpcStatus(refusal));
});

test('what is thrown by accident shows nothing', () => {
  const refusal = refusalOf(new Error('a secret of the program'));
  expect(refusal).toMatchObject({ http: 500, grpc: 'INTERNAL', jsonRpc: -32_603 });
  expect(JSON.stringify(refusal)).not.toContain('secret');
});

test.each([
  [TaskNotFoundError, -32_001, 404, 'NOT_FOUND', 'TASK_NOT_FOUND'],
  [TaskNotCancelableError, -32_002, 400, 'FAILED_PRECONDITION', 'TASK_NOT_CANCELABLE'],
  [UnsupportedOperationError, -32_004, 400, 'FAILED_PRECONDITION', 'UNSUPPORTED_OPERATION'],
  [ContentTypeNotSupportedError, -32_005, 400, 'INVALID_ARGUMENT', 'CONTENT_TYPE_NOT_SUPPORTED'],
  [VersionNotSupportedError, -32_009, 400, 'FAILED_PRECONDITION', 'VERSION_NOT_SUPPORTED'],
] as const)(
  'an error of the protocol is sent as the specification has it: %#',
  (ProtocolError, jsonRpc, http, grpc, reason) => {
    const refusal = refusalOf(new ProtocolError());
    expect(refusal).toMatchObject({ jsonRpc, http, grpc });
    expect(refusal.details).toMatchObject([{ reason, domain: 'a2a-protocol.org' }]);
    expect(jsonRpcStatus(refusal)).toBe(200);
  },
);
