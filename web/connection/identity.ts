/**
 * An Ed25519 key of this browser: one for the chat page and one for the page that is a node. The
 * private key is not extractable: no script can read it, and it stays in this browser.
 */
import type { DeviceKey } from '../../client/device-proof.ts';
import type { Store } from '../store.ts';

/** Why this browser cannot be a device. */
export type Unable = 'insecure' | 'no-ed25519' | 'no-storage';

export class UnableError extends Error {
  readonly why: Unable;
  constructor(why: Unable) {
    super(why);
    this.why = why;
  }
}

/** Names of keys in the store: of the node, and of the chat page. */
export type KeyName = 'device' | 'page';

/**
 * Returns the same identity at every visit, also to two tabs that create it at once.
 * @throws UnableError
 */
export const openIdentity = async (store: Store, name: KeyName): Promise<DeviceKey> => {
  if (!isSecureContext || crypto.subtle === undefined) throw new UnableError('insecure');
  const kept = await store.get<CryptoKeyPair | null>('keys', name);
  // A stored value that is not our key cannot sign and cannot be repaired, so it is replaced.
  if (kept !== undefined && !isOwn(kept)) await store.delete('keys', name);
  const pair = isOwn(kept) ? kept : await store.putIfMissing('keys', name, await makeKeys());
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

const isOwn = (pair: CryptoKeyPair | null | undefined): pair is CryptoKeyPair =>
  pair?.privateKey?.algorithm.name === 'Ed25519' && pair.publicKey.extractable;

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
