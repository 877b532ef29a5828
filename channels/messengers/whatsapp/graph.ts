/** Requests to the Graph API of one number. */
import { checker } from '../../../protocols/check.ts';
import type { Secret } from '../../../runtime/config/index.ts';
import { signalWithin } from '../../../protocols/time-limit.ts';
import { parseRetryAfter, REQUEST_MS } from '../outcomes.ts';
import { GraphError } from './errors.ts';

/** Supported until 2027. */
const VERSION = 'v24.0';
const API_URL = 'https://graph.facebook.com';

export type GraphSettings = {
  readonly accessToken: Secret;
  readonly apiUrl?: string;
};
export type GraphAnswer = {
  readonly status: number;
  /** `{}` if it is not a JSON object */
  readonly body: Readonly<Record<string, unknown>>;
  readonly waitMs: number | undefined;
};

/** @param path below the version. @throws what `fetch` throws */
export async function request(
  { accessToken, apiUrl = API_URL }: GraphSettings,
  path: string,
  options: {
    readonly signal: AbortSignal;
    readonly post?: object | FormData;
    readonly nowMs: number;
  },
): Promise<GraphAnswer> {
  const { signal, post, nowMs } = options;
  const response = await fetch(`${apiUrl.replace(/\/$/, '')}/${VERSION}/${path}`, {
    method: post === undefined ? 'GET' : 'POST',
    ...bodyOf(post, authorization(accessToken)),
    redirect: 'manual',
    signal: signalWithin(signal, REQUEST_MS),
  });
  const { status, headers } = response;
  const body = objectOf(await response.text());
  return { status, body, waitMs: parseRetryAfter(headers.get('retry-after'), nowMs) };
}

/** `fetch` names the boundary of a form itself. */
const bodyOf = (post: object | FormData | undefined, headers: Record<string, string>) => {
  if (post === undefined) return { headers };
  if (post instanceof FormData) return { headers, body: post };
  const json = { ...headers, 'content-type': 'application/json' };
  return { headers: json, body: JSON.stringify(post) };
};

export const authorization = (token: Secret) => ({ authorization: `Bearer ${token.reveal()}` });

export const isSuccess = ({ status }: GraphAnswer): boolean => status >= 200 && status < 300;

const checkError = checker(GraphError);

/** `error` of an answer. */
export function errorOf({ body }: GraphAnswer): GraphError {
  const checked = checkError(body['error']);
  return checked.ok ? checked.value : {};
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
