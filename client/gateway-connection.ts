/**
 * GatewayConnection: one WebSocket to a gateway, from its opening to its end. It parses frames and
 * matches responses to requests. The handshake and reconnecting are in gateway-client.ts.
 *
 * Invariant: every request ends: with its last response, or with the error that ends the
 * connection (`failAll`), unless its sender forgets it first.
 */
import type { TroupeError } from '../protocols/errors.ts';
import type { EventFrame, ResponseFrame } from '../protocols/gateway/index.ts';

/** What is used of a WebSocket: the browser's, the one of `ws`, or another with the same API. */
export type ClientSocket = {
  /** OPEN while it can send */
  readonly readyState: number;
  send(text: string): void;
  close(code?: number): void;
  /** ends the connection without a closing handshake, where the platform can do so */
  terminate?(): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: 'close' | 'error', listener: (event: object) => void): void;
};

/** `readyState` of a WebSocket. */
const OPEN = 1;

/** A request that waits for a response. */
export type PendingRequest = {
  /** called once per response; returns whether it was the last one */
  readonly settle: (frame: ResponseFrame) => boolean;
  readonly fail: (error: TroupeError) => void;
};

/** Called synchronously and in the order in which frames arrive. */
export type ConnectionListener = {
  onEvent(frame: EventFrame): void;
  /** after each frame was processed */
  onFrame?(frame: ResponseFrame | EventFrame): void;
  /** called once; `cause`: the error of the socket, if it had one */
  onClose(cause: Error | undefined): void;
};

export class GatewayConnection {
  readonly #socket: ClientSocket;
  readonly #listener: ConnectionListener;
  readonly #pending = new Map<string, PendingRequest>();
  #cause: Error | undefined;
  #ids = 0;
  #ended = false;

  constructor(socket: ClientSocket, listener: ConnectionListener) {
    this.#socket = socket;
    this.#listener = listener;
    socket.addEventListener('message', ({ data }) => this.#onMessage(String(data)));
    // An error ends a WebSocket. Node 22 sends no `close` after a connect that failed.
    socket.addEventListener('error', (event) => {
      this.#cause ??= (event as { readonly error?: Error }).error;
      this.#onClose();
    });
    socket.addEventListener('close', () => this.#onClose());
  }

  /** Sends a request. Returns a function that forgets it: later responses to it are ignored. */
  request(method: string, params: unknown, pending: PendingRequest): () => void {
    const id = String(++this.#ids);
    this.#pending.set(id, pending);
    // One that is closing sends nothing: its end fails the request.
    if (this.#socket.readyState === OPEN)
      this.#socket.send(JSON.stringify({ type: 'req', id, method, params }));
    return () => void this.#pending.delete(id);
  }

  failAll(error: TroupeError): void {
    const failed = [...this.#pending.values()];
    this.#pending.clear();
    for (const { fail } of failed) fail(error);
  }

  close(code?: number): void {
    this.#socket.close(code);
  }

  terminate(): void {
    if (this.#socket.terminate) this.#socket.terminate();
    else this.#socket.close();
  }

  #onClose(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#listener.onClose(this.#cause);
  }

  #onMessage(text: string): void {
    const frame = parsed(text);
    if (frame === undefined) {
      this.#cause = new Error('the server at this address is not a gateway');
      this.terminate();
      return;
    }
    if (frame.type === 'event') this.#listener.onEvent(frame);
    else if (this.#pending.get(frame.id)?.settle(frame)) this.#pending.delete(frame.id);
    this.#listener.onFrame?.(frame);
  }
}

/** Undefined for anything that no gateway sends. Tests validate the shapes of real frames. */
const parsed = (text: string): ResponseFrame | EventFrame | undefined => {
  try {
    return JSON.parse(text) as ResponseFrame | EventFrame;
  } catch {
    return undefined;
  }
};
