/** Certificates for the servers of tests, made by openssl. */
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

/**
 * A CA (ca.pem) and one certificate of it (cert.pem, key.pem), valid for 127.0.0.1 and localhost,
 * as server and as client.
 */
export function makeCertificates(folder: string, { days = 30 } = {}): void {
  const openssl = (...args: string[]) =>
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  writeFileSync(join(folder, 'names'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=ca');
  openssl('req', ...key, '-keyout', 'key.pem', '-out', 'csr.pem', '-subj', '/CN=me');
  const sign = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names'];
  openssl('x509', '-req', '-in', 'csr.pem', ...sign, '-days', String(days), '-out', 'cert.pem');
}
