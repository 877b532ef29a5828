/**
 * Network failures of a messenger's API, and downloads with a limit. What an HTTP status means is
 * the adapter's.
 *
 * Messages name no URL, because those of some services contain the token.
 */
import type { SendOutcome } from '../../protocols/channel.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { abortableBody, signalWithin } from '../../protocols/time-limit.ts';

/** No connection was established, so the service has not received the request. */
const NOT_REACHED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

const DOWNLOAD_MS_MAX = 60_000;

/**
 * The innermost system code of a failed request, such as ECONNRESET, or the name of the innermost
 * error. SDKs wrap it as `cause`, `error` or `original`.
 */
export function networkCode(thrown: unknown): string {
  const { cause, error, original, code, name, message } = (thrown ?? {}) as Record<string, unknown>;
  const inner = [cause, error, original].find((one) => typeof one === 'object' && one !== null);
  if (inner !== undefined) return networkCode(inner);
  if (typeof code === 'string') return code;
  const isLate =
    name === 'AbortError' || name === 'TimeoutError' || /timed out/.test(String(message));
  return isLate ? 'no answer in time' : typeof name === 'string' ? name : 'unknown failure';
}

/** The outcome of a send whose request failed without an answer. */
export function outcomeWithoutAnswer(service: string, thrown: unknown): SendOutcome {
  const code = networkCode(thrown);
  if (NOT_REACHED.has(code)) return { status: 'not_sent', error: notReached(service, code) };
  const message = `the answer of ${service} was lost (${code})`;
  return { status: 'unknown', error: { code: 'UNAVAILABLE', message } };
}

/** The error of a connection or of a request without effect. */
export function unavailable(service: string, thrown: unknown): TroupeError {
  const code = networkCode(thrown);
  if (NOT_REACHED.has(code)) return TroupeError.from(notReached(service, code));
  return new TroupeError('UNAVAILABLE', `the connection to ${service} ended (${code})`);
}

const notReached = (service: string, code: string) =>
  ({
    code: 'UNAVAILABLE',
    message: `${service} cannot be reached (${code}): check the network, and apiUrl if it is set`,
  }) as const;

export type Download = {
  /** whose name errors contain */
  readonly service: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly bytesMax: number;
  readonly signal: AbortSignal;
};

/** @throws TroupeError PAYLOAD_TOO_LARGE over `bytesMax`, NOT_FOUND, UNAVAILABLE */
export async function download({
  service,
  url,
  headers = {},
  bytesMax,
  signal,
}: Download): Promise<Uint8Array> {
  const limited = signalWithin(signal, DOWNLOAD_MS_MAX);
  try {
    const response = await fetch(url, { headers, signal: limited });
    if (!response.ok) throw refusedDownload(service, response.status);
    return await bytesWithin(abortableBody(response, limited), bytesMax);
  } catch (error) {
    throw error instanceof TroupeError ? error : unavailable(service, error);
  }
}

const refusedDownload = (service: string, status: number): TroupeError =>
  status === 404 || status === 410
    ? new TroupeError('NOT_FOUND', `${service} no longer has the file`)
    : new TroupeError('UNAVAILABLE', `${service} answered ${status} to the download of a file`);

async function bytesWithin({ body }: Response, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw tooLarge(bytesMax);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** A file over a limit, in bytes. */
export const tooLarge = (bytesMax: number): TroupeError =>
  new TroupeError('PAYLOAD_TOO_LARGE', `the file is larger than ${bytesMax} bytes`);
