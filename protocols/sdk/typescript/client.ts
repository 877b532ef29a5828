/**
 * TroupeClient: sends envelopes to a troupe over HTTP and follows their tasks. It uses only APIs
 * that Node 20, Deno, Bun and browsers share (fetch, WebCrypto).
 *
 * The client handles:
 * - envelopes: it wraps a payload with ids, time and a sequence number per subject;
 * - retries: temporary failures (408, 429, 502, 503, 504, a broken connection) are retried with the
 *   SAME idempotency key after `Retry-After`, else with jittered exponential backoff, for
 *   `retryMs`. The work is done once, regardless of the number of retries;
 * - waiting: a task that takes longer than the synchronous response is followed to its end;
 * - signing (A2A-External), if a key is set.
 */
import { canonical, type SigningKey, signerOf } from './canonical.js';
import { Connection, type ConnectionOptions, mayPass, TroupeRefusal } from './connection.js';
import { Numbers } from './numbers.js';
import type { Envelope, Evidence, Task, TaskEvent } from './types.js';

export type * from './types.js';
export { canonical, type SigningKey, TroupeRefusal };

export type ClientOptions = ConnectionOptions & {
  /** the tenant of the token */
  readonly tenant: string;
  /** `sub` and roles of the token */
  readonly principal: { readonly sub: string; readonly roles?: readonly string[] };
  /** every envelope is signed with it */
  readonly signingKey?: SigningKey;
  /** for how long a request is retried after temporary failures, milliseconds; default 120,000 */
  readonly retryMs?: number;
  /** attempts per request, including the first; default: as many as `retryMs` allows */
  readonly attemptsMax?: number;
  /** maximum backoff between two attempts, milliseconds; default 10,000 */
  readonly pauseMsMax?: number;
  /** how long failures are tolerated while following a task, milliseconds; default 600,000 */
  readonly patienceMs?: number;
};

export type CallOptions = {
  /** default 1.0.0 */
  readonly version?: string;
  readonly schemaVersion?: string;
  /**
   * a request with the same key and payload returns the first result, for at least a day; default:
   * a new key
   */
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

type Cancellable = { readonly signal?: AbortSignal | undefined };

/** The action's arguments; `schema_version` is added. */
export type Payload = { readonly [field: string]: unknown };

/** The fields of a payload that refer to a file. */
export type ArtifactRef = {
  readonly artifact_uri: string;
  readonly artifact_hash: string;
  readonly content_type: string;
};

const FINAL = new Set(['SUCCEEDED', 'FAILED', 'CANCELLED', 'COMPENSATED', 'EXPIRED']);
export const isFinal = (task: Task): boolean => FINAL.has(task.state);
/** Whether the task waits for input of its caller; `input` sends it. */
export const waitsForInput = (task: Task): boolean => task.waiting?.for === 'input';

const RETRY_MS = 120_000;
const PAUSE_MS_FIRST = 200;
const PAUSE_MS_MAX = 10_000;
const PATIENCE_MS = 600_000;
/** Maximum number of attempts with a new sequence number. */
const RENUMBERINGS_MAX = 20;
/** There is no event when a task starts to wait for input, so the task is also polled. */
const LOOK_MS = { first: 1_000, max: 15_000 };
/** The maximum delay of setTimeout. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * Sends envelopes and follows their tasks.
 * @example
 * ```ts
 * import { TroupeClient } from 'troupe/client';
 *
 * const where = { url: 'http://127.0.0.1:18789', token: 'secret', tenant: 'default' };
 * const client = new TroupeClient({ ...where, principal: { sub: 'ada' } });
 * assert.equal(client.envelope('kiosk.sell_paper', {}).principal.sub, 'ada');
 * ```
 */
export class TroupeClient {
  readonly #o: ClientOptions;
  readonly #connection: Connection;
  readonly #numbers = new Numbers();
  readonly #sign: ((text: string) => Promise<string>) | undefined;

  constructor(options: ClientOptions) {
    this.#o = options;
    this.#connection = new Connection(options);
    this.#sign = options.signingKey && signerOf(options.signingKey);
  }

  /**
   * Sends a payload and waits until its task has ended or waits for input.
   * @throws TroupeRefusal when it was not accepted, or could not be followed
   */
  async call(action: string, payload: Payload, options: CallOptions = {}): Promise<Task> {
    return this.finished(await this.submit(action, payload, options), options);
  }

  /**
   * Sends a payload. Returns the task in its current state: ended, ACKED or RUNNING.
   * @throws TroupeRefusal when it was refused, or not accepted within `retryMs`
   */
  async submit(action: string, payload: Payload, options: CallOptions = {}): Promise<Task> {
    await this.#numbers.free(lineOf(payload, options.contextId, options.version));
    return this.send(this.envelope(action, payload, options), options);
  }

  /** The envelope of a payload, ready to be sent. */
  envelope(action: string, payload: Payload, o: CallOptions = {}): Envelope {
    const { tenant, principal } = this.#o;
    const id = crypto.randomUUID();
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
      seq: this.#numbers.next(lineOf(payload, o.contextId, o.version)),
      action,
      action_version: o.version ?? '1.0.0',
      ...(o.contextId ? { context_id: o.contextId } : {}),
      ...(o.dataLocality ? { data_locality: o.dataLocality } : {}),
      ...(o.resourceLinks ? { resource_links: o.resourceLinks } : {}),
      payload: { ...payload, schema_version: o.schemaVersion ?? '1.0' },
    };
  }

  /**
   * Sends an envelope and retries temporary failures. If its sequence number is too low, it is sent
   * again with a higher one.
   * @throws TroupeRefusal
   */
  async send(envelope: Envelope, { signal }: Cancellable = {}): Promise<Task> {
    try {
      return await this.#post(envelope, {}, signal);
    } catch (error) {
      const last = lastSeqOf(error);
      if (last === undefined) throw error;
      const { payload, context_id, action_version } = envelope;
      const line = lineOf(payload, context_id, action_version);
      // The idempotency key prevents a second execution.
      return this.#numbers.alone(line, () => this.#renumbered(envelope, line, last, signal));
    }
  }

  async #renumbered(first: Envelope, line: string, last: number, signal?: AbortSignal) {
    let above = last;
    for (let round = 1; ; round++) {
      const envelope = { ...first, seq: this.#numbers.above(line, above) };
      try {
        // Later envelopes wait until this one is accepted, not until it is done.
        return await this.#post(envelope, { prefer: 'respond-async' }, signal);
      } catch (error) {
        const faster = lastSeqOf(error);
        if (faster === undefined || round >= RENUMBERINGS_MAX) throw error;
        above = faster;
        await pause(this.#pauseMs(1), signal);
      }
    }
  }

  /** @throws TroupeRefusal NOT_FOUND */
  task(taskId: string, { signal }: Cancellable = {}): Promise<Task> {
    return this.#again(signal, () => this.#connection.json('GET', pathOf(taskId), { signal }));
  }

  /**
   * Waits until a task has ended or waits for input, even if the server restarts.
   * @throws TroupeRefusal when it could not be read for `patienceMs`; the task continues
   */
  async finished(task: Task, { signal }: Cancellable = {}): Promise<Task> {
    let now = task;
    let lookMs = LOOK_MS.first;
    const patience = this.#patience(task.task_id, signal);
    while (!isFinal(now) && !waitsForInput(now)) {
      try {
        now = await this.#followed(now, lookMs, signal);
        patience.restore();
        lookMs = Math.min(2 * lookMs, LOOK_MS.max);
      } catch (error) {
        await patience.bear(error);
      }
    }
    return now;
  }

  /** Returns the task after `lookMs`, or at its end. */
  async #followed(task: Task, lookMs: number, signal?: AbortSignal): Promise<Task> {
    let now = task;
    const enough = new AbortController();
    const stop = () => enough.abort();
    const timer = setTimeout(stop, lookMs);
    signal?.addEventListener('abort', stop, { once: true });
    try {
      for await (const event of this.#stream(now.task_id, lastEvent(now), enough.signal))
        now = event.task;
    } catch (error) {
      signal?.throwIfAborted();
      if (!enough.signal.aborted) throw error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    }
    // An event may lack a large result.
    const isWhole = isFinal(now) && (now.state !== 'SUCCEEDED' || now.result !== undefined);
    return isWhole ? now : this.#connection.json('GET', pathOf(now.task_id), { signal });
  }

  /**
   * The events of a task after number `after`, each once and in order, until the task has ended.
   * Reconnects after connection failures.
   * @throws TroupeRefusal as `finished`
   */
  async *events(
    taskId: string,
    { after = 0, signal }: Cancellable & { readonly after?: number } = {},
  ): AsyncGenerator<TaskEvent> {
    let last = after;
    const patience = this.#patience(taskId, signal);
    for (;;) {
      try {
        for await (const event of this.#stream(taskId, last, signal)) {
          patience.restore();
          last = event.n;
          yield event;
          if (isFinal(event.task) && lastEvent(event.task) <= last) return;
        }
        const task = await this.#connection.json<Task>('GET', pathOf(taskId), { signal });
        if (isFinal(task) && lastEvent(task) <= last) return;
        await pause(this.#pauseMs(1), signal);
      } catch (error) {
        await patience.bear(error);
      }
    }
  }

  async *#stream(taskId: string, after: number, signal?: AbortSignal): AsyncGenerator<TaskEvent> {
    const headers = { accept: 'text/event-stream', 'last-event-id': String(after) };
    const path = `${pathOf(taskId)}/events`;
    for await (const data of this.#connection.data(path, { headers, signal }))
      yield JSON.parse(data) as TaskEvent;
  }

  /**
   * Cancels a task, and compensates it if possible. May be repeated.
   * @throws TroupeRefusal CONFLICT when it has ended otherwise
   */
  async cancel(task: Task | string, reason?: string): Promise<Task> {
    const { task_id, action } = typeof task === 'string' ? await this.task(task) : task;
    const said = reason === undefined ? {} : { reason };
    return this.submit(`${action}.cancel`, { task_id, ...said });
  }

  /**
   * Sends the input that a task waits for. A repeat has no effect.
   * @throws TroupeRefusal CONFLICT when the task does not wait for input
   */
  input(task: Task | string, input: unknown): Promise<Task> {
    const task_id = typeof task === 'string' ? task : task.task_id;
    return this.submit('task.provide_input', { task_id, input });
  }

  /** The offered agents and actions. */
  capabilities(): Promise<Record<string, unknown>> {
    return this.#again(undefined, () => this.#connection.json('GET', '/mcp/capabilities'));
  }

  /** The evidence of a job. @throws TroupeRefusal NOT_FOUND */
  evidence(jobId: string): Promise<{ job_id: string; records: Evidence[] }> {
    const path = `/evidence/${encodeURIComponent(jobId)}`;
    return this.#again(undefined, () => this.#connection.json('GET', path));
  }

  /** Stores a file; returns the fields that refer to it in a payload. */
  async upload(contents: Uint8Array<ArrayBuffer>, contentType: string): Promise<ArtifactRef> {
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', contents));
    const hash = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
    const headers = { 'content-type': contentType, 'x-artifact-sha256': hash };
    const { artifact_uri, artifact_hash, content_type } = await this.#again(undefined, () =>
      this.#connection.json<ArtifactRef>('POST', '/v1/artifacts', { headers, body: contents }),
    );
    return { artifact_uri, artifact_hash, content_type };
  }

  #post(envelope: Envelope, headers: Record<string, string>, signal?: AbortSignal): Promise<Task> {
    const body = JSON.stringify(envelope);
    return this.#again(signal, async () => {
      const signature = this.#sign && { 'x-jws-signature': await this.#sign(body) };
      const type = { 'content-type': 'application/json' };
      return this.#connection.json('POST', '/v1/envelopes', {
        headers: { ...type, ...headers, ...signature },
        body,
        signal,
      });
    });
  }

  /** Retries an idempotent request while its failures are temporary. */
  async #again<T>(signal: AbortSignal | undefined, ask: () => Promise<T>): Promise<T> {
    const { retryMs = RETRY_MS, attemptsMax = Infinity } = this.#o;
    const untilMs = performance.now() + retryMs;
    for (let attempt = 1; ; attempt++) {
      try {
        return await ask();
      } catch (error) {
        if (!mayPass(error) || attempt >= attemptsMax) throw error;
        const waitMs = this.#pauseMs(attempt, error.retryAfterSec);
        if (performance.now() + waitMs > untilMs) throw error;
        await pause(waitMs, signal);
      }
    }
  }

  /** Tolerates temporary failures, with a backoff after each. */
  #patience(taskId: string, signal?: AbortSignal) {
    let failures = 0;
    let sinceMs = 0;
    return {
      restore: () => void (failures = 0),
      bear: async (error: unknown): Promise<void> => {
        if (!mayPass(error)) throw error;
        if (failures++ === 0) sinceMs = performance.now();
        if (performance.now() - sinceMs > (this.#o.patienceMs ?? PATIENCE_MS)) {
          const { code, status, message } = error;
          const text = `the task ${taskId} continues, but its state cannot be read: ${message}`;
          const why = { code, message: text, details: { task_id: taskId } };
          throw new TroupeRefusal(why, status, error);
        }
        await pause(this.#pauseMs(failures, error.retryAfterSec), signal);
      },
    };
  }

  /** At least `Retry-After`, plus jitter, so that clients do not retry at the same time. */
  #pauseMs(attempt: number, retryAfterSec = 0): number {
    const most = Math.min(this.#o.pauseMsMax ?? PAUSE_MS_MAX, PAUSE_MS_FIRST * 2 ** (attempt - 1));
    return retryAfterSec * 1_000 + Math.random() * most;
  }
}

/** The scope in which sequence numbers increase: subject and MAJOR version. */
const lineOf = (payload: Payload, contextId = '', version = '1.0.0'): string => {
  const { subject } = payload;
  const named = typeof subject === 'string' && subject !== '' ? subject : contextId;
  return `${version.split('.', 1)[0]} ${named}`;
};

/** The last accepted number, from a refusal because of the sequence number. */
const lastSeqOf = (error: unknown): number | undefined => {
  if (!(error instanceof TroupeRefusal) || error.code !== 'CONFLICT') return undefined;
  const last = error.details['last_seq'];
  return typeof last === 'number' ? last : undefined;
};

const pathOf = (taskId: string): string => `/v1/tasks/${encodeURIComponent(taskId)}`;
const lastEvent = ({ events }: Task): number => events.at(-1)?.n ?? 0;

const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    };
    const abort = () => {
      end();
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(
      () => {
        end();
        resolve();
      },
      Math.min(ms, TIMER_MS_MAX),
    );
    signal?.addEventListener('abort', abort, { once: true });
  });
