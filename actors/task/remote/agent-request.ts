/**
 * HTTP requests to external agents, whose registered URLs may be anything. They reach public hosts
 * only, and with `allowLoopback` this machine. The resolved address is checked when the connection
 * is made, so that no second lookup can differ. Redirects are not followed, and no answer is read
 * beyond ANSWER_BYTES_MAX.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { bodyOf } from '../../../agent/net/bounded-body.ts';
import { guardedLookup } from '../../../agent/net/guarded-lookup.ts';
import { guardedRequest } from '../../../agent/net/guarded-request.ts';
import { hostOf, isPublicAddress } from '../../../agent/net/public-address.ts';
import { TroupeError } from '../../../protocols/errors.ts';

/** A task with its result fits. */
const ANSWER_BYTES_MAX = 4 * 2 ** 20;
const SKIPPED_BYTES_MAX = 65_536;
const TIMEOUT_MS = 30_000;

export type AgentAnswer = {
  readonly status: number;
  readonly retryAfterSec: number | undefined;
  /** parsed JSON; undefined when it is none */
  readonly body: unknown;
};
export type AgentRequest = (
  url: URL,
  options: {
    readonly method: 'GET' | 'POST';
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
    readonly signal: AbortSignal;
  },
) => Promise<AgentAnswer>;

export type AgentRequestOptions = {
  /** the body of an answer is ignored, and cut: its status is what counts. Default false */
  readonly ignoresBody?: boolean;
  /** addresses of this machine; for a gateway that is itself on loopback only. Default false */
  readonly allowLoopback?: boolean;
};

/**
 * @throws (its requests) TroupeError FORBIDDEN for an address that is not allowed, UNAVAILABLE,
 * DEADLINE_EXCEEDED, PAYLOAD_TOO_LARGE
 */
export const agentRequest = ({
  allowLoopback = false,
  ignoresBody = false,
}: AgentRequestOptions = {}): AgentRequest => {
  const allows = (address: string): boolean =>
    isPublicAddress(address) ||
    (allowLoopback && (address.startsWith('127.') || address === '::1'));
  const lookup = guardedLookup({ allows: (_, address) => allows(address), refusal: notPublic });
  return async (url, { headers = {}, ...options }) => {
    const host = hostOf(url);
    if (isIP(host) && !allows(host)) throw notPublic(host);
    const response = await guardedRequest(url, {
      ...options,
      headers: { accept: 'application/json', ...headers },
      timeoutMs: TIMEOUT_MS,
      lookup,
    });
    if (ignoresBody) return { ...headOf(response), body: await skipped(response) };
    return { ...headOf(response), body: await bodyIn(response, url) };
  };
};

function headOf({ statusCode, headers }: IncomingMessage): Omit<AgentAnswer, 'body'> {
  const retryAfter = Number(headers['retry-after']);
  return {
    status: statusCode ?? 0,
    retryAfterSec: Number.isFinite(retryAfter) && retryAfter >= 0 ? retryAfter : undefined,
  };
}

async function bodyIn(response: IncomingMessage, { origin }: URL): Promise<unknown> {
  return jsonOf((await bodyOf(response, { origin, bytesMax: ANSWER_BYTES_MAX })).toString());
}

/** Reads a short body, so that its sender sees no error; a failure of it changes nothing. */
async function skipped(response: IncomingMessage): Promise<undefined> {
  let bytes = 0;
  try {
    for await (const chunk of response) {
      bytes += (chunk as Buffer).byteLength;
      if (bytes > SKIPPED_BYTES_MAX) break;
    }
  } catch {
    // The status has arrived.
  }
  response.destroy();
}

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const notPublic = (host: string): TroupeError =>
  new TroupeError(
    'FORBIDDEN',
    `${host} is not on the public internet: agents there are asked only when it is allowed`,
  );
