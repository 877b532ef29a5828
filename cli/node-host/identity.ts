/**
 * The node's identity: an Ed25519 key in a file that only its user may read (ND1, GW3). Who has the
 * file is the device; the token that a gateway gives it is kept beside the key, by gateway.
 */
import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import type { ConnectChallenge, ConnectParams } from '../../protocols/gateway/index.ts';

type Kept = { readonly privateKey: string; readonly tokens: Readonly<Record<string, string>> };

export class Identity {
  readonly deviceId: string;
  readonly publicKey: string;
  readonly #key: KeyObject;
  readonly #path: string;
  #kept: Kept;

  private constructor(path: string, kept: Kept) {
    this.#path = path;
    this.#kept = kept;
    const der = Buffer.from(kept.privateKey, 'base64url');
    this.#key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    const raw = rawPublicKey(this.#key);
    this.publicKey = raw.toString('base64url');
    this.deviceId = createHash('sha256').update(raw).digest('hex');
  }

  /**
   * Of this folder; made when there is none. @throws TroupeError CONFLICT for a file that is none
   */
  static in(folder: string): Identity {
    const path = join(folder, 'device.json');
    const kept = read(path) ?? { privateKey: newKey(), tokens: {} };
    try {
      const identity = new Identity(path, kept);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      identity.#write();
      return identity;
    } catch (cause) {
      throw new TroupeError(
        'CONFLICT',
        `${path} is no identity of a node: remove it, then pair the node again`,
        { cause },
      );
    }
  }

  tokenFor(url: string): string | undefined {
    return this.#kept.tokens[url];
  }

  /** undefined: the one there is is worth nothing any more. */
  keepToken(url: string, token: string | undefined): void {
    if (this.#kept.tokens[url] === token) return;
    const { [url]: _, ...others } = this.#kept.tokens;
    this.#kept = {
      ...this.#kept,
      tokens: token === undefined ? others : { ...others, [url]: token },
    };
    this.#write();
  }

  /** The proof for one connection: what is signed is what the hello says. */
  proof(
    { client, role = '', scopes = [], auth }: ConnectParams,
    { nonce, ts }: ConnectChallenge,
  ): NonNullable<ConnectParams['device']> {
    const said = [
      'v3',
      this.deviceId,
      client.id,
      client.mode,
      role,
      scopes.join(','),
      ts,
      auth?.token ?? auth?.deviceToken ?? '',
      nonce,
      client.platform.toLowerCase(),
      (client.deviceFamily ?? '').toLowerCase(),
    ];
    const signature = sign(null, Buffer.from(said.join('|')), this.#key).toString('base64url');
    return { id: this.deviceId, publicKey: this.publicKey, signature, signedAt: ts, nonce };
  }

  /** Whole or not at all. */
  #write(): void {
    const next = `${this.#path}.new`;
    writeFileSync(next, `${JSON.stringify(this.#kept)}\n`, { mode: 0o600 });
    renameSync(next, this.#path);
  }
}

const newKey = (): string => {
  const { privateKey } = generateKeyPairSync('ed25519');
  return privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64url');
};

const rawPublicKey = (key: KeyObject): Buffer => {
  const jwk = key.export({ format: 'jwk' });
  const raw = Buffer.from(jwk.x ?? '', 'base64url');
  if (raw.length === 32) return raw;
  throw new Error(`an Ed25519 key has 32 bytes, this one has ${raw.length}`);
};

/** undefined when there is no file. */
const read = (path: string): Kept | undefined => {
  try {
    const { privateKey, tokens } = JSON.parse(readFileSync(path, 'utf8')) as Partial<Kept>;
    return { privateKey: privateKey ?? '', tokens: tokens ?? {} };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new TroupeError('CONFLICT', `${path} can not be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
};
