/**
 * Failure: converts errors of a provider or its SDK into the TroupeErrors of model.ts. Only this
 * file reads foreign errors and copies their texts, so it also removes secrets from them.
 *
 * It recognizes errors of the SDKs by shape, not by `instanceof`, because an import would load the
 * SDK.
 */
import { defined } from '../../protocols/defined.ts';
import { type ErrorCode, TroupeError } from '../../protocols/errors.ts';
import { MalformedEvent } from './answer.ts';

export type FailureContext = {
  readonly provider: string;
  /** path of the key in the configuration */
  readonly keyPath: string;
  /** texts that must not appear in an error */
  readonly secrets: readonly string[];
  /** milliseconds since the epoch; needed for a Retry-After with a date */
  readonly wallMs: () => number;
};

/** An error sent as an event within a stream. */
export class ReportedError extends Error {
  override readonly name = 'ReportedError';
  readonly kind: string;

  constructor(kind: string, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** The provider's description of a failure, in any of its forms. */
type Report = {
  status?: number;
  kinds: string[];
  message: string;
  headers?: Headers;
  /** wait time in the error itself */
  retryAfterMs?: number;
};

/**
 * Messages of providers and servers for a request that is too long: Anthropic (`prompt is too
 * long`, `exceed context limit`), OpenAI and vLLM (`context_length_exceeded`, `maximum context
 * length`), Google (`input token count … exceeds`), xAI (`maximum prompt length`), llama.cpp
 * (`exceeds the available context size`).
 */
const contextPattern =
  /context[ _](length|window|limit|size)|(prompt|input) is too long|maximum (context|prompt)|input token count.* exceeds/i;

/** Maximum length of a copied provider message, characters. */
const messageCharactersMax = 1_000;

/**
 * Converts anything thrown while a stream was opened or read. `headers`: of the HTTP response, for
 * SDKs whose errors lack them.
 */
export const failureOf = (
  thrown: unknown,
  context: FailureContext,
  headers?: Headers,
): TroupeError => {
  if (thrown instanceof TroupeError) return withProvider(thrown, context);
  if (thrown instanceof MalformedEvent || thrown instanceof SyntaxError) {
    return fail('INTERNAL', `sent an event that violates its protocol: ${thrown.message}`, context);
  }
  const report = reportOf(thrown);
  if (report === undefined) return notConnected(thrown, context);
  return refused({ ...defined({ headers }), ...report }, context);
};

/** The stream ended before the answer was complete. */
export const cutStream = (events: number, context: FailureContext): TroupeError =>
  fail(
    'UNAVAILABLE',
    events === 0
      ? 'answered without any event; if this persists, check that baseUrl is the root of its API'
      : 'ended the stream before the end of the answer',
    context,
  );

/** No credentials are configured. */
export const missingKey = (context: FailureContext, variable: string | undefined): TroupeError =>
  fail(
    'UNAUTHORIZED',
    `has no API key. Set ${context.keyPath}${variable ? ` or the environment variable ${variable}` : ''}`,
    context,
  );

const fail = (
  code: ErrorCode,
  message: string,
  context: FailureContext,
  details: Record<string, unknown> = {},
  retryAfterMs?: number,
): TroupeError =>
  new TroupeError(code, redact(`Model provider ${context.provider} ${message}`, context.secrets), {
    details: { provider: context.provider, ...details },
    ...defined({ retryAfterMs }),
  });

const withProvider = (error: TroupeError, context: FailureContext): TroupeError =>
  new TroupeError(error.code, redact(error.message, context.secrets), {
    details: { provider: context.provider, ...error.details },
    ...defined({ retryAfterMs: error.retryAfterMs }),
  });

const refused = (report: Report, context: FailureContext): TroupeError => {
  const code = codeOf(report);
  const details = detailsOf(report, code, context);
  if (code === 'UNAUTHORIZED') {
    // the provider's message often quotes a part of the key
    return fail(code, `refused the API key. Check ${context.keyPath}`, context, details);
  }
  const status = report.status === undefined ? '' : ` (HTTP ${report.status})`;
  const said = report.message.slice(0, messageCharactersMax);
  const retryAfterMs = retryAfterOf(report.headers, context.wallMs) ?? report.retryAfterMs;
  return fail(code, `answered${status}: ${said}`, context, details, retryAfterMs);
};

const detailsOf = (report: Report, code: ErrorCode, context: FailureContext) => {
  const requestId = report.headers?.get('request-id') ?? report.headers?.get('x-request-id');
  const contextLength = code === 'INVALID_ARGUMENT' && isTooLong(report);
  return {
    ...defined({ status: report.status }),
    ...(report.kinds[0] === undefined ? {} : { type: redact(report.kinds[0], context.secrets) }),
    ...(requestId ? { requestId: redact(requestId, context.secrets) } : {}),
    ...(contextLength ? { reason: 'context_length' } : {}),
  };
};

const isTooLong = ({ kinds, message }: Report): boolean =>
  [...kinds, message].some((text) => contextPattern.test(text));

/**
 * The address refuses connections or its name does not resolve; this affects every key and model
 * there.
 */
const notReached = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
]);

const notConnected = (thrown: unknown, context: FailureContext): TroupeError => {
  const reason = innermostReason(thrown);
  return fail('UNAVAILABLE', `cannot be reached or cut the connection: ${reason}`, context, {
    reason: notReached.has(reason) ? 'not_reached' : 'cut',
  });
};

/** Error types in the documentation of both providers; the status decides for all others. */
const codesByKind: Readonly<Record<string, ErrorCode>> = {
  rate_limit_error: 'RATE_LIMIT_EXCEEDED',
  rate_limit_exceeded: 'RATE_LIMIT_EXCEEDED',
  insufficient_quota: 'FORBIDDEN',
  billing_error: 'FORBIDDEN',
  permission_error: 'FORBIDDEN',
  authentication_error: 'UNAUTHORIZED',
  invalid_api_key: 'UNAUTHORIZED',
  request_too_large: 'PAYLOAD_TOO_LARGE',
  invalid_request_error: 'INVALID_ARGUMENT',
  invalid_prompt: 'INVALID_ARGUMENT',
  context_length_exceeded: 'INVALID_ARGUMENT',
  not_found_error: 'INVALID_ARGUMENT',
  // Google reports a wrong key as 400, and a daily quota as 429 with a wait that is too short
  API_KEY_INVALID: 'UNAUTHORIZED',
  quota_per_day: 'FORBIDDEN',
};

const codesByStatus: Readonly<Record<number, ErrorCode>> = {
  401: 'UNAUTHORIZED',
  402: 'FORBIDDEN',
  403: 'FORBIDDEN',
  // request timeout and conflict: both SDKs retry them
  408: 'UNAVAILABLE',
  409: 'UNAVAILABLE',
  413: 'PAYLOAD_TOO_LARGE',
  429: 'RATE_LIMIT_EXCEEDED',
};

/**
 * The status decides, with two exceptions: an exhausted quota is reported as 429, and a refused key
 * may be reported as 400. Without a status, the error came within a started stream. Then an unknown
 * type is a server failure, unless it says that the request is too long.
 */
const codeOf = (report: Report): ErrorCode => {
  const { status, kinds } = report;
  const byKind = kinds.map((kind) => codesByKind[kind]).find((code) => code !== undefined);
  if (status === undefined)
    return byKind ?? (isTooLong(report) ? 'INVALID_ARGUMENT' : 'UNAVAILABLE');
  if (status >= 500) return 'UNAVAILABLE';
  if (status === 429 && byKind === 'FORBIDDEN') return byKind;
  if (status === 400 && byKind === 'UNAUTHORIZED') return byKind;
  return codesByStatus[status] ?? 'INVALID_ARGUMENT';
};

const reportOf = (thrown: unknown): Report | undefined => {
  if (thrown instanceof ReportedError) return { kinds: [thrown.kind], message: thrown.message };
  if (!isRecord(thrown) || !(thrown instanceof Error)) return undefined;
  const status = typeof thrown.status === 'number' ? thrown.status : undefined;
  if (thrown.name === 'ApiError' && status !== undefined) return googleReport(thrown, status);
  const body = isRecord(thrown.error) ? thrown.error : undefined;
  if (status === undefined && body === undefined) return undefined;
  // Anthropic's SDK keeps the whole body { type, error: {…} }, OpenAI's only the inner object
  const inner = isRecord(body?.error) ? body.error : (body ?? {});
  const innerStatus = typeof inner.code === 'number' ? inner.code : undefined;
  return {
    ...((status ?? innerStatus) === undefined ? {} : { status: status ?? innerStatus }),
    kinds: [inner.type, inner.code].filter((kind) => typeof kind === 'string'),
    message: typeof inner.message === 'string' ? inner.message : thrown.message,
    ...(thrown.headers instanceof Headers ? { headers: thrown.headers } : {}),
  };
};

/** Google's SDK puts the body as JSON into the message, sometimes after other text. */
const googleReport = ({ message }: Error, status: number): Report => {
  const error = parsed(message.slice(Math.max(0, message.indexOf('{'))));
  const details = (Array.isArray(error.details) ? error.details : []).filter(isRecord);
  const reasons = details.map(({ reason }) => reason);
  const perDay = details.some(({ violations }) => /PerDay/.test(JSON.stringify(violations) ?? ''));
  const [seconds] = details.flatMap(
    ({ retryDelay }) => /^([\d.]+)s$/.exec(String(retryDelay))?.[1] ?? [],
  );
  return {
    status,
    kinds: [...(perDay ? ['quota_per_day'] : []), ...reasons, error.status].filter(
      (kind) => typeof kind === 'string',
    ),
    message: typeof error.message === 'string' ? error.message : message,
    ...(seconds === undefined ? {} : { retryAfterMs: Math.ceil(Number(seconds) * 1_000) }),
  };
};

/** The `error` of a JSON text; empty when the text is not JSON. */
const parsed = (json: string): Record<string, unknown> => {
  try {
    const body: unknown = JSON.parse(json);
    const error = isRecord(body) ? body.error : undefined;
    return isRecord(error) ? error : {};
  } catch {
    return {};
  }
};

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/**
 * `retry-after-ms`, else `Retry-After` in seconds or as a date (RFC 9110, 10.2.3). Never negative.
 */
const retryAfterOf = (headers: Headers | undefined, wallMs: () => number): number | undefined => {
  const candidates = [
    Number.parseFloat(headers?.get('retry-after-ms') ?? ''),
    Number(headers?.get('retry-after') || 'none') * 1_000,
    Date.parse(headers?.get('retry-after') ?? '') - wallMs(),
  ];
  const found = candidates.find((value) => Number.isFinite(value));
  return found === undefined ? undefined : Math.max(0, Math.ceil(found));
};

/** The code of the innermost cause (ECONNREFUSED, UND_ERR_SOCKET), else its message. */
const innermostReason = (thrown: unknown): string => {
  let at: unknown = thrown;
  for (let depth = 0; depth < 8 && at instanceof Error && at.cause instanceof Error; depth++) {
    at = at.cause;
  }
  if (!(at instanceof Error)) return 'unknown reason';
  const code = (at as NodeJS.ErrnoException).code;
  return (code ?? at.message).slice(0, messageCharactersMax);
};

/** Shorter texts are not secrets, and removing them would garble messages. */
const secretCharactersMin = 6;

/** `text` without the secrets and their parts, such as the token after `Bearer`. */
export const redact = (text: string, secrets: readonly string[]): string => {
  let clean = text;
  for (const secret of secrets) {
    for (const part of [secret, ...secret.split(/\s+/)]) {
      if (part.length >= secretCharactersMin) clean = clean.replaceAll(part, '***');
    }
  }
  return clean;
};
