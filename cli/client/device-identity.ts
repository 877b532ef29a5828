/**
 * The Ed25519 key of a device, in a file that only its user may read. A node has one, and the
 * command line has one beside the token of the data folder. A program that can read the file can
 * act as the device. The tokens that gateways issue to the device are stored beside the key, in one
 * file per gateway.
 *
 * Invariant: the file is created atomically and the key is never replaced. Processes that start at
 * the same time use the same device.
 */
import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DeviceKey } from '../../client/device-proof.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { makeFolder } from '../../runtime/config/index.ts';

/** `tokens` is in files of earlier versions, which stored all tokens in this file. */
type Kept = { readonly privateKey: string; readonly tokens: Readonly<Record<string, string>> };

export class Identity implements DeviceKey {
  readonly deviceId: string;
  readonly publicKey: string;
  readonly #key: KeyObject;
  readonly #folder: string;
  readonly #earlier: Kept['tokens'];

  private constructor(folder: string, kept: Kept) {
    this.#folder = folder;
    this.#earlier = kept.tokens;
    const der = Buffer.from(kept.privateKey, 'base64url');
    this.#key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    const raw = rawPublicKey(this.#key);
    this.publicKey = raw.toString('base64url');
    this.deviceId = createHash('sha256').update(raw).digest('hex');
  }

  /**
   * The identity of this folder; created if there is none.
   * @throws TroupeError CONFLICT when the file holds no key, UNAVAILABLE when it cannot be written
   */
  static in(folder: string): Identity {
    return Identity.ifIn(folder) ?? Identity.#open(folder, make(keyFile(folder)));
  }

  /** The identity of this folder, undefined if there is none yet. @throws TroupeError CONFLICT */
  static ifIn(folder: string): Identity | undefined {
    const kept = read(keyFile(folder));
    return kept && Identity.#open(folder, kept);
  }

  static #open(folder: string, kept: Kept): Identity {
    try {
      return new Identity(folder, kept);
    } catch (cause) {
      const path = keyFile(folder);
      throw new TroupeError(
        'CONFLICT',
        `${path} contains no device key: remove the file, then pair the device again`,
        { cause },
      );
    }
  }

  /** Whether the gateway at `url` has accepted this device before. */
  knows(url: string): boolean {
    return this.#record(url) !== undefined;
  }

  tokenFor(url: string): string | undefined {
    return this.#record(url) || undefined;
  }

  /**
   * Call after the gateway at `url` accepted the device. Without a token the stored one is removed.
   */
  keepToken(url: string, token: string | undefined): void {
    if (this.#record(url) !== (token ?? '')) replaceFile(this.#tokenFile(url), `${token ?? ''}\n`);
  }

  /** base64url */
  readonly sign = (text: string): string =>
    sign(null, Buffer.from(text), this.#key).toString('base64url');

  /** The stored token, empty if it was removed; undefined for an unknown gateway. */
  #record(url: string): string | undefined {
    return textOf(this.#tokenFile(url))?.trim() ?? this.#earlier[url];
  }

  /**
   * One file per gateway, so that processes that receive tokens at once do not overwrite each
   * other.
   */
  #tokenFile(url: string): string {
    const name = createHash('sha256').update(url.replace(/\/$/, '')).digest('hex').slice(0, 32);
    return join(this.#folder, 'device-tokens', name);
  }
}

const keyFile = (folder: string): string => join(folder, 'device.json');

/** The key of the file, which another process may have created first. */
const make = (path: string): Kept => {
  const { privateKey } = generateKeyPairSync('ed25519');
  const key = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64url');
  try {
    // `link` is atomic and never overwrites an existing file.
    withDraft(path, `${JSON.stringify({ privateKey: key })}\n`, (draft) => linkSync(draft, path));
  } catch (cause) {
    if (codeOf(cause) !== 'EEXIST') throw notWritten(path, cause);
  }
  return read(path) ?? { privateKey: '', tokens: {} };
};

/** Writes atomically; the last of several processes wins. */
const replaceFile = (path: string, text: string): void => {
  try {
    withDraft(path, text, (draft) => renameSync(draft, path));
  } catch (cause) {
    throw notWritten(path, cause);
  }
};

const withDraft = (path: string, text: string, use: (draft: string) => void): void => {
  const draft = `${path}.${randomBytes(6).toString('hex')}.new`;
  makeFolder(dirname(path));
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true });
    use(draft);
  } finally {
    rmSync(draft, { force: true });
  }
};

const notWritten = (path: string, cause: unknown): TroupeError =>
  new TroupeError('UNAVAILABLE', `cannot write ${path} (${codeOf(cause)})`, { cause });

const rawPublicKey = (key: KeyObject): Buffer => {
  const jwk = key.export({ format: 'jwk' });
  const raw = Buffer.from(jwk.x ?? '', 'base64url');
  if (jwk.crv === 'Ed25519' && raw.length === 32) return raw;
  throw new Error('not an Ed25519 key');
};

/** undefined when there is no file. @throws TroupeError CONFLICT */
const read = (path: string): Kept | undefined => {
  const text = textOf(path);
  if (text === undefined) return undefined;
  try {
    const { privateKey, tokens } = JSON.parse(text) as Partial<Kept>;
    return { privateKey: privateKey ?? '', tokens: tokens ?? {} };
  } catch {
    // The parser's message could contain a part of the key.
    return { privateKey: '', tokens: {} };
  }
};

/** undefined when there is no file. @throws TroupeError CONFLICT */
const textOf = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return undefined;
    throw new TroupeError('CONFLICT', `${path} cannot be read (${codeOf(cause)})`, { cause });
  }
};

const codeOf = (cause: unknown): string =>
  (cause as NodeJS.ErrnoException).code ?? (cause as Error).message;
