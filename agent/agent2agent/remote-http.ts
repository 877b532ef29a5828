/**
 * HTTP requests to one remote agent (A2A). Every address is checked when the connection is made,
 * redirects are not followed, and no answer is read beyond a limit.
 *
 * Invariants:
 *  1. Credentials are sent only to the origin of the card and to the configured origins.
 *  2. No error contains a credential.
 *  3. A TroupeError of `call` means that the request was not done; anything else that it throws
 *     leaves that open (`RemoteCaller`).
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { REMOTE_CALL_MS_MAX } from '../../protocols/remote-call.ts';
import { redacted, type RemoteAgentConfig } from '../../runtime/config/index.ts';
import { bodyOf } from '../net/bounded-body.ts';
import { guardedLookup } from '../net/guarded-lookup.ts';
import { guardedRequest } from '../net/guarded-request.ts';
import { hostOf, isPublicAddress } from '../net/public-address.ts';
import { retryAfterMsOf } from '../net/retry-after.ts';

/** Maximum answer of a call: a task with its files in base64. */
const ANSWER_BYTES_MAX = 16 * 2 ** 20;
const DOCUMENT_MS = 30_000;

export type HttpAnswer = {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
};

type Get = {
  readonly signal: AbortSignal;
  readonly bytesMax: number;
  readonly headers?: Readonly<Record<string, string>>;
};

/** The answer to a request that was sent got lost: whether it was done is not known. */
export class LostAnswer extends Error {
  override readonly name = 'LostAnswer';
}

export class RemoteHttp {
  readonly #name: string;
  readonly #agent: RemoteAgentConfig;
  readonly #origins: ReadonlySet<string>;

  constructor(name: string, agent: RemoteAgentConfig) {
    this.#name = name;
    this.#agent = agent;
    this.#origins = new Set([agent.url, ...agent.origins].map((url) => new URL(url).origin));
  }

  /** Whether interfaces of the agent may be there. */
  allows(url: string): boolean {
    return URL.canParse(url) && this.#origins.has(new URL(url).origin);
  }

  /** Foreign text without our credentials, which an agent might repeat. */
  masked(text: string): string {
    const { bearer, headers } = this.#agent;
    const values = [bearer, ...Object.values(headers)].flatMap((secret) => secret?.reveal() ?? []);
    return values.reduce((rest, value) => rest.replaceAll(value, redacted), text);
  }

  /**
   * Reads a document: the card, keys, a file. Credentials are sent only to allowed origins.
   * @throws TroupeError FORBIDDEN, UNAVAILABLE, DEADLINE_EXCEEDED, PAYLOAD_TOO_LARGE,
   *   RATE_LIMIT_EXCEEDED; for another status than 200 and 304 as `refusalOf`
   */
  async get(url: URL, { headers = {}, ...limits }: Get): Promise<HttpAnswer> {
    const sent = { ...(this.allows(url.href) && this.#credentials()), ...headers };
    const answer = await this.#send(url, {
      method: 'GET',
      headers: sent,
      timeoutMs: DOCUMENT_MS,
      ...limits,
    });
    if (answer.status === 200 || answer.status === 304) return answer;
    const refusal = this.#refusalOf(url, answer);
    if (refusal) throw refusal;
    const code = answer.status === 404 || answer.status === 410 ? 'NOT_FOUND' : 'UNAVAILABLE';
    throw new TroupeError(code, `${url.origin} answered ${answer.status} for ${url.pathname}`);
  }

  /**
   * A `fetch` for the SDK, which makes calls; the signal is their time limit. @throws (its
   * requests) TroupeError when the request was not done; LostAnswer
   */
  readonly fetch: typeof fetch = async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (!this.#origins.has(url.origin))
      throw new TroupeError('FORBIDDEN', `${url.origin} is not an origin of ${this.#name}`);
    const answer = await this.#call(url, init);
    const { status } = answer;
    // Proxies answer so, too, when the agent ends in the middle of a request.
    if (status < 200 || (status >= 502 && status <= 504) || status > 599)
      throw new LostAnswer(`${url.origin} answered ${status}`);
    const refusal = this.#refusalOf(url, answer);
    if (refusal) throw refusal;
    const type = answer.headers['content-type'];
    if (status >= 400 && !/json/i.test(type ?? '')) {
      const message = `${url.origin} answered ${status} without an error of A2A`;
      throw status < 500 ? new TroupeError('INVALID_ARGUMENT', message) : new LostAnswer(message);
    }
    const headers = defined({ 'content-type': type });
    const hasBody = status !== 204 && status !== 205;
    return new Response(hasBody ? new Uint8Array(answer.body) : null, { status, headers });
  };

  async #call(url: URL, { method, headers, body, signal }: RequestInit): Promise<HttpAnswer> {
    try {
      return await this.#send(url, {
        method: method === 'GET' ? 'GET' : 'POST',
        headers: { ...Object.fromEntries(new Headers(headers)), ...this.#credentials() },
        ...(typeof body === 'string' && { body }),
        signal: signal ?? new AbortController().signal,
        bytesMax: ANSWER_BYTES_MAX,
        timeoutMs: REMOTE_CALL_MS_MAX,
      });
    } catch (error) {
      if (wasNotSent(error)) throw error;
      throw new LostAnswer((error as Error).message, { cause: error });
    }
  }

  async #send(
    url: URL,
    { bytesMax, ...request }: Parameters<typeof guardedRequest>[1] & Get,
  ): Promise<HttpAnswer> {
    const host = hostOf(url);
    const allows = (_: string, address: string) => this.#allowsAddress(url, address);
    if (isIP(host) && !allows(host, host)) throw notPublic(host);
    const isSecure = url.protocol === 'https:';
    if (!isSecure && !this.#mayBePrivate(url))
      throw new TroupeError('FORBIDDEN', `${url.origin} is not encrypted: use https://`);
    const response = await guardedRequest(url, {
      ...request,
      lookup: guardedLookup({ allows, refusal: notPublic }),
    });
    const { statusCode: status = 0, headers } = response;
    return { status, headers, body: await bodyOf(response, { origin: url.origin, bytesMax }) };
  }

  #allowsAddress(url: URL, address: string): boolean {
    return isPublicAddress(address) || this.#mayBePrivate(url);
  }

  /** Only hosts that the configuration names: a URL in an answer reaches no private network. */
  #mayBePrivate({ origin, href }: URL): boolean {
    const { allowPrivate, keyOrigins } = this.#agent;
    return allowPrivate && (this.allows(href) || keyOrigins.includes(origin));
  }

  #credentials(): Record<string, string> {
    const { bearer, headers } = this.#agent;
    const others = Object.entries(headers).map(([name, value]) => [name, value.reveal()] as const);
    return {
      ...Object.fromEntries(others),
      ...(bearer && { authorization: `Bearer ${bearer.reveal()}` }),
    };
  }

  /** For answers of which every protocol says that the request was not done. */
  #refusalOf({ origin }: URL, { status, headers }: HttpAnswer): TroupeError | undefined {
    const name = this.#name;
    if (status >= 300 && status < 400 && status !== 304) {
      const to = JSON.stringify((headers.location ?? '').slice(0, 200));
      return new TroupeError(
        'FORBIDDEN',
        `${origin} redirects to ${to}: redirects are not followed`,
      );
    }
    if (status === 401)
      return new TroupeError('UNAUTHORIZED', `${name} does not accept our credentials (401)`);
    if (status === 403) return new TroupeError('FORBIDDEN', `${name} refuses the request (403)`);
    const retry = { ...defined({ retryAfterMs: retryAfterMsOf(headers['retry-after']) }) };
    if (status === 429)
      return new TroupeError('RATE_LIMIT_EXCEEDED', `${name} receives too many requests`, retry);
    if (status === 503)
      return new TroupeError('UNAVAILABLE', `${name} is unavailable (503)`, retry);
    return undefined;
  }
}

const notPublic = (host: string): TroupeError =>
  new TroupeError(
    'FORBIDDEN',
    `${host} is not on the public internet: set allowPrivate for an agent in a private network`,
  );

/** Errors of the name lookup, of connecting and of TLS, before any byte of a request. */
const BEFORE_SENDING =
  /^(ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|CERT_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|UNABLE_TO_\w+|ERR_TLS_\w+)$/;

function wasNotSent(error: unknown): boolean {
  if (!(error instanceof TroupeError)) return false;
  if (error.code === 'FORBIDDEN') return true;
  const { code } = (error.cause ?? {}) as NodeJS.ErrnoException;
  return typeof code === 'string' && BEFORE_SENDING.test(code);
}
