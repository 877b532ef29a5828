/** The HTTP server of a gateway, plain or with TLS, for its routes and its WebSockets. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { SecureVersion } from 'node:tls';
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

/** A changed certificate is used for new connections; open ones continue. */
export async function createHttpServer(
  tls: GatewayTls | undefined,
  listener: RequestListener,
): Promise<Server> {
  if (tls === undefined) return createServer(SERVER_OPTIONS, listener);
  const { TLS_HANDSHAKE_MS, TlsServer } = await import('./tls-server.ts');
  const { minVersion } = tls;
  const limits = { minVersion, handshakeTimeout: TLS_HANDSHAKE_MS };
  const server = new TlsServer({ ...SERVER_OPTIONS, ...limits, ...tls.pair() }, listener);
  tls.onChange((pair) => server.setSecureContext({ minVersion, ...pair }));
  server.answerPlainRequests();
  return server;
}
