/** `/v1/tasks`: a task as it is, what it tells, its cancel, its input (EN7, EN8). */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type CheckAnswer, checker } from '../../protocols/check.ts';
import { ENVELOPE_BYTES_MAX } from '../../protocols/envelope.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { TaskEvent } from '../../protocols/task.ts';
import { Type } from '@sinclair/typebox';
import { schemaFault } from '../edge/checks.ts';
import type { Edge, Identity } from '../edge/edge.ts';
import { credentialsOf, sendTask } from './envelopes.ts';
import { header, jsonBytes, parseJson, type Route, type RouteRequest, sendJson } from './route.ts';

const closed = { additionalProperties: false } as const;
const checkCancel = checker(
  Type.Object({ reason: Type.Optional(Type.String({ maxLength: 1_024 })) }, closed),
);
const checkInput = checker(Type.Object({ input: Type.Unknown() }, closed), { secret: /./ });

/** Between two comments on a quiet stream: proxies close what is silent for a minute. */
const HEARTBEAT_MS = 15_000;
/** Streams of one gateway at once; each looks at its task's row once a second. */
const STREAMS_MAX = 10_000;
/** of them, those of one principal. */
const OWN_STREAMS_MAX = 1_000;
const STREAMS_FULL_RETRY_MS = 5_000;
const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
};

export type TaskRoutesOptions = {
  readonly edge: Edge;
  readonly identity: Pick<Identity, 'authenticate'>;
  /** streams at once, of this gateway and of one principal; default 10,000 and 1,000 */
  readonly streamsMax?: { readonly all: number; readonly own: number };
};

export const taskRoutes = (options: TaskRoutesOptions): readonly Route[] => {
  const { edge } = options;
  const streams = new Streams(options);
  return [...taskAnswers(edge), streams.route];
};

const taskAnswers = (edge: Edge): readonly Route[] => [
  {
    method: 'GET',
    path: '/v1/tasks/{id}',
    handle: async (incoming) => {
      const view = await edge.task(incoming.params['id']!, credentialsOf(incoming));
      sendJson(incoming.response, 200, view);
    },
  },
  {
    method: 'POST',
    path: '/v1/tasks/{id}/cancel',
    handle: async (incoming) => {
      const { reason } = fitting(checkCancel, await json(incoming, {}));
      const view = await edge.cancel(incoming.params['id']!, credentialsOf(incoming), reason);
      sendTask(incoming.response, view);
    },
  },
  {
    method: 'POST',
    path: '/v1/tasks/{id}/input',
    handle: async (incoming) => {
      const { input } = fitting(checkInput, await json(incoming));
      const view = await edge.input(incoming.params['id']!, credentialsOf(incoming), input);
      sendTask(incoming.response, view);
    },
  },
];

/** @param empty stands for a body that was left out */
const json = async (incoming: RouteRequest, empty?: unknown): Promise<unknown> => {
  const { headers } = incoming.request;
  const isEmpty = !headers['transfer-encoding'] && Number(headers['content-length'] ?? 0) === 0;
  if (isEmpty && empty !== undefined) return empty;
  return parseJson(await jsonBytes(incoming, ENVELOPE_BYTES_MAX));
};

const fitting = <T>(check: (value: unknown) => CheckAnswer<T>, body: unknown): T => {
  const answer = check(body);
  if (answer.ok) return answer.value;
  throw schemaFault('the body is not valid', answer.errors);
};

/**
 * Server-sent events (WHATWG HTML, 9.2): `id` is the event's number, so that a client that comes
 * again with `Last-Event-ID` misses none. Ends with the task; a client that leaves ends nothing
 * else, and one that does not read for two heartbeats is left.
 */
class Streams {
  readonly route: Route = {
    method: 'GET',
    path: '/v1/tasks/{id}/events',
    handle: (incoming) => this.#open(incoming),
  };
  readonly #edge: Edge;
  readonly #identity: Pick<Identity, 'authenticate'>;
  readonly #max: { readonly all: number; readonly own: number };
  readonly #byPrincipal = new Map<string, number>();
  #count = 0;

  constructor({ edge, identity, streamsMax }: TaskRoutesOptions) {
    this.#edge = edge;
    this.#identity = identity;
    this.#max = streamsMax ?? { all: STREAMS_MAX, own: OWN_STREAMS_MAX };
  }

  async #open(incoming: RouteRequest): Promise<void> {
    const { request, response, params } = incoming;
    const after = lastEventId(header(request, 'last-event-id'));
    const { tenant, sub } = await this.#identity.authenticate(credentialsOf(incoming));
    await this.#edge.task(params['id']!, credentialsOf(incoming));
    const leave = this.#enter(`${tenant} ${sub}`);
    try {
      response.writeHead(200, STREAM_HEADERS);
      if (request.method === 'HEAD') return;
      response.flushHeaders();
      const stop = heartbeat(response);
      await this.#tell(incoming, after).finally(stop);
    } finally {
      leave();
      response.end();
    }
  }

  /** Returns how to leave, once. @throws TroupeError RATE_LIMIT_EXCEEDED */
  #enter(who: string): () => void {
    const own = this.#byPrincipal.get(who) ?? 0;
    const { all: allMax, own: ownMax } = this.#max;
    if (this.#count >= allMax) throw tooMany(`this gateway tells of ${allMax} tasks at once`);
    if (own >= ownMax) throw tooMany(`you have ${ownMax} streams open at this gateway`);
    this.#count += 1;
    this.#byPrincipal.set(who, own + 1);
    return () => {
      this.#count -= 1;
      const left = this.#byPrincipal.get(who)! - 1;
      if (left === 0) this.#byPrincipal.delete(who);
      else this.#byPrincipal.set(who, left);
    };
  }

  async #tell(incoming: RouteRequest, after: number): Promise<void> {
    const { response, params, signal } = incoming;
    const events = this.#edge.events(params['id']!, credentialsOf(incoming), { after, signal });
    for await (const event of events) await write(response, event, signal);
  }
}

const tooMany = (why: string): TroupeError =>
  new TroupeError('RATE_LIMIT_EXCEEDED', `${why}: come again, or ask for the task`, {
    retryAfterMs: STREAMS_FULL_RETRY_MS,
  });

/** Returns how to stop. */
const heartbeat = (response: ServerResponse): (() => void) => {
  let unread = 0;
  const timer = setInterval(() => {
    unread = response.writableNeedDrain ? unread + 1 : 0;
    if (unread > 1) response.destroy();
    else response.write(': still here\n\n');
  }, HEARTBEAT_MS);
  return () => clearInterval(timer);
};

/** Waits while the client does not read. */
const write = async (
  response: ServerResponse,
  event: TaskEvent,
  signal: AbortSignal,
): Promise<void> => {
  const text = `id: ${event.n}\nevent: ${event.event}\ndata: ${JSON.stringify(event)}\n\n`;
  if (response.write(text) || signal.aborted) return;
  await once(response, 'drain', { signal }).catch(() => {});
};

const lastEventId = (text: string | undefined): number => {
  if (text === undefined || text === '') return 0;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new TroupeError(
    'INVALID_ARGUMENT',
    'Last-Event-ID is the number of an event: 1 or above, or left out',
  );
};
