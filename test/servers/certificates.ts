/** Certificates for the servers of tests, made by openssl. */
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

const CA = `[ca]
default_ca = own
[own]
database = index.txt
serial = serial
new_certs_dir = .
default_md = sha256
policy = any
[any]
commonName = supplied
`;

/**
 * A CA (ca.pem) and one certificate of it (cert.pem, key.pem), valid for 127.0.0.1 and localhost,
 * as server and as client.
 *
 * @param between validity; default: from now on, for `days`
 */
export function makeCertificates(
  folder: string,
  { days = 30, between }: { days?: number; between?: readonly [from: Date, to: Date] } = {},
): void {
  const openssl = (...args: string[]) =>
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  writeFileSync(join(folder, 'names'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=ca');
  openssl('req', ...key, '-keyout', 'key.pem', '-out', 'csr.pem', '-subj', '/CN=me');
  const sign = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names'];
  if (between === undefined) {
    const valid = ['-days', String(days)];
    openssl('x509', '-req', '-in', 'csr.pem', ...sign, ...valid, '-out', 'cert.pem');
    return;
  }
  // `openssl x509` accepts dates since version 3.4 only.
  writeFileSync(join(folder, 'ca.cnf'), CA);
  writeFileSync(join(folder, 'index.txt'), '');
  writeFileSync(join(folder, 'serial'), '01');
  const time = (date: Date) => date.toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  const valid = ['-startdate', time(between[0]), '-enddate', time(between[1])];
  const files = ['-cert', 'ca.pem', '-keyfile', 'ca.key', '-in', 'csr.pem', '-out', 'cert.pem'];
  const how = ['-batch', '-notext', '-config', 'ca.cnf', '-extfile', 'names'];
  openssl('ca', ...how, ...files, ...valid);
}
