/**
 * Server-sent events (WHATWG HTML, 9.2) in one response, with a bounded number of streams. A client
 * that disconnects affects nothing else. A client that does not read for two heartbeats is
 * disconnected.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { TroupeError } from '../../protocols/errors.ts';
import type { RouteRequest } from './route.ts';

/**
 * Interval of comments on a quiet stream: proxies close connections that are silent for a minute.
 */
const HEARTBEAT_MS = 15_000;
/** Maximum number of streams of one gateway; each stream of a task reads its row once a second. */
const STREAMS_MAX = 10_000;
/** Maximum number of streams of one principal. */
const OWN_STREAMS_MAX = 1_000;
const STREAMS_FULL_RETRY_MS = 5_000;
const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
};

export type SentEvent = {
  /** a client that reconnects sends the last one as `Last-Event-ID`; absent: nothing to resume */
  readonly id?: number | undefined;
  /** absent: a message */
  readonly event?: string;
  readonly data: object;
};

/** Maximum number of streams, of this gateway and of one principal; default 10,000 and 1,000. */
export type StreamsMax = { readonly all: number; readonly own: number };

export class EventStreams {
  readonly #max: StreamsMax;
  readonly #byPrincipal = new Map<string, number>();
  #count = 0;

  constructor(max: StreamsMax = { all: STREAMS_MAX, own: OWN_STREAMS_MAX }) {
    this.#max = max;
  }

  /**
   * Sends the events until they end, or the client disconnects.
   * @param who the client whose streams are counted
   * @throws TroupeError RATE_LIMIT_EXCEEDED before anything is sent
   */
  async send(
    { request, response, signal }: RouteRequest,
    who: string,
    events: () => AsyncIterable<SentEvent>,
  ): Promise<void> {
    const leave = this.#enter(who);
    try {
      response.writeHead(200, STREAM_HEADERS);
      if (request.method === 'HEAD') return;
      response.flushHeaders();
      const stop = heartbeat(response);
      try {
        for await (const event of events()) await write(response, event, signal);
      } finally {
        stop();
      }
    } finally {
      leave();
      response.end();
    }
  }

  /** Returns a function that releases the stream's slot. @throws TroupeError RATE_LIMIT_EXCEEDED */
  #enter(who: string): () => void {
    const own = this.#byPrincipal.get(who) ?? 0;
    const { all: allMax, own: ownMax } = this.#max;
    if (this.#count >= allMax) throw tooMany(`this gateway has ${allMax} event streams open`);
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
}

const tooMany = (why: string): TroupeError =>
  new TroupeError('RATE_LIMIT_EXCEEDED', `${why}: try again later, or poll instead`, {
    retryAfterMs: STREAMS_FULL_RETRY_MS,
  });

/** Returns a function that stops the heartbeats. */
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
  { id, event, data }: SentEvent,
  signal: AbortSignal,
): Promise<void> => {
  const number = id === undefined ? '' : `id: ${id}\n`;
  const name = event === undefined ? '' : `event: ${event}\n`;
  const text = `${number}${name}data: ${JSON.stringify(data)}\n\n`;
  if (response.write(text) || signal.aborted) return;
  await once(response, 'drain', { signal }).catch(() => {});
};
