/**
 * CertificateWatch: follows the files of a certificate, its key and its CA. It checks each new
 * content before anything uses it: a pair that cannot be used raises an alarm, the last valid pair
 * stays in use, and open connections are not affected.
 *
 * It reads the files through their paths, so a renamed file and a switched symbolic link (as
 * Kubernetes updates a secret) count as changes.
 *
 * The client of NATS reads its files itself at each connection. The gateway receives each valid
 * pair from the watch and uses it for new connections.
 */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { CertificatePair, GatewayTls } from '../channels/index.ts';
import { defined } from '../protocols/defined.ts';
import { errorData, TroupeError } from '../protocols/errors.ts';
import type { Config } from '../runtime/config/index.ts';
import type { Metrics } from '../runtime/index.ts';
import { checkCertificate } from './certificate-check.ts';

const LOOK_MS = 10_000;

type Files = NonNullable<Config['nats']['tls']>;
type Log = Pick<Logger, 'info' | 'warn'>;

/** The parts of its log lines that depend on who uses the certificate. */
export type CertificateUse = {
  /** such as `the certificates for NATS` */
  readonly name: string;
  /** what a changed pair affects */
  readonly onChange: string;
  /** what continues with an unusable pair */
  readonly onFault: string;
};

const FOR_NATS: CertificateUse = {
  name: 'the certificates for NATS',
  onChange: 'the next connection uses them',
  onFault: 'and the open connection stays',
};
const OF_GATEWAY: CertificateUse = {
  name: 'the certificate of the gateway',
  onChange: 'new connections use it',
  onFault: 'and the former one stays in use',
};

export class CertificateWatch {
  readonly #files: Files;
  readonly #log: Log;
  readonly #use: CertificateUse;
  #seen: string | undefined;
  #fault: string | undefined;
  #expiresAtMs = Number.NaN;
  #pair: CertificatePair | undefined;
  #onPair: ((pair: CertificatePair) => void) | undefined;

  constructor(files: Files, log: Log, use: CertificateUse = FOR_NATS) {
    this.#files = files;
    this.#log = log;
    this.#use = use;
  }

  /** Of the last valid certificate, epoch milliseconds; NaN without one. */
  get expiresAtMs(): number {
    return this.#expiresAtMs;
  }

  /** Why the present files cannot be used. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** The last valid pair; undefined without one. */
  get pair(): CertificatePair | undefined {
    return this.#pair;
  }

  /** Calls `use` with each later valid pair. It replaces the function of an earlier call. */
  onPair(use: (pair: CertificatePair) => void): void {
    this.#onPair = use;
  }

  /** Never rejects. */
  async look(): Promise<void> {
    const { name, onChange, onFault } = this.#use;
    try {
      const { caFile, certFile, keyFile } = this.#files;
      const [ca, cert, key] = await Promise.all([caFile, certFile, keyFile].map(contentOf));
      const content = JSON.stringify([ca, cert, key]);
      if (content === this.#seen) return;
      const isFirst = this.#seen === undefined && this.#fault === undefined;
      this.#seen = content;
      checkCertificate(defined({ ca, cert, key }));
      if (cert !== undefined) this.#noteValidity(new X509Certificate(cert));
      if (cert !== undefined && key !== undefined) this.#onValid({ cert, key });
      this.#fault = undefined;
      if (!isFirst) this.#log.info({}, `${name} changed: ${onChange}`);
    } catch (error) {
      const { message } = errorData(error);
      // The same content is valid again after a file was absent for a while.
      this.#seen = undefined;
      if (message === this.#fault) return;
      this.#fault = message;
      const stays = this.#pair === undefined && this.#use === OF_GATEWAY ? '' : `, ${onFault}`;
      this.#log.warn({ alarm: true }, `${name} cannot be used${stays}: ${message}`);
    }
  }

  /** A certificate outside of its time can be served, but clients refuse it. */
  #noteValidity({ validFrom, validTo }: X509Certificate): void {
    const { name } = this.#use;
    const [fromMs, toMs] = [Date.parse(validFrom), Date.parse(validTo)];
    this.#expiresAtMs = toMs;
    const nowMs = Date.now();
    const day = (ms: number) => new Date(ms).toISOString();
    if (toMs <= nowMs)
      this.#log.warn(
        { alarm: true },
        `${name}: expired on ${day(toMs)}, so others refuse it: replace ${this.#files.certFile}`,
      );
    else if (fromMs > nowMs)
      this.#log.warn(
        { alarm: true },
        `${name}: valid only from ${day(fromMs)}, so others refuse it: set the clock of this ` +
          `machine, or replace ${this.#files.certFile}`,
      );
  }

  #onValid(pair: CertificatePair): void {
    this.#pair = pair;
    this.#onPair?.(pair);
  }
}

const contentOf = async (path: string | undefined): Promise<string | undefined> =>
  path === undefined ? undefined : readFile(path, 'utf8');

type Watchers = { readonly log: Log; readonly metrics: Pick<Metrics, 'gauge'> };

/** Looks at intervals, and at once after SIGHUP. */
function follow(watch: CertificateWatch): void {
  const look = () => void watch.look();
  setInterval(look, LOOK_MS).unref();
  process.on('SIGHUP', look);
}

const expiryOf = (watch: CertificateWatch) => async (): Promise<number> => {
  await watch.look();
  return watch.expiresAtMs / 1_000;
};

/** With its metrics and SIGHUP, which looks at once. Nothing without configured files. */
export function watchCertificates(
  { nats: { tls } }: Pick<Config, 'nats'>,
  { log, metrics }: Watchers,
): void {
  if (tls === undefined || Object.keys(tls).length === 0) return;
  const watch = new CertificateWatch(tls, log);
  void watch.look();
  follow(watch);
  metrics.gauge(
    'troupe_certificate_fault',
    '1 while the files of the certificates for NATS cannot be used',
    () => (watch.fault === undefined ? 0 : 1),
  );
  if (tls.certFile === undefined) return;
  metrics.gauge(
    'troupe_certificate_expiry_timestamp_seconds',
    'end of the client certificate for NATS',
    expiryOf(watch),
  );
}

/**
 * The certificate of `gateway.tls`, followed as above; undefined without one.
 * @throws TroupeError INVALID_ARGUMENT when the files cannot be used at the start
 */
export async function gatewayCertificate(
  { gateway: { tls } }: Pick<Config, 'gateway'>,
  { log, metrics }: Watchers,
): Promise<GatewayTls | undefined> {
  if (tls === undefined) return undefined;
  const { minVersion = 'TLSv1.2', ...files } = tls;
  const watch = new CertificateWatch(files, log, OF_GATEWAY);
  await watch.look();
  const { pair } = watch;
  if (pair === undefined)
    throw new TroupeError('INVALID_ARGUMENT', `gateway.tls cannot be used: ${watch.fault}`);
  follow(watch);
  metrics.gauge(
    'troupe_gateway_certificate_fault',
    '1 while the files of gateway.tls cannot be used; the former certificate is',
    () => (watch.fault === undefined ? 0 : 1),
  );
  metrics.gauge(
    'troupe_gateway_certificate_expiry_timestamp_seconds',
    'end of the certificate of the gateway',
    expiryOf(watch),
  );
  return { minVersion, pair: () => watch.pair ?? pair, onChange: (use) => watch.onPair(use) };
}
