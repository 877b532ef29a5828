/**
 * Connection: sends one request with the token and a timeout, and returns one response. Every
 * failure is a TroupeRefusal: a refusal of the server, or status 0 when there was no complete
 * response. This class never retries.
 */
import type { WireError } from './types.js';

export type ConnectionOptions = {
  /** of the gateway, such as http://127.0.0.1:18789 */
  readonly url: string;
  /** bearer token, or a function that returns one; called before every request */
  readonly token: string | (() => string | Promise<string>);
  /** timeout of a complete response, milliseconds; default 30,000 */
  readonly timeoutMs?: number | undefined;
  readonly fetch?: typeof fetch | undefined;
};

type Request = {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly signal?: AbortSignal | undefined;
};

/**
 * A refusal of the server, or a connection failure.
 *
 * @example
 * ```ts
 * import { TroupeClient, TroupeRefusal } from 'troupe/client';
 *
 * const principal = { sub: 'ada' };
 * const where = { url: 'http://127.0.0.1:1', token: 'secret', attemptsMax: 1 };
 * const client = new TroupeClient({ ...where, tenant: 'default', principal });
 * const failure = await client.call('kiosk.sell_paper', {}).catch((error: unknown) => error);
 * assert.ok(failure instanceof TroupeRefusal);
 * ```
 */
export class TroupeRefusal extends Error {
  override readonly name = 'TroupeRefusal';
  /** code of the error taxonomy; UNAVAILABLE for a connection failure */
  readonly code: WireError['code'];
  /** HTTP status; 0 when there was no complete response */
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>>;
  readonly retryAfterSec: number | undefined;

  constructor(error: WireError, status: number, cause?: unknown) {
    super(`${error.code}: ${error.message}`, cause === undefined ? undefined : { cause });
    this.code = error.code;
    this.status = status;
    this.details = error.details ?? {};
    this.retryAfterSec = error.retry_after_sec;
  }
}

const PASSING = new Set([0, 408, 429, 502, 503, 504]);
/** Whether the same request may succeed later. */
export const mayPass = (error: unknown): error is TroupeRefusal =>
  error instanceof TroupeRefusal && PASSING.has(error.status);

const TIMEOUT_MS = 30_000;
/** A stream sends at least a keep-alive every 15 s. */
const SILENCE_MS_MAX = 60_000;

export class Connection {
  readonly #o: ConnectionOptions;

  constructor(options: ConnectionOptions) {
    this.#o = { ...options, url: options.url.replace(/\/+$/, '') };
  }

  /** @throws TroupeRefusal; the reason of an aborted `signal`; an error of the token function */
  async json<T>(method: string, path: string, request: Request = {}): Promise<T> {
    const deadline = new Deadline(this.#o.timeoutMs ?? TIMEOUT_MS, request.signal);
    try {
      const headers = await this.#headers(request);
      return await this.#whole(request.signal, async () => {
        const response = await this.#fetch(method, path, { ...request, headers }, deadline);
        const text = await response.text();
        if (!response.ok) throw refusalOf(response, text);
        return JSON.parse(text) as T;
      });
    } finally {
      deadline.end();
    }
  }

  /** The `data` of each server-sent event, until the stream ends. @throws as `json` */
  async *data(path: string, request: Request): AsyncGenerator<string> {
    const deadline = new Deadline(SILENCE_MS_MAX, request.signal);
    try {
      const headers = await this.#headers(request);
      const chunks = await this.#whole(request.signal, async () => {
        const response = await this.#fetch('GET', path, { ...request, headers }, deadline);
        if (!response.ok) throw refusalOf(response, await response.text());
        return response.body!.pipeThrough(new TextDecoderStream()).getReader();
      });
      const events = new EventData();
      for (;;) {
        const { done, value } = await this.#whole(request.signal, () => chunks.read());
        if (done) return;
        deadline.renew();
        yield* events.add(value);
      }
    } finally {
      deadline.end();
    }
  }

  async #headers({ headers = {} }: Request): Promise<Record<string, string>> {
    const { token } = this.#o;
    const bearer = typeof token === 'function' ? await token() : token;
    return { authorization: `Bearer ${bearer}`, ...headers };
  }

  #fetch(
    method: string,
    path: string,
    { headers = {}, body }: Request,
    { signal }: Deadline,
  ): Promise<Response> {
    const send = this.#o.fetch ?? fetch;
    const contents = body === undefined ? {} : { body };
    // A gateway never redirects, and the token must not be sent to another server.
    const how = { method, headers, signal, redirect: 'manual' as const };
    return send(this.#o.url + path, { ...how, ...contents });
  }

  async #whole<T>(signal: AbortSignal | undefined, receive: () => Promise<T>): Promise<T> {
    try {
      return await receive();
    } catch (cause) {
      if (cause instanceof TroupeRefusal) throw cause;
      signal?.throwIfAborted();
      const why = cause instanceof Error ? cause.message : String(cause);
      const message = `no whole answer from ${this.#o.url}: ${why}`;
      throw new TroupeRefusal({ code: 'UNAVAILABLE', message }, 0, cause);
    }
  }
}

/** Aborts after the timeout, or when `signal` aborts. */
class Deadline {
  readonly #controller = new AbortController();
  readonly #ms: number;
  readonly #outer: AbortSignal | undefined;
  readonly #follow = () => this.#controller.abort(this.#outer?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ms: number, outer?: AbortSignal) {
    this.#ms = ms;
    this.#outer = outer;
    if (outer?.aborted) this.#follow();
    outer?.addEventListener('abort', this.#follow, { once: true });
    this.renew();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  renew(): void {
    clearTimeout(this.#timer);
    const late = () => this.#controller.abort(new Error(`nothing came for ${this.#ms} ms`));
    this.#timer = setTimeout(late, this.#ms);
  }

  /** Ends what still runs under it, too. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#follow);
    this.#controller.abort();
  }
}

const refusalOf = (response: Response, text: string): TroupeRefusal => {
  const afterSec = secondsOf(response.headers.get('retry-after'));
  const later = afterSec === undefined ? {} : { retry_after_sec: afterSec };
  return new TroupeRefusal({ ...errorOf(response.status, text), ...later }, response.status);
};

const errorOf = (status: number, text: string): WireError => {
  try {
    const { error } = JSON.parse(text) as { error?: WireError };
    if (typeof error?.code === 'string') return error;
  } catch {
    // Not an error of the taxonomy: the response of a proxy.
  }
  return { code: 'UNAVAILABLE', message: `HTTP ${status} ${text.slice(0, 200)}` };
};

/** RFC 9110, 10.2.3: seconds, or a time. */
const secondsOf = (retryAfter: string | null): number | undefined => {
  if (retryAfter === null) return undefined;
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter);
  const at = Date.parse(retryAfter);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - Date.now()) / 1_000));
};

/** Lines of a stream (WHATWG HTML, 9.2.6) to the data of its events. */
class EventData {
  #rest = '';
  #data: string[] = [];

  *add(chunk: string): Generator<string> {
    const lines = (this.#rest + chunk).split(/\r?\n/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('data:')) this.#data.push(line.slice(5).replace(/^ /, ''));
      if (line !== '' || this.#data.length === 0) continue;
      yield this.#data.join('\n');
      this.#data = [];
    }
  }
}
