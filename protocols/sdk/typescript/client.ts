/**
 * TroupeClient: sends envelopes to a troupe over HTTP and follows their tasks. Depends on nothing
 * but what Node 20, Deno, Bun and browsers have (fetch, WebCrypto).
 *
 * What it takes off you:
 *  - the envelope around a payload, with ids, time and a number that rises per subject;
 *  - resending: what may pass (429, 503, 504, a broken connection) is sent again with the SAME
 *    idempotency key, not before `Retry-After`, else with growing, jittered pauses: the work is
 *    done once, however often it is sent;
 *  - waiting: a task that takes longer than the synchronous answer is followed to its end;
 *  - signing (A2A-External), when it is given a key.
 */
import type { Envelope, Task, TaskEvent, WireError } from './types.ts';

export type * from './types.ts';

export type ClientOptions = {
  /** of the gateway, as http://127.0.0.1:18789 */
  readonly url: string;
  /** bearer token, or how to get a fresh one; called before every request */
  readonly token: string | (() => string | Promise<string>);
  /** as the token has it */
  readonly tenant: string;
  /** `sub` and roles as the token has them */
  readonly principal: { readonly sub: string; readonly roles?: readonly string[] };
  /** Ed25519 private key (JWK) and its kid: every envelope is signed */
  readonly signingKey?: { readonly kid: string; readonly jwk: JsonWebKey };
  /** sends of one envelope, the first included; default 7 */
  readonly attemptsMax?: number;
  /** longest pause between two sends, milliseconds; default 30,000 */
  readonly pauseMsMax?: number;
  readonly fetch?: typeof fetch;
};

export type CallOptions = {
  /** default 1.0.0 */
  readonly version?: string;
  readonly schemaVersion?: string;
  /** the same key and payload get the first result, for a day and more; default a new one */
  readonly idempotencyKey?: string;
  readonly contextId?: string;
  readonly correlationId?: string;
  readonly causationId?: string;
  readonly traceId?: string;
  /** seconds; default 300 */
  readonly ttlSec?: number;
  readonly dataLocality?: string;
  readonly resourceLinks?: Envelope['resource_links'];
  readonly signal?: AbortSignal;
};

/** What the other side refused, or a failure on the way that did not pass. */
export class TroupeRefusal extends Error {
  override readonly name = 'TroupeRefusal';
  readonly code: string;
  /** HTTP status; 0 when no answer came */
  readonly status: number;
  readonly details: Record<string, unknown>;
  readonly retryAfterSec: number | undefined;

  constructor(error: WireError, status: number, cause?: unknown) {
    super(`${error.code}: ${error.message}`, cause === undefined ? undefined : { cause });
    this.code = error.code;
    this.status = status;
    this.details = error.details ?? {};
    this.retryAfterSec = error.retry_after_sec;
  }
}

const FINAL = new Set(['SUCCEEDED', 'FAILED', 'CANCELLED', 'COMPENSATED', 'EXPIRED']);
export const isFinal = (task: Task): boolean => FINAL.has(task.state);

const RESEND = new Set([429, 502, 503, 504]);
const PAUSE_MS_FIRST = 200;

export class TroupeClient {
  readonly #o: ClientOptions;
  readonly #seqs = new Map<string, number>();
  #key: Promise<CryptoKey> | undefined;

  constructor(options: ClientOptions) {
    this.#o = { ...options, url: options.url.replace(/\/+$/, '') };
  }

  /** Sends a payload and waits for the end of its task, however long it takes. */
  async call(action: string, payload: Payload, options: CallOptions = {}): Promise<Task> {
    return this.finished(await this.submit(action, payload, options), options);
  }

  /**
   * Sends a payload; the task as it is then: ended, or ACKED or RUNNING.
   * @throws TroupeRefusal when it was not accepted
   */
  submit(action: string, payload: Payload, options: CallOptions = {}): Promise<Task> {
    return this.send(this.envelope(action, payload, options), options);
  }

  /** The envelope of a payload, ready to be sent. */
  envelope(action: string, payload: Payload, o: CallOptions = {}): Envelope {
    const { tenant, principal } = this.#o;
    const id = crypto.randomUUID();
    const subject = subjectOf(payload, o.contextId);
    return {
      version: '1.0',
      request_id: id,
      correlation_id: o.correlationId ?? id,
      causation_id: o.causationId ?? null,
      trace_id: o.traceId ?? crypto.randomUUID().replaceAll('-', ''),
      tenant_id: tenant,
      principal: { sub: principal.sub, roles: [...(principal.roles ?? [])] },
      timestamp: new Date().toISOString(),
      ttl_sec: o.ttlSec ?? 300,
      idempotency_key: o.idempotencyKey ?? crypto.randomUUID(),
      seq: this.#nextSeq(subject, o.version),
      action,
      action_version: o.version ?? '1.0.0',
      ...(o.contextId ? { context_id: o.contextId } : {}),
      ...(o.dataLocality ? { data_locality: o.dataLocality } : {}),
      ...(o.resourceLinks ? { resource_links: o.resourceLinks } : {}),
      payload: { ...payload, schema_version: o.schemaVersion ?? '1.0' },
    };
  }

  /** Sends an envelope, again while that may help. @throws TroupeRefusal */
  async send(first: Envelope, { signal }: { signal?: AbortSignal } = {}): Promise<Task> {
    let envelope = first;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#post(envelope, signal);
      } catch (error) {
        if (!(error instanceof TroupeRefusal)) throw error;
        const lastSeq = error.details['last_seq'];
        if (error.code === 'CONFLICT' && typeof lastSeq === 'number') {
          // Another envelope of this subject was faster; the key keeps this one from counting
          // twice.
          if (attempt >= (this.#o.attemptsMax ?? 7)) throw error;
          envelope = { ...envelope, seq: this.#seqAbove(lastSeq, envelope) };
          continue;
        }
        const mayPass = error.status === 0 || RESEND.has(error.status);
        if (!mayPass || attempt >= (this.#o.attemptsMax ?? 7)) throw error;
        await pause(this.#pauseMs(attempt, error.retryAfterSec), signal);
      }
    }
  }

  /** @throws TroupeRefusal NOT_FOUND */
  task(taskId: string, { signal }: { signal?: AbortSignal } = {}): Promise<Task> {
    return this.#request('GET', `/v1/tasks/${encodeURIComponent(taskId)}`, undefined, signal);
  }

  /** Waits for the end of a task. */
  async finished(task: Task, { signal }: { signal?: AbortSignal } = {}): Promise<Task> {
    let now = task;
    for (let failures = 0; !isFinal(now); ) {
      try {
        for await (const event of this.events(now.task_id, { after: lastEvent(now), signal }))
          now = event.task;
        if (!isFinal(now)) now = await this.task(now.task_id, { signal });
        failures = 0;
      } catch (error) {
        if (
          signal?.aborted ||
          (error instanceof TroupeRefusal && !RESEND.has(error.status) && error.status !== 0)
        )
          throw error;
        failures++;
      }
      if (!isFinal(now)) await pause(this.#pauseMs(failures + 1), signal);
    }
    return now.result === undefined && now.state === 'SUCCEEDED'
      ? this.task(now.task_id, { signal })
      : now;
  }

  /** What a task tells, from event `after` + 1 on, until it has ended or the connection breaks. */
  async *events(
    taskId: string,
    { after = 0, signal }: { after?: number; signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<TaskEvent> {
    const response = await this.#fetch('GET', `/v1/tasks/${encodeURIComponent(taskId)}/events`, {
      headers: { accept: 'text/event-stream', 'last-event-id': String(after) },
      signal,
    });
    if (!response.ok) throw await refusalOf(response);
    for await (const data of eventData(response)) yield JSON.parse(data) as TaskEvent;
  }

  /** @throws TroupeRefusal CONFLICT when it has ended otherwise */
  cancel(taskId: string, reason?: string): Promise<Task> {
    const body = reason === undefined ? {} : { reason };
    return this.#request('POST', `/v1/tasks/${encodeURIComponent(taskId)}/cancel`, body);
  }

  /** Gives a task the input or approval that it waits for. */
  input(taskId: string, input: unknown): Promise<Task> {
    return this.#request('POST', `/v1/tasks/${encodeURIComponent(taskId)}/input`, { input });
  }

  /** What is on offer. */
  capabilities(): Promise<Record<string, unknown>> {
    return this.#request('GET', '/mcp/capabilities');
  }

  /** Stores a file; what to put into a payload. */
  async upload(
    contents: Uint8Array<ArrayBuffer>,
    contentType: string,
  ): Promise<{ artifact_uri: string; artifact_hash: string; content_type: string }> {
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', contents));
    const response = await this.#fetch('POST', '/v1/artifacts', {
      headers: { 'content-type': contentType, 'x-artifact-sha256': hex(digest) },
      body: contents,
    });
    if (!response.ok) throw await refusalOf(response);
    return (await response.json()) as {
      artifact_uri: string;
      artifact_hash: string;
      content_type: string;
    };
  }

  // Rises per subject and MAJOR, also after a restart: a new client begins above an old one's.
  #nextSeq(subject: string, version = '1.0.0'): number {
    const key = `${version.split('.', 1)[0]} ${subject}`;
    const next = Math.max((this.#seqs.get(key) ?? 0) + 1, Date.now());
    this.#seqs.set(key, next);
    return next;
  }

  #seqAbove(last: number, { payload, context_id, action_version }: Envelope): number {
    const subject = subjectOf(payload, context_id);
    const key = `${action_version.split('.', 1)[0]} ${subject}`;
    this.#seqs.set(key, Math.max(this.#seqs.get(key) ?? 0, last));
    return this.#nextSeq(subject, action_version);
  }

  async #post(envelope: Envelope, signal?: AbortSignal): Promise<Task> {
    const text = JSON.stringify(envelope);
    const signature = await this.#sign(envelope);
    const response = await this.#fetch('POST', '/v1/envelopes', {
      headers: {
        'content-type': 'application/json',
        ...(signature ? { 'x-jws-signature': signature } : {}),
      },
      body: text,
      signal,
    });
    if (response.ok) return (await response.json()) as Task;
    throw await refusalOf(response);
  }

  async #request<T = Task>(
    method: string,
    path: string,
    body?: unknown,
    signal?: AbortSignal,
  ): Promise<T> {
    const response = await this.#fetch(method, path, {
      ...(body === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      signal,
    });
    if (!response.ok) throw await refusalOf(response);
    return (await response.json()) as T;
  }

  async #fetch(
    method: string,
    path: string,
    init: { headers?: Record<string, string>; body?: BodyInit; signal?: AbortSignal | undefined },
  ): Promise<Response> {
    const { token, url } = this.#o;
    const bearer = typeof token === 'function' ? await token() : token;
    try {
      return await (this.#o.fetch ?? fetch)(url + path, {
        method,
        headers: { authorization: `Bearer ${bearer}`, ...init.headers },
        ...(init.body === undefined ? {} : { body: init.body }),
        ...(init.signal ? { signal: init.signal } : {}),
      });
    } catch (cause) {
      if (init.signal?.aborted) throw cause;
      const message = `no answer from ${url}: ${(cause as Error).message}`;
      throw new TroupeRefusal({ code: 'UNAVAILABLE', message }, 0, cause);
    }
  }

  #pauseMs(attempt: number, retryAfterSec?: number): number {
    const most = Math.min(this.#o.pauseMsMax ?? 30_000, PAUSE_MS_FIRST * 2 ** (attempt - 1));
    return Math.max((retryAfterSec ?? 0) * 1_000, Math.random() * most);
  }

  /** Detached JWS (RFC 7515 appendix F) over the canonical envelope (RFC 8785). */
  async #sign(envelope: Envelope): Promise<string | undefined> {
    const { signingKey } = this.#o;
    if (!signingKey) return undefined;
    this.#key ??= crypto.subtle.importKey('jwk', signingKey.jwk, { name: 'Ed25519' }, false, [
      'sign',
    ]);
    const head = base64url(bytesOf(JSON.stringify({ alg: 'EdDSA', kid: signingKey.kid })));
    const body = base64url(bytesOf(canonical(envelope)));
    const signature = await crypto.subtle.sign(
      'Ed25519',
      await this.#key,
      bytesOf(`${head}.${body}`),
    );
    return `${head}..${base64url(new Uint8Array(signature))}`;
  }
}

/** The action's arguments; `schema_version` is added. */
export type Payload = { readonly [field: string]: unknown };

const subjectOf = (payload: Payload, contextId?: string): string => {
  const { subject } = payload as { subject?: unknown };
  return typeof subject === 'string' && subject !== '' ? subject : (contextId ?? '');
};

const lastEvent = ({ events }: Task): number => events.at(-1)?.n ?? 0;

const refusalOf = async (response: Response): Promise<TroupeRefusal> => {
  const after = Number(response.headers.get('retry-after') ?? Number.NaN);
  const text = await response.text().catch(() => '');
  let error: WireError = {
    code: 'UNAVAILABLE',
    message: `HTTP ${response.status} ${text.slice(0, 200)}`,
  };
  try {
    error = (JSON.parse(text) as { error: WireError }).error ?? error;
  } catch {
    // not of the taxonomy: a proxy's answer
  }
  return new TroupeRefusal(
    Number.isFinite(after) ? { ...error, retry_after_sec: after } : error,
    response.status,
  );
};

/** The `data` of each server-sent event. */
async function* eventData(response: Response): AsyncGenerator<string> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const data = block
          .split('\n')
          .filter((line) => line.startsWith('data:'))
          .map((line) => line.slice(5).trimStart());
        if (data.length > 0) yield data.join('\n');
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        reject(signal.reason as Error);
      },
      { once: true },
    );
  });

/**
 * Canonical JSON (RFC 8785): JavaScript writes numbers and texts as it asks for; keys are sorted.
 */
export const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  fields.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${canonical(field)}`).join(',')}}`;
};

const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
