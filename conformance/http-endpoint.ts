/** HttpEndpoint: an endpoint reached over HTTP. */
import { defined } from '../protocols/defined.ts';
import { abortableBody } from '../protocols/time-limit.ts';
import type { Download, Endpoint, Http, Reply, SendOptions } from './endpoint.ts';

const TIMEOUT_MS = 15_000;
const EVENTS_MS = 60_000;

type Options = { readonly url: string; readonly token: () => string };

export class HttpEndpoint implements Endpoint, Http {
  readonly transport = 'http';
  readonly #url: string;
  readonly #token: () => string;

  constructor({ url, token }: Options) {
    this.#url = url.replace(/\/+$/, '');
    this.#token = token;
  }

  get http(): Http {
    return this;
  }

  send(envelope: string | object, options: SendOptions = {}): Promise<Reply> {
    const { token, signature, async } = options;
    const body = typeof envelope === 'string' ? envelope : JSON.stringify(envelope);
    return this.post('/v1/envelopes', new TextEncoder().encode(body), {
      ...defined({ token }),
      headers: {
        ...(signature ? { 'x-jws-signature': signature } : {}),
        ...(async ? { prefer: 'respond-async' } : {}),
      },
    });
  }

  get(path: string, options: Given = {}): Promise<Reply> {
    return this.#request('GET', path, options);
  }

  post(path: string, body: Uint8Array | object, options: Given = {}): Promise<Reply> {
    const bytes =
      body instanceof Uint8Array ? body : new TextEncoder().encode(JSON.stringify(body));
    const headers = { 'content-type': 'application/json', ...options.headers };
    return this.#request('POST', path, { ...options, headers }, bytes);
  }

  async events(taskId: string, after: number): Promise<{ id: string; data: unknown }[]> {
    const signal = AbortSignal.timeout(EVENTS_MS);
    const response = await fetch(`${this.#url}/v1/tasks/${encodeURIComponent(taskId)}/events`, {
      headers: { ...this.#bearer(undefined), 'last-event-id': String(after) },
      signal,
    });
    if (!response.ok) throw new Error(`GET events answered HTTP ${response.status}`);
    return (await abortableBody(response, signal).text())
      .split('\n\n')
      .map((block) => ({ id: field(block, 'id'), data: field(block, 'data') }))
      .filter(({ data }) => data !== '')
      .map(({ id, data }) => ({ id, data: JSON.parse(data) as unknown }));
  }

  async fetch(url: string, method = 'GET'): Promise<Download> {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(url, { method, signal, redirect: 'manual' });
    const bytes = new Uint8Array(await abortableBody(response, signal).arrayBuffer());
    return { status: response.status, bytes, headers: Object.fromEntries(response.headers) };
  }

  async close(): Promise<void> {}

  async #request(method: string, path: string, given: Given, body?: Uint8Array): Promise<Reply> {
    const startedAt = performance.now();
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(this.#url + path, {
      method,
      headers: { ...this.#bearer(given.token), ...given.headers },
      ...(body ? { body: body as Uint8Array<ArrayBuffer> } : {}),
      signal,
    });
    const text = await abortableBody(response, signal).text();
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: parsed(text),
      ms: performance.now() - startedAt,
    };
  }

  #bearer(token: string | null | undefined): Record<string, string> {
    return token === null ? {} : { authorization: `Bearer ${token ?? this.#token()}` };
  }
}

type Given = { readonly token?: string | null; readonly headers?: Record<string, string> };

const field = (block: string, name: string): string =>
  block
    .split('\n')
    .filter((line) => line.startsWith(`${name}:`))
    .map((line) => line.slice(name.length + 1).trimStart())
    .join('\n');

export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
};
