/**
 * CertificateWatch: follows the files of the client certificate for NATS. The client reads them
 * again at each connection, so a new pair is used from the next one on and the open connection
 * stays. This watch checks each new content before that: a pair that cannot be used raises an
 * alarm, and the open connection is not affected.
 *
 * It reads the files through their paths, so a renamed file and a switched symbolic link (as
 * Kubernetes updates a secret) count as changes.
 */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Logger } from 'pino';
import { errorData } from '../protocols/errors.ts';
import type { Config } from '../runtime/config/index.ts';
import type { Metrics } from '../runtime/index.ts';

const LOOK_MS = 10_000;

type Files = NonNullable<Config['nats']['tls']>;

export class CertificateWatch {
  readonly #files: Files;
  readonly #log: Pick<Logger, 'info' | 'warn'>;
  #seen: string | undefined;
  #fault: string | undefined;
  #expiresAtMs = Number.NaN;

  constructor(files: Files, log: Pick<Logger, 'info' | 'warn'>) {
    this.#files = files;
    this.#log = log;
  }

  /** Of the last valid certificate, epoch milliseconds; NaN without one. */
  get expiresAtMs(): number {
    return this.#expiresAtMs;
  }

  /** Why the present files cannot be used. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Never rejects. */
  async look(): Promise<void> {
    try {
      const { caFile, certFile, keyFile } = this.#files;
      const [ca, cert, key] = await Promise.all([caFile, certFile, keyFile].map(contentOf));
      const content = JSON.stringify([ca, cert, key]);
      if (content === this.#seen) return;
      const isFirst = this.#seen === undefined && this.#fault === undefined;
      this.#seen = content;
      // Throws when one is not PEM, or when the key belongs to another certificate.
      createSecureContext({ ca, cert, key });
      if (cert !== undefined) this.#expiresAtMs = Date.parse(new X509Certificate(cert).validTo);
      this.#fault = undefined;
      if (!isFirst)
        this.#log.info({}, 'the certificates for NATS changed: the next connection uses them');
    } catch (error) {
      const { message } = errorData(error);
      if (message === this.#fault) return;
      this.#fault = message;
      this.#log.warn(
        { alarm: true },
        `the certificates for NATS cannot be used, and the open connection stays: ${message}`,
      );
    }
  }
}

const contentOf = async (path: string | undefined): Promise<string | undefined> =>
  path === undefined ? undefined : readFile(path, 'utf8');

/** With its metrics and SIGHUP, which looks at once. Nothing without configured files. */
export function watchCertificates(
  { nats: { tls } }: Pick<Config, 'nats'>,
  {
    log,
    metrics,
  }: {
    readonly log: Pick<Logger, 'info' | 'warn'>;
    readonly metrics: Pick<Metrics, 'gauge'>;
  },
): void {
  if (tls === undefined || Object.keys(tls).length === 0) return;
  const watch = new CertificateWatch(tls, log);
  const look = () => void watch.look();
  look();
  setInterval(look, LOOK_MS).unref();
  process.on('SIGHUP', look);
  metrics.gauge(
    'troupe_certificate_fault',
    '1 while the files of the certificates for NATS cannot be used',
    () => (watch.fault === undefined ? 0 : 1),
  );
  if (tls.certFile === undefined) return;
  metrics.gauge(
    'troupe_certificate_expiry_timestamp_seconds',
    'end of the client certificate for NATS',
    async () => {
      await watch.look();
      return watch.expiresAtMs / 1_000;
    },
  );
}
