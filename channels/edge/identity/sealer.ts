/**
 * Opens sensitive payloads with the installation's key, at the Edge to check them and at a worker
 * to do the work, and seals results with it. Opened content is never stored: the stored envelope
 * stays sealed.
 *
 * In a cluster every process needs the same key file.
 */
import type { Envelope } from '../../../protocols/envelope.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import {
  isSealed,
  newSealingKey,
  openPayload,
  type SealedFor,
  sealingJwk,
  type SealingJwk,
  sealingKidOf,
  type SealingPrivateJwk,
  sealPayload,
} from '../../../protocols/security/sealed.ts';
import {
  type OpenResult,
  openResult,
  type SealedResult,
  sealResult,
} from '../../../protocols/security/sealed-result.ts';
import type { TaskView } from '../../../protocols/task.ts';
import { type AnyJwk, keepKeyFile } from './key-file.ts';

/** A public key in `/.well-known/jwks.json`. */
export type PublishedJwk = AnyJwk & { readonly kid: string; readonly use: 'sig' | 'enc' };

export type Sealer = {
  /** the public key that senders use: the first key of the file */
  readonly publicJwk: PublishedJwk;
  /**
   * The envelope with its payload opened.
   * @throws TroupeError INVALID_ARGUMENT for an unsealed payload, with the location of the key;
   *   FORBIDDEN as `openPayload`
   */
  open(envelope: Envelope): Promise<Envelope>;
  /** Seals the result of an envelope for storage. */
  seal(value: OpenResult, belongsTo: SealedFor): Promise<SealedResult>;
  /** The view with its result opened; unchanged if it is not sealed, or sealed to another key. */
  openResult(view: TaskView): Promise<TaskView>;
};

export type SealerOptions = {
  /**
   * file of private keys, created if it does not exist. All of them open; the first is published
   */
  readonly file: string;
  /** location of the public key, for error messages */
  readonly jwksUrl: () => string;
};

/** @throws TroupeError INVALID_ARGUMENT, UNAVAILABLE when the file has no key to seal to */
export async function createSealer({ file, jwksUrl }: SealerOptions): Promise<Sealer> {
  const keys = (await keepKeyFile(file, newSealingKey)).map((jwk) => privateKeyOf(jwk, file));
  for (const key of keys) await assertOpens(key, file);
  const first: SealingJwk = sealingJwk(keys[0]);
  return {
    publicJwk: { ...first, kid: sealingKidOf(first), use: 'enc', alg: 'ECDH-ES+A256KW' },
    async open(envelope) {
      if (!isSealed(envelope.payload)) throw unsealed(envelope.action, jwksUrl());
      return { ...envelope, payload: await openPayload(envelope.payload, keys, envelope) };
    },
    seal: (value, belongsTo) => sealResult(value, first, belongsTo),
    async openResult(view) {
      try {
        return await openResult(view, keys);
      } catch (error) {
        if (error instanceof TroupeError) return view;
        throw error;
      }
    },
  };
}

function privateKeyOf(jwk: AnyJwk, file: string): SealingPrivateJwk {
  const key = sealingJwk(jwk);
  if (typeof jwk['d'] === 'string') return { ...key, d: jwk['d'] };
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `${file} contains a public key: the private key is required`,
  );
}

const PROBE = {
  tenant_id: 'probe',
  action: 'probe.open_seal',
  principal: { sub: 'probe', roles: [] },
};

/** Fails at the start instead of at the first payload that cannot be opened. */
async function assertOpens(key: SealingPrivateJwk, file: string): Promise<void> {
  try {
    const sealed = await sealPayload({ schema_version: '1.0' }, key, PROBE);
    await openPayload(sealed, [key], PROBE);
  } catch (cause) {
    const message = `${file} contains a key whose private and public part do not match`;
    throw new TroupeError('INVALID_ARGUMENT', message, { cause });
  }
}

const unsealed = (action: string, jwksUrl: string) => {
  const message = `must be sealed: { schema_version, jwe } with the key of use "enc" of ${jwksUrl}`;
  return new TroupeError('INVALID_ARGUMENT', `the payload of ${action} ${message}`, {
    details: { errors: [{ path: '/payload', message }], jwks: jwksUrl },
  });
};
