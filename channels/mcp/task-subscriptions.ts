/**
 * `subscriptions/listen` for tasks (SEP-2663): a stream with `notifications/tasks`, each with the
 * whole task, until all of its tasks have ended. The SDK serves the other subscriptions, and
 * answers the requests that are not valid.
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  SUBSCRIPTION_ID_META_KEY,
} from '@modelcontextprotocol/server';
import { EventStreams, type SentEvent } from '../http/event-streams.ts';
import { header, type RouteRequest } from '../http/route.ts';
import { TASKS_EXTENSION } from '../../protocols/mcp.ts';
import type { McpCaller, McpTask, McpTasks } from './catalog.ts';

/** Tasks of one subscription; a client with more opens another. */
const TASKS_MAX = 100;
const METHOD = 'subscriptions/listen';

export class TaskSubscriptions {
  readonly #streams = new EventStreams();
  readonly #closing = new AbortController();

  /**
   * Serves a subscription to tasks until it ends.
   * @param tasksOf the tasks of the caller
   * @returns false for any other request, before anything is sent
   * @throws TroupeError RATE_LIMIT_EXCEEDED
   */
  async serve(
    incoming: RouteRequest,
    body: unknown,
    caller: McpCaller,
    tasksOf: () => McpTasks | undefined,
  ): Promise<boolean> {
    const asked = listenIn(body, incoming);
    const tasks = asked && tasksOf();
    if (!asked || !tasks?.follow) return false;
    const signal = AbortSignal.any([incoming.signal, this.#closing.signal]);
    await this.#streams.send(incoming, `${caller.tenant} ${caller.sub}`, () =>
      messages(asked, tasks, signal),
    );
    return true;
  }

  /** Ends all streams. */
  close(): void {
    this.#closing.abort();
  }
}

type Listen = { readonly id: string | number; readonly taskIds: readonly string[] };

async function* messages(
  { id, taskIds }: Listen,
  tasks: McpTasks,
  signal: AbortSignal,
): AsyncGenerator<SentEvent, void, void> {
  const _meta = { [SUBSCRIPTION_ID_META_KEY]: id };
  const readable = await Promise.all(taskIds.map((taskId) => tasks.get(taskId).catch(() => null)));
  const accepted = taskIds.filter((_, n) => readable[n]);
  const notifications = accepted.length > 0 ? { taskIds: accepted } : {};
  yield message({
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications, _meta },
  });
  const followed = accepted.map((taskId) => tasks.follow!(taskId, signal));
  for await (const task of merged(followed))
    yield message({ method: 'notifications/tasks', params: { ...task, _meta } });
  yield message({ id, result: { resultType: 'complete', _meta } });
}

const message = (content: object): SentEvent => ({
  event: 'message',
  data: { jsonrpc: '2.0', ...content },
});

/** The values of all sources, as they come. */
async function* merged(
  sources: readonly AsyncGenerator<McpTask, void, void>[],
): AsyncGenerator<McpTask, void, void> {
  const nextOf = async (source: (typeof sources)[number]) => ({
    source,
    next: await source.next(),
  });
  const pending = new Map(sources.map((source) => [source, nextOf(source)]));
  while (pending.size > 0) {
    const { source, next } = await Promise.race(pending.values());
    if (next.done) pending.delete(source);
    else {
      pending.set(source, nextOf(source));
      yield next.value;
    }
  }
}

/** A valid request of a client that has declared the extension; undefined for any other. */
function listenIn(body: unknown, { request }: RouteRequest): Listen | undefined {
  const { jsonrpc, id, method, params } = objectOf(body);
  const { _meta, notifications } = objectOf(params);
  const { [PROTOCOL_VERSION_META_KEY]: revision, [CLIENT_CAPABILITIES_META_KEY]: capabilities } =
    objectOf(_meta);
  const { extensions } = objectOf(capabilities);
  const { taskIds } = objectOf(notifications);
  const isListen =
    jsonrpc === '2.0' &&
    (typeof id === 'string' || typeof id === 'number') &&
    method === METHOD &&
    header(request, 'mcp-method') === METHOD &&
    header(request, 'mcp-protocol-version') === revision &&
    revision === '2026-07-28';
  if (!isListen || !(TASKS_EXTENSION in objectOf(extensions))) return undefined;
  if (!Array.isArray(taskIds) || taskIds.length === 0 || taskIds.length > TASKS_MAX)
    return undefined;
  if (!taskIds.every((one): one is string => typeof one === 'string')) return undefined;
  return { id, taskIds: [...new Set(taskIds)] };
}

const objectOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
