/**
 * Errors as the Agent2Agent protocol has them: its own nine by their class in the SDK, ours by the
 * table of codes in protocols/errors.ts, both over JSON-RPC and over HTTP (AIP-193). Pure.
 */
import {
  A2A_ERROR_CODE,
  A2AError,
  restStatusFor,
  toJsonRpcError,
  toRestErrorBody,
} from '@a2a-js/sdk/errors';
import { type ErrorData, ERRORS, GRPC_CODES, TroupeError } from '../../protocols/errors.ts';

/** One refusal, with what each binding needs of it. */
export type Refusal = {
  /** HTTP status over HTTP+JSON */
  readonly http: number;
  /** name of the google.rpc.Code */
  readonly grpc: string;
  /** JSON-RPC error code */
  readonly jsonRpc: number;
  readonly message: string;
  /** google.rpc details: ErrorInfo first */
  readonly details: readonly object[];
  /** of ours; absent for an error of the protocol */
  readonly data?: ErrorData;
};

/** Domain of the ErrorInfo of our codes; that of the protocol's own errors is a2a-protocol.org. */
export const ERROR_DOMAIN = 'troupe';

const TYPE = 'type.googleapis.com/google.rpc.';
/**
 * Statuses that a JSON-RPC answer has, too, because clients and proxies act on them; every other
 * error of JSON-RPC is an answer with status 200.
 */
const STATUS_OF_JSON_RPC: ReadonlySet<number> = new Set([401, 403, 413, 429, 499, 500, 503, 504]);

/** @param thrown an A2AError or TroupeError; anything else is INTERNAL without its message */
export function refusalOf(thrown: unknown): Refusal {
  if (thrown instanceof A2AError) return refusalOfProtocol(thrown);
  if (thrown instanceof TroupeError) return refusalOfData(thrown.toData());
  const message = 'an internal error occurred: see the log of this gateway';
  return refusalOfData({ code: 'INTERNAL', message });
}

function refusalOfProtocol(error: A2AError): Refusal {
  const { code, message } = toJsonRpcError(error);
  const http = restStatusFor(error);
  const { status, details } = toRestErrorBody(error, http).error;
  return { http, grpc: status, jsonRpc: code, message, details: details ?? [] };
}

function refusalOfData(data: ErrorData): Refusal {
  const { code, message, details, retryAfterMs } = data;
  const { http, a2a } = ERRORS[code];
  const faults = Array.isArray(details?.['errors']) ? (details['errors'] as Fault[]) : [];
  return {
    http,
    grpc: GRPC_CODES[code],
    jsonRpc: a2a,
    message,
    data,
    details: [
      { '@type': `${TYPE}ErrorInfo`, reason: code, domain: ERROR_DOMAIN, metadata: plain(details) },
      ...(faults.length === 0
        ? []
        : [{ '@type': `${TYPE}BadRequest`, fieldViolations: faults.map(violationOf) }]),
      ...(retryAfterMs === undefined
        ? []
        : [{ '@type': `${TYPE}RetryInfo`, retryDelay: `${Math.ceil(retryAfterMs / 1_000)}s` }]),
    ],
  };
}

type Fault = { readonly path?: unknown; readonly message?: unknown };
const violationOf = ({ path, message }: Fault) => ({
  field: String(path),
  description: String(message),
});

/** Values of ErrorInfo metadata are texts. */
const plain = (details: ErrorData['details'] = {}): Record<string, string> =>
  Object.fromEntries(
    Object.entries(details).flatMap(([name, value]) =>
      ['string', 'number', 'boolean'].includes(typeof value) ? [[name, String(value)]] : [],
    ),
  );

/** The answer to a request of JSON-RPC. */
export const jsonRpcError = (id: JsonRpcId, refusal: Refusal) => ({
  jsonrpc: '2.0',
  id,
  error: { code: refusal.jsonRpc, message: refusal.message, data: refusal.details },
});
export type JsonRpcId = string | number | null;

export const jsonRpcStatus = ({ http }: Refusal): number =>
  STATUS_OF_JSON_RPC.has(http) ? http : 200;

/** The body over HTTP+JSON (AIP-193). */
export const restError = ({ http, grpc, message, details }: Refusal) => ({
  error: { code: http, status: grpc, message, details },
});

/** A refusal of JSON-RPC 2.0 itself. */
export const notJsonRpc = (code: keyof typeof JSON_RPC, message: string): Refusal => ({
  http: 400,
  grpc: 'INVALID_ARGUMENT',
  jsonRpc: JSON_RPC[code],
  message,
  details: [{ '@type': `${TYPE}ErrorInfo`, reason: code, domain: ERROR_DOMAIN }],
});

const JSON_RPC = {
  PARSE_ERROR: A2A_ERROR_CODE.PARSE_ERROR,
  INVALID_REQUEST: A2A_ERROR_CODE.INVALID_REQUEST,
  METHOD_NOT_FOUND: A2A_ERROR_CODE.METHOD_NOT_FOUND,
  INVALID_PARAMS: A2A_ERROR_CODE.INVALID_PARAMS,
} as const;
