/** The HTTP server of a gateway with TLS. Loaded only where a certificate is configured. */
import { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** As long as a WebSocket may take for its own handshake. */
export const TLS_HANDSHAKE_MS = 15_000;

/** The first byte of every TLS connection: a record of the handshake. */
const HANDSHAKE = 0x16;
const PLAIN_TEXT = 'This port accepts HTTPS and WSS only: use https:// or wss:// in the address.\n';
const PLAIN_ANSWER =
  'HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n' +
  `Content-Length: ${PLAIN_TEXT.length}\r\n\r\n${PLAIN_TEXT}`;

export class TlsServer extends HttpsServer {
  /** by peer: connections whose handshake is not finished, of which HTTP does not know */
  readonly #greeting = new Map<string, Socket>();

  /** Plain HTTP would end without an answer, and its user would look for the fault elsewhere. */
  answerPlainRequests(): void {
    const secure = this.listeners('connection') as ((socket: Socket) => void)[];
    this.removeAllListeners('connection');
    this.on('connection', (socket: Socket) => {
      this.#follow(socket);
      const close = () => socket.destroy();
      socket.setTimeout(TLS_HANDSHAKE_MS, close);
      socket.on('error', close);
      socket.once('readable', () => {
        const first = socket.read() as Buffer | null;
        if (first === null) return void close();
        socket.setTimeout(0);
        socket.off('timeout', close);
        socket.off('error', close);
        if (first[0] !== HANDSHAKE) return void socket.on('error', close).end(PLAIN_ANSWER, close);
        socket.unshift(first);
        for (const listener of secure) listener.call(this, socket);
      });
    });
    this.on('secureConnection', (socket: TLSSocket) => this.#greeting.delete(peerOf(socket)));
  }

  /** Those without a handshake too: a server that closes would wait for their time limits. */
  override closeIdleConnections(): void {
    super.closeIdleConnections();
    for (const socket of this.#greeting.values()) socket.destroy();
  }

  #follow(socket: Socket): void {
    const peer = peerOf(socket);
    this.#greeting.set(peer, socket);
    socket.once('close', () => {
      if (this.#greeting.get(peer) === socket) this.#greeting.delete(peer);
    });
  }
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
