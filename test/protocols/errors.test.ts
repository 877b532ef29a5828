import { describe, expect, it } from 'vitest';
import {
  ERRORS,
  type ErrorCode,
  errorData,
  FOREIGN_MESSAGE_CHARACTERS_MAX,
  isErrorCode,
  isErrorData,
  TroupeError,
} from '../../protocols/errors.ts';

describe('the table of errors', () => {
  it('has the twelve codes of the taxonomy with their HTTP status', () => {
    const statuses = Object.fromEntries(
      Object.entries(ERRORS).map(([code, row]) => [code, row.http]),
    );
    expect(statuses).toEqual({
      INVALID_ARGUMENT: 400,
      UNAUTHORIZED: 401,
      FORBIDDEN: 403,
      NOT_FOUND: 404,
      CONFLICT: 409,
      EXPIRED: 410,
      PAYLOAD_TOO_LARGE: 413,
      RATE_LIMIT_EXCEEDED: 429,
      CANCELLED: 499,
      INTERNAL: 500,
      UNAVAILABLE: 503,
      DEADLINE_EXCEEDED: 504,
    });
  });

  it('assigns each code a unique JSON-RPC code, none in the range that MCP reserves', () => {
    const codes = Object.values(ERRORS).map((row) => row.jsonRpc as number);
    expect(new Set(codes).size).toBe(codes.length);
    const standard = new Set([-32602, -32603]);
    expect(
      codes.filter((code) => code < -32_000 && code >= -32_768 && !standard.has(code)),
    ).toEqual([]);
  });

  it('marks only temporary errors as retriable', () => {
    const retriable = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => ERRORS[code].retriable);
    expect(retriable).toEqual(['RATE_LIMIT_EXCEEDED', 'UNAVAILABLE', 'DEADLINE_EXCEEDED']);
  });

  it('distinguishes its codes from the properties of every object', () => {
    expect(isErrorCode('NOT_FOUND')).toBe(true);
    expect(isErrorCode('toString')).toBe(false);
    expect(isErrorCode('ENOENT')).toBe(false);
  });
});

describe('an error as data', () => {
  it('keeps code, message, details and retry delay of a TroupeError, and neither stack nor cause', () => {
    const error = new TroupeError('RATE_LIMIT_EXCEEDED', 'too many runs', {
      details: { limit: 8 },
      retryAfterMs: 1500,
      cause: new Error('secret'),
    });
    const data = {
      code: 'RATE_LIMIT_EXCEEDED',
      message: 'too many runs',
      details: { limit: 8 },
      retryAfterMs: 1500,
    };
    expect(error.toData()).toEqual(data);
    expect(errorData(error)).toEqual(data);
    expect(JSON.stringify(error.toData())).not.toContain('secret');
    expect(error.cause).toBeInstanceOf(Error);
  });

  it('is equal after a conversion to the class and back', () => {
    const data = { code: 'CONFLICT', message: 'seq is behind', details: { last_seq: 4 } } as const;
    expect(TroupeError.from(data).toData()).toEqual(data);
    expect(TroupeError.from(data)).toBeInstanceOf(Error);
  });

  it('is unchanged, except that unknown fields are removed', () => {
    const data = { code: 'EXPIRED', message: 'late' } as const;
    expect(errorData({ ...data, stack: 'at line 1', password: 'x' })).toEqual(data);
  });

  it('omits the keys of absent fields', () => {
    expect(Object.keys(new TroupeError('INTERNAL', 'x').toData())).toEqual(['code', 'message']);
  });

  it.each([
    [new RangeError('index 7 is out of range'), 'index 7 is out of range'],
    [new TypeError(), 'TypeError'],
    [Object.assign(new Error('no such file'), { code: 'ENOENT' }), 'no such file'],
    ['plain text', 'plain text'],
    [undefined, 'a value that is not an Error was thrown (undefined)'],
    [null, 'a value that is not an Error was thrown (null)'],
    [{ code: 'NO_CODE_OF_OURS', message: 'm' }, 'a value that is not an Error was thrown (object)'],
  ])('of a foreign %o is INTERNAL with its message alone', (thrown, message) => {
    expect(errorData(thrown)).toEqual({ code: 'INTERNAL', message });
  });

  it('of a foreign Error is INTERNAL even when that carries one of our codes', () => {
    const foreign = Object.assign(new Error('from a library'), { code: 'NOT_FOUND' });
    expect(isErrorData(foreign)).toBe(false);
    expect(errorData(foreign).code).toBe('INTERNAL');
  });

  it('truncates a third-party message to its bound', () => {
    expect(errorData(new Error('x'.repeat(10_000))).message).toHaveLength(
      FOREIGN_MESSAGE_CHARACTERS_MAX,
    );
  });
});
