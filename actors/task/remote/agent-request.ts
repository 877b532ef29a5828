/**
 * HTTP requests to external agents, whose registered URLs may be anything. They reach public hosts
 * and those that the application allows. The resolved address is checked when the connection is
 * made, so that no second lookup can differ. Redirects are not followed, and no answer is read
 * beyond ANSWER_BYTES_MAX.
 */
import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import { isPrivateAddress } from '../../notification/webhook.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { signalWithin } from '../../../protocols/time-limit.ts';

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
export const agentRequest = (options: AgentRequestOptions = {}): AgentRequest => {
  const guard = new Guard(options);
  return (url, { method, headers = {}, body, signal }) =>
    new Promise((resolve, reject) => {
      const host = url.hostname.replace(/^\[|\]$/g, '');
      if (isIP(host) && !guard.allows(host, host)) return reject(notPublic(host));
      const { request } = url.protocol === 'https:' ? https : http;
      const sent = request(url, {
        method,
        headers: {
          accept: 'application/json',
          ...(body === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
          ...headers,
        },
        signal: signalWithin(signal, TIMEOUT_MS),
        lookup: guard.lookup,
      });
      sent.on('response', (response) => void answerOf(response, url).then(resolve, reject));
      sent.on('error', (cause) => reject(failureOf(cause, url)));
      sent.end(body);
    });
};

type Found = (
  error: NodeJS.ErrnoException | null,
  address: string | LookupAddress[],
  family?: number,
) => void;

class Guard {
  readonly #allowed: ReadonlySet<string>;
  readonly #loopback: boolean;

  constructor({ allowHosts = [], allowLoopback = false }: AgentRequestOptions) {
    this.#allowed = new Set(allowHosts);
    this.#loopback = allowLoopback;
  }

  allows(host: string, address: string): boolean {
    if (this.#allowed.has(host) || !isPrivateAddress(address)) return true;
    return this.#loopback && (address.startsWith('127.') || address === '::1');
  }

  /** As the system looks a name up, but for one that has an address that is not allowed. */
  readonly lookup = (host: string, options: LookupOptions, done: Found): void => {
    lookup(host, { ...options, all: true }, (error, found) => {
      if (error) return done(error, []);
      if (found.length === 0 || found.some(({ address }) => !this.allows(host, address)))
        return done(notPublic(host), []);
      if (options.all) return done(null, found);
      done(null, found[0]!.address, found[0]!.family);
    });
  };
}

async function answerOf(response: http.IncomingMessage, { origin }: URL): Promise<AgentAnswer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > ANSWER_BYTES_MAX) {
        response.destroy();
        const message = `${origin} answered more than ${ANSWER_BYTES_MAX} bytes`;
        throw new TroupeError('PAYLOAD_TOO_LARGE', message);
      }
      chunks.push(chunk);
    }
  } catch (cause) {
    throw failureOf(cause as Error, { origin });
  }
  const retryAfter = Number(response.headers['retry-after']);
  return {
    status: response.statusCode ?? 0,
    retryAfterSec: Number.isFinite(retryAfter) && retryAfter >= 0 ? retryAfter : undefined,
    body: jsonOf(Buffer.concat(chunks).toString()),
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

function failureOf(cause: Error, { origin }: Pick<URL, 'origin'>): TroupeError {
  if (cause instanceof TroupeError) return cause;
  if (cause.name === 'TimeoutError' || cause.name === 'AbortError')
    return new TroupeError('DEADLINE_EXCEEDED', `${origin} did not answer in time`, { cause });
  const why = cause.message;
  return new TroupeError('UNAVAILABLE', `${origin} cannot be reached: ${why}`, { cause });
}
