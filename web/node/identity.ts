/**
 * Identity: the Ed25519 key of this browser (GW3). The private half is made so that no script can
 * read it, ours neither: it only signs, and stays in this browser.
 */
import type { Store } from './store.ts';

export type Identity = {
  /** hex SHA-256 of the raw public key */
  readonly deviceId: string;
  /** base64url */
  readonly publicKey: string;
  /** base64url */
  sign(text: string): Promise<string>;
};

/** Why this browser can be no device. */
export type Unable = 'insecure' | 'no-ed25519' | 'no-storage';

export class UnableError extends Error {
  readonly why: Unable;
  constructor(why: Unable) {
    super(why);
    this.why = why;
  }
}

const KEY = 'device';

/** The same one at every visit. @throws UnableError */
export const openIdentity = async (store: Store): Promise<Identity> => {
  if (!isSecureContext || crypto.subtle === undefined) throw new UnableError('insecure');
  const kept = await store.get<CryptoKeyPair>('keys', KEY);
  const pair = kept ?? (await makeKeys());
  if (kept === undefined) await store.put('keys', KEY, pair);
  const raw = await crypto.subtle.exportKey('raw', pair.publicKey);
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', raw));
  return {
    deviceId: Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join(''),
    publicKey: base64url(raw),
    sign: async (text) => {
      const bytes = new TextEncoder().encode(text);
      return base64url(await crypto.subtle.sign('Ed25519', pair.privateKey, bytes));
    },
  };
};

const makeKeys = async (): Promise<CryptoKeyPair> => {
  try {
    return await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify']);
  } catch {
    throw new UnableError('no-ed25519');
  }
};

const base64url = (bytes: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
