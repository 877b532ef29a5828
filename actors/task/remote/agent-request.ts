/**
 * HTTP requests to external agents, whose registered URLs may be anything. They reach public hosts
 * and those that the application allows. The resolved address is checked when the connection is
 * made, so that no second lookup can differ. Redirects are not followed, and no answer is read
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
  /** hosts, as in URLs, that may be in a private network */
  readonly allowHosts?: readonly string[];
  /** addresses of this machine; for a gateway that is itself on loopback only. Default false */
  readonly allowLoopback?: boolean;
};

/**
 * @throws (its requests) TroupeError FORBIDDEN for an address that is not allowed, UNAVAILABLE,
 * DEADLINE_EXCEEDED, PAYLOAD_TOO_LARGE
 */
export const agentRequest = ({
  allowHosts = [],
  allowLoopback = false,
}: AgentRequestOptions = {}): AgentRequest => {
  const allows = (host: string, address: string): boolean =>
    allowHosts.includes(host) ||
    isPublicAddress(address) ||
    (allowLoopback && (address.startsWith('127.') || address === '::1'));
  const lookup = guardedLookup({ allows, refusal: notPublic });
  return async (url, { headers = {}, ...options }) => {
    const host = hostOf(url);
    if (isIP(host) && !allows(host, host)) throw notPublic(host);
    const response = await guardedRequest(url, {
      ...options,
      headers: { accept: 'application/json', ...headers },
      timeoutMs: TIMEOUT_MS,
      lookup,
    });
    return answerOf(response, url);
  };
};

async function answerOf(response: IncomingMessage, { origin }: URL): Promise<AgentAnswer> {
  const body = await bodyOf(response, { origin, bytesMax: ANSWER_BYTES_MAX });
  const retryAfter = Number(response.headers['retry-after']);
  return {
    status: response.statusCode ?? 0,
    retryAfterSec: Number.isFinite(retryAfter) && retryAfter >= 0 ? retryAfter : undefined,
    body: jsonOf(body.toString()),
  };
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
