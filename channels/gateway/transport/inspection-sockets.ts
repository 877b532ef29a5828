/**
 * WebSockets for Stately's inspector. They only send. The client has no headers to set, so the
 * token may be in the URL; wrong ones are counted as in `connect`.
 *
 * Invariant: nothing is sent before the caller is known to be an operator.
 */
import { setMaxListeners } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { errorData, ERRORS, TroupeError } from '../../../protocols/errors.ts';
import type { GatewayAuth } from '../auth/access.ts';
import { type BearerGuesses, tooManyGuesses } from '../auth/bearer-guesses.ts';
import { accountOf, type AddressList, remoteOf } from '../auth/client-address.ts';
import { queryOf } from '../../http/route.ts';
import { directnessFault } from '../http.ts';
import { CLOSE_GRACE_MS } from '../limits.ts';
import { CLOSE } from './connection.ts';
import { refuseUpgrade } from './refuse-upgrade.ts';

/**
 * The frames for a client, as texts, until `signal` is aborted.
 * @throws TroupeError UNAUTHORIZED, FORBIDDEN unless it is an operator; INVALID_ARGUMENT, NOT_FOUND
 */
export type OpenInspection = (
  request: IncomingMessage,
  signal: AbortSignal,
) => Promise<AsyncIterable<string>>;

export type InspectionSocketsOptions = {
  readonly open: OpenInspection | undefined;
  readonly authMode: GatewayAuth['mode'];
  readonly guesses: BearerGuesses;
  readonly proxies: AddressList;
};

const SOCKETS_MAX = 50;
const SEND_MS_MAX = 30_000;
/** Of a frame that a client sends, though nothing is read. */
const RECEIVED_BYTES_MAX = 1_024;
/** RFC 6455: the server met an unexpected condition. */
const FAILED = 1011;

export class InspectionSockets {
  readonly #o: InspectionSocketsOptions;
  /** of admitted clients */
  readonly #open = new Set<AbortController>();
  /** that are not admitted yet */
  readonly #arriving = new Set<Socket>();
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: RECEIVED_BYTES_MAX,
    perMessageDeflate: false,
    clientTracking: false,
  });

  constructor(options: InspectionSocketsOptions) {
    this.#o = options;
  }

  /** For the HTTP server's `upgrade` event. */
  async upgrade(given: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const ended = new AbortController();
    setMaxListeners(0, ended.signal);
    socket.on('error', () => {});
    socket.once('close', () => ended.abort());
    this.#arriving.add(socket);
    try {
      const request = withTokenOfUrl(given);
      const frames = await this.#admit(request, socket, ended.signal);
      this.#open.add(ended);
      ended.signal.addEventListener('abort', () => this.#open.delete(ended));
      if (ended.signal.aborted) this.#open.delete(ended);
      this.#server.handleUpgrade(request, socket, head, (ws) => {
        ended.signal.addEventListener('abort', () => closeSoon(ws));
        void sendAll(ws, frames).finally(() => ended.abort());
      });
    } catch (error) {
      refuseUpgrade(socket, ERRORS[errorData(error).code].http);
    } finally {
      this.#arriving.delete(socket);
    }
  }

  /** Ends all of them. */
  close(): void {
    for (const socket of this.#arriving) socket.destroy();
    for (const ended of this.#open) ended.abort();
    this.#server.close();
  }

  /** @throws TroupeError unless the client may inspect */
  async #admit(
    request: IncomingMessage,
    socket: Socket,
    signal: AbortSignal,
  ): Promise<AsyncIterable<string>> {
    const { open, authMode, guesses, proxies } = this.#o;
    if (!open) throw new TroupeError('NOT_FOUND', 'nothing can be inspected here');
    const fault = authMode === 'none' ? directnessFault(request, proxies) : undefined;
    if (fault !== undefined) throw new TroupeError('FORBIDDEN', fault);
    const account = accountOf(remoteOf(request, proxies));
    const isOpen = () => !socket.destroyed;
    const refusedMs = await guesses.judge(request.headers.authorization, { account, isOpen });
    if (refusedMs > 0) {
      const { code, message } = tooManyGuesses(refusedMs);
      throw new TroupeError(code, message);
    }
    const frames = await open(request, signal);
    if (this.#open.size >= SOCKETS_MAX)
      throw new TroupeError('RATE_LIMIT_EXCEEDED', `${SOCKETS_MAX} inspections are open`);
    return frames;
  }
}

/** `?token=` counts as the header `Authorization`. */
function withTokenOfUrl(request: IncomingMessage): IncomingMessage {
  const { headers } = request;
  const token = queryOf(request).get('token');
  if (headers.authorization === undefined && token) headers.authorization = `Bearer ${token}`;
  return request;
}

/** Starts the closing handshake; a client that does not answer it is cut off. */
function closeSoon(ws: WebSocket): void {
  ws.close(CLOSE.restart);
  const timer = setTimeout(() => ws.terminate(), CLOSE_GRACE_MS);
  ws.once('close', () => clearTimeout(timer));
}

/**
 * Sends the next frame when the system has taken the one before. A client that takes nothing for
 * SEND_MS_MAX is cut off.
 */
async function sendAll(ws: WebSocket, frames: AsyncIterable<string>): Promise<void> {
  ws.on('error', () => {});
  try {
    for await (const frame of frames) {
      if (ws.readyState !== ws.OPEN) return;
      const timer = setTimeout(() => ws.terminate(), SEND_MS_MAX);
      await new Promise<void>((resolve) => ws.send(frame, () => resolve()));
      clearTimeout(timer);
    }
    ws.close();
  } catch {
    ws.close(FAILED, 'the actors cannot be read');
  }
}
