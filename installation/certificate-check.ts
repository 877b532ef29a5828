/** Whether a certificate and its key can be used, with a reason that says what to do. */
import { errorData, TroupeError } from '../protocols/errors.ts';

type CertificateFiles = Partial<Record<'ca' | 'cert' | 'key', string>>;

const ENCRYPTED = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m;

/** @param files contents, PEM. @throws TroupeError INVALID_ARGUMENT when they cannot be used */
export function checkCertificate(files: CertificateFiles): void {
  try {
    if (files.key !== undefined && ENCRYPTED.test(files.key))
      throw new Error('the key has a passphrase: remove it (openssl pkey -in KEY -out NEW)');
    // Most processes have no certificate, and the module is 1 MB.
    process.getBuiltinModule('node:tls').createSecureContext(files);
  } catch (error) {
    throw new TroupeError('INVALID_ARGUMENT', reasonOf(errorData(error).message), { cause: error });
  }
}

/** OpenSSL names the place in its code. */
function reasonOf(message: string): string {
  if (/key values mismatch|key type mismatch/.test(message))
    return `the key belongs to another certificate (${message})`;
  if (/DECODER routines::unsupported/.test(message)) return `the key is not PEM (${message})`;
  if (/no start line|bad end line|bad base64/i.test(message))
    return `the certificate or the key is not PEM (${message})`;
  return message;
}
