/**
 * The error taxonomy: twelve codes, a table that maps each to every supported protocol, and the two
 * forms of an error: `TroupeError` within a process, `ErrorData` (JSON) everywhere else.
 *
 * Boundary: this file is independent of transports; entry points read the table. Stack traces never
 * leave the process.
 */
import { defined } from './defined.ts';

/**
 * One row per code:
 * - `http`: status; EXPIRED is 410 and not 408, because some clients repeat a 408 automatically
 * - `jsonRpc`: JSON-RPC error code; the two applicable codes of JSON-RPC 2.0, else the HTTP status,
 *   because MCP reserves -32768..-32000 for codes that specifications define
 * - `gateway`: code of an OpenClaw protocol v4 error; the troupe code is in `details.reason`
 * - `a2a`: JSON-RPC code of A2A 1.0 for a refusal before a task exists; the troupe code is the
 *   ErrorInfo reason
 * - `mcp`: JSON-RPC code for a protocol error; a tool call has `isError: true` and the troupe code
 * - `retriable`: the same request with the same idempotency key may succeed later
 */
export const ERRORS = {
  INVALID_ARGUMENT: {
    http: 400,
    jsonRpc: -32602,
    gateway: 'INVALID_REQUEST',
    a2a: -32602,
    mcp: -32602,
    retriable: false,
  },
  UNAUTHORIZED: {
    http: 401,
    jsonRpc: 401,
    gateway: 'INVALID_REQUEST',
    a2a: -32603,
    mcp: -32603,
    retriable: false,
  },
  FORBIDDEN: {
    http: 403,
    jsonRpc: 403,
    gateway: 'FORBIDDEN',
    a2a: -32603,
    mcp: -32603,
    retriable: false,
  },
  NOT_FOUND: {
    http: 404,
    jsonRpc: 404,
    gateway: 'INVALID_REQUEST',
    a2a: -32001,
    mcp: -32602,
    retriable: false,
  },
  CONFLICT: {
    http: 409,
    jsonRpc: 409,
    gateway: 'INVALID_REQUEST',
    a2a: -32602,
    mcp: -32602,
    retriable: false,
  },
  EXPIRED: {
    http: 410,
    jsonRpc: 410,
    gateway: 'INVALID_REQUEST',
    a2a: -32602,
    mcp: -32602,
    retriable: false,
  },
  PAYLOAD_TOO_LARGE: {
    http: 413,
    jsonRpc: 413,
    gateway: 'INVALID_REQUEST',
    a2a: -32602,
    mcp: -32602,
    retriable: false,
  },
  RATE_LIMIT_EXCEEDED: {
    http: 429,
    jsonRpc: 429,
    gateway: 'UNAVAILABLE',
    a2a: -32603,
    mcp: -32603,
    retriable: true,
  },
  CANCELLED: {
    http: 499,
    jsonRpc: 499,
    gateway: 'UNAVAILABLE',
    a2a: -32603,
    mcp: -32603,
    retriable: false,
  },
  INTERNAL: {
    http: 500,
    jsonRpc: -32603,
    gateway: 'UNAVAILABLE',
    a2a: -32603,
    mcp: -32603,
    retriable: false,
  },
  UNAVAILABLE: {
    http: 503,
    jsonRpc: 503,
    gateway: 'UNAVAILABLE',
    a2a: -32603,
    mcp: -32603,
    retriable: true,
  },
  DEADLINE_EXCEEDED: {
    http: 504,
    jsonRpc: 504,
    gateway: 'UNAVAILABLE',
    a2a: -32603,
    mcp: -32603,
    retriable: true,
  },
} as const satisfies Record<string, ErrorMapping>;

/**
 * Name of the google.rpc.Code, as error bodies of A2A over HTTP have it (AIP-193). Apart from the
 * table, because the page has that.
 */
export const GRPC_CODES: Readonly<Record<keyof typeof ERRORS, string>> = {
  INVALID_ARGUMENT: 'INVALID_ARGUMENT',
  UNAUTHORIZED: 'UNAUTHENTICATED',
  FORBIDDEN: 'PERMISSION_DENIED',
  NOT_FOUND: 'NOT_FOUND',
  CONFLICT: 'ABORTED',
  EXPIRED: 'FAILED_PRECONDITION',
  PAYLOAD_TOO_LARGE: 'INVALID_ARGUMENT',
  RATE_LIMIT_EXCEEDED: 'RESOURCE_EXHAUSTED',
  CANCELLED: 'CANCELLED',
  INTERNAL: 'INTERNAL',
  UNAVAILABLE: 'UNAVAILABLE',
  DEADLINE_EXCEEDED: 'DEADLINE_EXCEEDED',
};

export type ErrorMapping = {
  readonly http: number;
  readonly jsonRpc: number;
  readonly gateway: 'INVALID_REQUEST' | 'FORBIDDEN' | 'UNAVAILABLE';
  readonly a2a: number;
  readonly mcp: number;
  readonly retriable: boolean;
};

export type ErrorCode = keyof typeof ERRORS;

/** The stored and transmitted form of an error: JSON values only, no stack. */
export type ErrorData = {
  readonly code: ErrorCode;
  /** what happened, where, and what to do */
  readonly message: string;
  /** JSON values */
  readonly details?: Record<string, unknown>;
  /** minimum delay before a retry */
  readonly retryAfterMs?: number;
};

/** Maximum length of a third-party error message; longer ones are truncated. */
export const FOREIGN_MESSAGE_CHARACTERS_MAX = 4096;

export type TroupeErrorOptions = {
  readonly details?: Record<string, unknown>;
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
};

/**
 * An operating failure with a code of the taxonomy. `cause` stays in the process: `toData` omits
 * it.
 *
 * @example
 * ```ts
 * import { TroupeError } from 'troupe';
 *
 * const error = new TroupeError('UNAVAILABLE', 'the bank is closed', { retryAfterMs: 60_000 });
 * assert.equal(error.toData().retryAfterMs, 60_000);
 * ```
 */
export class TroupeError extends Error {
  override readonly name = 'TroupeError';
  readonly code: ErrorCode;
  readonly details: Record<string, unknown> | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, options: TroupeErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details;
    this.retryAfterMs = options.retryAfterMs;
  }

  /** Converts a stored or received error to the class. */
  static from(data: ErrorData): TroupeError {
    return new TroupeError(data.code, data.message, data);
  }

  toData(): ErrorData {
    return dataOf(this);
  }
}

export const isErrorCode = (value: unknown): value is ErrorCode =>
  typeof value === 'string' && Object.hasOwn(ERRORS, value);

/**
 * True for a plain object in the shape of ErrorData; extra fields are allowed. False for an Error.
 */
export const isErrorData = (value: unknown): value is ErrorData =>
  typeof value === 'object' &&
  value !== null &&
  !(value instanceof Error) &&
  isErrorCode((value as ErrorData).code) &&
  typeof (value as ErrorData).message === 'string';

/**
 * Converts anything thrown to ErrorData. A TroupeError or ErrorData keeps its code and the other
 * three known fields; anything else becomes INTERNAL with its message. Never throws.
 *
 * @example
 * ```ts
 * import { errorData } from 'troupe';
 *
 * assert.deepEqual(errorData(new Error('no paper')), { code: 'INTERNAL', message: 'no paper' });
 * ```
 */
export const errorData = (thrown: unknown): ErrorData => {
  if (thrown instanceof TroupeError || isErrorData(thrown)) return dataOf(thrown);
  return {
    code: 'INTERNAL',
    message: foreignMessage(thrown).slice(0, FOREIGN_MESSAGE_CHARACTERS_MAX),
  };
};

const dataOf = (error: TroupeError | ErrorData): ErrorData => ({
  code: error.code,
  message: error.message,
  ...defined({ details: error.details, retryAfterMs: error.retryAfterMs }),
});

const foreignMessage = (thrown: unknown): string => {
  if (thrown instanceof Error) return thrown.message || thrown.name;
  if (typeof thrown === 'string' && thrown !== '') return thrown;
  return `a value that is not an Error was thrown (${thrown === null ? 'null' : typeof thrown})`;
};

/** The same request would fail the same way: never tried again. */
const FINAL: ReadonlySet<ErrorCode> = new Set([
  'INVALID_ARGUMENT',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'NOT_FOUND',
  'CONFLICT',
  'EXPIRED',
  'PAYLOAD_TOO_LARGE',
  'CANCELLED',
]);

export const isFinalCode = (code: ErrorCode): boolean => FINAL.has(code);
