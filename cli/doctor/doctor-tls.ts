/** The check of `troupe doctor` on the certificate of `gateway.tls`. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { checkCertificate } from '../../installation/certificate-check.ts';
import { defined } from '../../protocols/defined.ts';
import { errorData } from '../../protocols/errors.ts';
import { type Config, gatewayOrigin } from '../../runtime/config/index.ts';
import { fail, type Finding, ok, warn } from './doctor-finding.ts';

const CHECK = 'certificate';
const SOON_MS = 14 * 86_400_000;

/** One finding; none without `gateway.tls`. */
export function* gatewayTls({ gateway }: Pick<Config, 'gateway'>, now: number): Iterable<Finding> {
  const { tls } = gateway;
  if (tls === undefined) return;
  try {
    const [cert, key] = [tls.certFile, tls.keyFile].map((file) => readFileSync(file, 'utf8'));
    checkCertificate(defined({ cert, key }));
    yield judged(new X509Certificate(cert!), hostOf({ gateway }), now);
  } catch (error) {
    const remedy = 'put a certificate and its key, both PEM, into the files of gateway.tls';
    yield fail(CHECK, `gateway.tls cannot be used: ${errorData(error).message}`, remedy);
  }
}

const hostOf = (config: Pick<Config, 'gateway'>): string =>
  new URL(gatewayOrigin(config)).hostname.replace(/^\[|\]$/g, '');

function judged(certificate: X509Certificate, host: string, now: number): Finding {
  const endMs = Date.parse(certificate.validTo);
  const date = new Date(endMs).toISOString().slice(0, 10);
  const renew = 'replace the files of gateway.tls; a running gateway reads them again';
  if (endMs <= now) return fail(CHECK, `gateway.tls expired on ${date}`, renew);
  if (endMs - now < SOON_MS) return warn(CHECK, `gateway.tls expires on ${date}`, renew);
  if (certificate.checkIP(host) === undefined)
    return warn(
      CHECK,
      `gateway.tls is valid until ${date}, and does not name ${host}`,
      'commands of this machine need --url with a name of the certificate; docs/security.md, TLS',
    );
  return ok(CHECK, `gateway.tls is valid until ${date}`);
}
