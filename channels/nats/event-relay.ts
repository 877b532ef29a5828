/**
 * Publishes task events for external subscribers on `a2a.{domain}.{env}.out.{tenant}`.
 *
 * Every gateway receives every event on the Bus. Rendezvous hashing of the task's id selects the
 * live gateway that publishes it. A gateway that joins or leaves thus moves only its own share.
 *
 * Guarantee: while a gateway is alive that received an event of the task, each event is published
 * at least once, in order, and at most some seconds late:
 *  1. If a worker crashes after its commit, the Bus may lose an event. The task's committed row
 *     contains all events. It is read when an open task was silent for some time, with exponential
 *     backoff.
 *  2. When a gateway leaves, its successors publish again the events of the time before its failure
 *     was detected.
 *  3. Repeats have the same `event_id` and the same header `Nats-Msg-Id`, with which a JetStream
 *     stream over the subject deduplicates them.
 *
 * NATS itself delivers only to current subscribers. A client that missed events sends its envelope
 * again: the answer contains the current task.
 */
import { entryPointSubject } from '../../protocols/subjects.ts';
import {
  ENTRY_POINT_EVENTS_TOPIC,
  isFinal,
  type TaskEvent,
  type TaskRow,
  taskAddress,
  TASKS_INDEX,
  taskTopic,
  type TaskView,
} from '../../protocols/task.ts';
import { isSealedResult, withoutSealedResult } from '../../protocols/security/sealed-result.ts';
import { parseAction } from '../../protocols/envelope.ts';
import { errorData } from '../../protocols/errors.ts';
import type { Clock, Pubsub, System } from '../../runtime/index.ts';

export type EventRelayOptions = {
  readonly pubsub: Pick<Pubsub, 'publish'>;
  readonly system: Pick<System, 'bus' | 'index' | 'nodes'>;
  readonly env: string;
  /** this gateway's name in `system.nodes()` */
  readonly node: string;
  readonly clock: Clock;
  readonly log: { warn(facts: object, message: string): void };
};

/** Maximum number of followed tasks; beyond it the least recently active are dropped. */
export const FOLLOWED_MAX = 50_000;
const POLL_MS = 1_000;
/** Silence of an open task before its row is read; doubled each time. */
const SILENT_MS = { first: 2_000, max: 60_000 };
/** Longer than the time until all gateways have detected a failure. */
const GONE_MS = 10_000;

type Followed = {
  readonly tenant: string;
  /** number of the last event that was received or read */
  n: number;
  lastEventAtMs: number;
  silentMs: number;
  nextReadAtMs: number;
  final: boolean;
};

export class EventRelay {
  readonly #o: EventRelayOptions;
  /** by task id, the most recently active last */
  readonly #followed = new Map<string, Followed>();
  readonly #unsubscribe: () => void;
  #gateways: readonly string[];
  #cancel: () => void;

  constructor(options: EventRelayOptions) {
    this.#o = options;
    this.#gateways = this.#liveGateways();
    const { bus } = options.system;
    const unsubscribe = [
      bus.subscribe(taskTopic('*', '*'), ({ payload }) => this.#onTaskEvent(payload as TaskEvent)),
      bus.subscribe(`${ENTRY_POINT_EVENTS_TOPIC}.*.*`, (message) => this.#onDomainEvent(message)),
    ];
    this.#unsubscribe = () => {
      for (const end of unsubscribe) end();
    };
    this.#cancel = options.clock.after(POLL_MS, () => this.#poll());
  }

  /** Follows a task that was accepted here, even if none of its events is received. */
  follow({ tenant_id: tenant, task_id: id, state }: TaskView): void {
    if (!this.#followed.has(id))
      this.#keep(id, { ...this.#newlyFollowed(tenant), final: isFinal(state) });
  }

  /** Publishes the last event of a task again, for a sender without a reply subject. */
  publishLast(view: TaskView): void {
    // The view's result may have been opened for one reader; it is published only if the row has it
    // unsealed.
    const { result: _, resource_links: __, ...bare } = view;
    const kept = this.#row(view.tenant_id, view.task_id)?.view.result;
    const isClear = kept !== undefined && !isSealedResult(kept);
    this.#publishEvents(isClear ? view : bare, view.events.length - 1);
  }

  close(): void {
    this.#unsubscribe();
    this.#cancel();
  }

  /** Publishes an event of a domain that is not about a task. */
  #onDomainEvent({ subject, payload }: { subject: string; payload: unknown }): void {
    const [tenant = '', domain = ''] = subject
      .slice(ENTRY_POINT_EVENTS_TOPIC.length + 1)
      .split('.');
    const { type: _, ...event } = payload as { readonly type?: string };
    if (this.#isMine(JSON.stringify(event))) this.#publish(tenant, domain, event);
  }

  #onTaskEvent({ event, event_id, n, at, task }: TaskEvent): void {
    const before = this.#followed.get(task.task_id);
    // The first turn of a task can publish two events. For a task that is not followed yet, earlier
    // events are not repeated.
    const known = before?.n ?? (n <= 2 ? 0 : n - 1);
    this.#keep(task.task_id, {
      ...this.#newlyFollowed(task.tenant_id),
      n: Math.max(known, n),
      final: isFinal(task.state),
    });
    if (!this.#isMine(task.task_id)) return;
    if (n > known + 1) this.#publishEvents(task, known, n - 1);
    const { domain } = parseAction(task.action);
    this.#publish(task.tenant_id, domain, { event, event_id, n, at, task });
  }

  #newlyFollowed(tenant: string): Followed {
    const now = this.#o.clock.monotonicMs();
    const silentMs = SILENT_MS.first;
    return {
      tenant,
      n: 0,
      lastEventAtMs: now,
      silentMs,
      nextReadAtMs: now + silentMs,
      final: false,
    };
  }

  #keep(id: string, followed: Followed): void {
    this.#followed.delete(id);
    this.#followed.set(id, followed);
    if (this.#followed.size <= FOLLOWED_MAX) return;
    const [oldest] = this.#followed.keys();
    this.#followed.delete(oldest!);
  }

  #poll(): void {
    const { clock, log } = this.#o;
    try {
      this.#inherit();
      this.#publishMissed(clock.monotonicMs());
    } catch (error) {
      log.warn({ code: errorData(error).code }, 'nats: events of tasks were not looked for');
    }
    this.#cancel = clock.after(POLL_MS, () => this.#poll());
  }

  /** Publishes the events of tasks that move to this gateway because another one left. */
  #inherit(): void {
    const before = this.#gateways;
    this.#gateways = this.#liveGateways();
    const gone = before.filter((node) => !this.#gateways.includes(node));
    if (gone.length === 0) return;
    const since = this.#o.clock.monotonicMs() - GONE_MS;
    for (const [id, followed] of this.#followed) {
      if (followed.lastEventAtMs < since || !gone.includes(ownerOf(id, before) ?? '')) continue;
      const row = this.#isMine(id) ? this.#row(followed.tenant, id) : undefined;
      if (row) this.#publishEvents(row.view, 0);
    }
  }

  /** Publishes committed events that were not received. */
  #publishMissed(now: number): void {
    for (const [id, followed] of this.#followed) {
      if (followed.final && now > followed.lastEventAtMs + GONE_MS) this.#followed.delete(id);
      if (now < followed.nextReadAtMs) continue;
      followed.silentMs = Math.min(followed.silentMs * 2, SILENT_MS.max);
      followed.nextReadAtMs = now + followed.silentMs;
      const view = this.#row(followed.tenant, id)?.view;
      if (view === undefined) {
        // deleted after its retention, or not in the replica yet
        if (followed.silentMs === SILENT_MS.max) this.#followed.delete(id);
        continue;
      }
      if (this.#isMine(id)) this.#publishEvents(view, followed.n);
      if (view.events.length > followed.n) followed.lastEventAtMs = now;
      followed.n = Math.max(followed.n, view.events.length);
      followed.final = isFinal(view.state);
    }
  }

  /** Publishes the events of a view after the first `after`. */
  #publishEvents(task: TaskView, after: number, upTo = task.events.length): void {
    const { domain } = parseAction(task.action);
    for (const { n, event, at } of task.events.slice(Math.max(0, after), upTo))
      this.#publish(task.tenant_id, domain, {
        event,
        event_id: `${task.task_id}.${n}`,
        n,
        at,
        task: withoutSealedResult(task),
      });
  }

  #publish(tenant: string, domain: string, event: TaskEvent | object): void {
    const { pubsub, env, log } = this.#o;
    const id = 'event_id' in event ? event.event_id : undefined;
    const headers: Record<string, string> = id === undefined ? {} : { 'Nats-Msg-Id': id };
    try {
      const bytes = Buffer.from(JSON.stringify(event));
      pubsub.publish(entryPointSubject('out', domain, env, tenant), bytes, headers);
    } catch (error) {
      const { code, message } = errorData(error);
      log.warn(
        { code, tenant, domain, event_id: id },
        `nats: an event was not published: ${message}`,
      );
    }
  }

  #row(tenant: string, id: string): TaskRow | undefined {
    return this.#o.system.index.get<TaskRow>(TASKS_INDEX, tenant, id, taskAddress(tenant, id));
  }

  /**
   * Also true while this gateway does not know itself in the cluster: duplicates are better than
   * losses.
   */
  #isMine(id: string): boolean {
    const { node } = this.#o;
    return !this.#gateways.includes(node) || ownerOf(id, this.#gateways) === node;
  }

  #liveGateways(): readonly string[] {
    return this.#o.system
      .nodes()
      .filter(({ role, draining }) => role === 'gateway' && !draining)
      .map(({ node }) => node);
  }
}

/**
 * The gateway with the highest hash for this task; equal at all gateways that see the same members.
 */
function ownerOf(id: string, gateways: readonly string[]): string | undefined {
  let best: { readonly node: string; readonly score: number } | undefined;
  for (const node of gateways) {
    const score = hashOf(`${node}/${id}`);
    if (!best || score > best.score || (score === best.score && node > best.node))
      best = { node, score };
  }
  return best?.node;
}

/** FNV-1a, 32 bits, with a finalizer, because the last characters hardly affect its high bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
