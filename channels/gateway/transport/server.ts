/** The HTTP server of a gateway, plain or with TLS, for its routes and its WebSockets. */
import { createServer, type RequestListener, type Server } from 'node:http';
import { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { SecureVersion, TLSSocket } from 'node:tls';
import { SERVER_OPTIONS } from '../../http/listener.ts';

/** A certificate, with those that lead to its CA, and its private key; both are PEM. */
export type CertificatePair = { readonly cert: string; readonly key: string };

export type GatewayTls = {
  readonly minVersion: SecureVersion;
  /** checked: the key belongs to the certificate */
  pair(): CertificatePair;
  /** Calls `use` with each later pair that passed the check. */
  onChange(use: (pair: CertificatePair) => void): void;
};

/** As long as a WebSocket may take for its own handshake. */
const TLS_HANDSHAKE_MS = 15_000;

/** A changed certificate is used for new connections; open ones continue. */
export function createHttpServer(tls: GatewayTls | undefined, listener: RequestListener): Server {
  if (tls === undefined) return createServer(SERVER_OPTIONS, listener);
  const { minVersion } = tls;
  const limits = { minVersion, handshakeTimeout: TLS_HANDSHAKE_MS };
  const server = new TlsServer({ ...SERVER_OPTIONS, ...limits, ...tls.pair() }, listener);
  tls.onChange((pair) => server.setSecureContext({ minVersion, ...pair }));
  server.answerPlainRequests();
  return server;
}

/** The first byte of every TLS connection: a record of the handshake. */
const HANDSHAKE = 0x16;
const PLAIN_TEXT = 'This port accepts HTTPS and WSS only: use https:// or wss:// in the address.\n';
const PLAIN_ANSWER =
  'HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n' +
  `Content-Length: ${PLAIN_TEXT.length}\r\n\r\n${PLAIN_TEXT}`;

class TlsServer extends HttpsServer {
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
