/** NatsEndpoint: an endpoint reached through the public subjects of NATS. */
import { setTimeout as sleep } from 'node:timers/promises';
import { entryPointSubject } from '../protocols/subjects.ts';
import { isFinal, type TaskEvent } from '../protocols/task.ts';
import type { NatsClient } from '../runtime/pubsub/nats-client.ts';
import type { Endpoint, Http, Reply, SendOptions } from './endpoint.ts';
import { parsed } from './http-endpoint.ts';

const TIMEOUT_MS = 15_000;
const EVENTS_MS = 60_000;
const LOOK_MS = 50;
/** Time to wait for further events after the last one of a task. */
const LATE_MS = 300;

type Options = {
  readonly client: NatsClient;
  readonly env: string;
  readonly tenant: string;
  readonly token: () => string;
  readonly http?: Http | undefined;
};

export class NatsEndpoint implements Endpoint {
  readonly transport = 'nats';
  readonly #o: Options;
  /** received events of all tasks, by task id and number */
  readonly #received = new Map<string, Map<number, TaskEvent>>();
  readonly #unsubscribe: () => void;

  constructor(options: Options) {
    this.#o = options;
    const pattern = `a2a.*.${options.env}.out.${options.tenant}`;
    this.#unsubscribe = options.client.subscribe(pattern, (bytes) => this.#receive(bytes));
  }

  get bytesMax(): number | undefined {
    return this.#o.client.bytesMax;
  }

  get http(): Http {
    // Called only where the HTTP side exists.
    return this.#o.http as Http;
  }

  async send(envelope: string | object, options: SendOptions = {}): Promise<Reply> {
    const { client, env, tenant, token } = this.#o;
    const { action, tenant_id } = (typeof envelope === 'string' ? {} : envelope) as Named;
    const domain = (typeof action === 'string' && action.split('.', 1)[0]) || 'conformance';
    // A program may publish only to its own tenant's subject, whatever its envelope says.
    const of = options.tenant ?? (options.token === undefined ? tenant : (tenant_id ?? tenant));
    const text = typeof envelope === 'string' ? envelope : JSON.stringify(envelope);
    const bearer = options.token === undefined ? token() : options.token;
    const startedAt = performance.now();
    const reply = await client.request(
      entryPointSubject('in', domain, env, of),
      new TextEncoder().encode(text),
      {
        timeoutMs: TIMEOUT_MS,
        headers: {
          ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
          ...(options.signature ? { 'x-jws-signature': options.signature } : {}),
          ...(options.async ? { prefer: 'respond-async' } : {}),
        },
      },
    );
    return {
      status: Number(reply.headers['status'] ?? 0),
      headers: reply.headers,
      body: parsed(new TextDecoder().decode(reply.bytes)),
      ms: performance.now() - startedAt,
    };
  }

  /** The received events; core NATS stores none. */
  async events(taskId: string, after: number): Promise<{ id: string; data: unknown }[]> {
    const deadline = performance.now() + EVENTS_MS;
    while (!this.#hasEnded(taskId) && performance.now() < deadline) await sleep(LOOK_MS);
    await sleep(LATE_MS);
    return [...(this.#received.get(taskId) ?? [])]
      .filter(([n]) => n > after)
      .toSorted(([a], [b]) => a - b)
      .map(([n, data]) => ({ id: String(n), data }));
  }

  async close(): Promise<void> {
    this.#unsubscribe();
    await this.#o.client.close();
  }

  #hasEnded(taskId: string): boolean {
    const events = [...(this.#received.get(taskId)?.values() ?? [])];
    return events.some(({ task }) => isFinal(task.state));
  }

  #receive(bytes: Uint8Array): void {
    const event = parsed(new TextDecoder().decode(bytes)) as Partial<TaskEvent> | null;
    if (event?.task === undefined || event.n === undefined) return;
    const known = this.#received.get(event.task.task_id) ?? new Map<number, TaskEvent>();
    known.set(event.n, event as TaskEvent);
    this.#received.set(event.task.task_id, known);
  }
}

type Named = { readonly action?: unknown; readonly tenant_id?: string };
