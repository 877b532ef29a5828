/**
 * Envelope of a sealed file: a random key for the file, wrapped once for each way to open it: a
 * passphrase, or the identity of a recipient.
 */
import { createHash, randomBytes } from 'node:crypto';
import { type Static, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { decode, encode } from '../../protocols/codec.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { openWithPassphrase, sealWithPassphrase } from '../secrets/passphrase.ts';
import { openWithIdentity, sealForRecipient } from '../secrets/recipient.ts';
import { STREAM_KEY_BYTES } from './sealed-stream.ts';

/** At least one way to open what is sealed. */
export type SealFor = {
  readonly passphrase?: string;
  readonly recipients?: readonly string[];
};
/** What the reader has; may be nothing. */
export type OpenWith = { readonly passphrase?: string; readonly identities?: readonly string[] };

const CONTEXT = 'backup';
const Envelope = Type.Object({
  version: Type.Literal(1),
  wraps: Type.Array(
    Type.Object({
      kind: Type.Union([Type.Literal('passphrase'), Type.Literal('recipient')]),
      sealed: Type.Uint8Array(),
    }),
    { minItems: 1, maxItems: 100 },
  ),
});
type Envelope = Static<typeof Envelope>;
const isEnvelope = TypeCompiler.Compile(Envelope);

export type FileKey = {
  readonly key: Uint8Array;
  /** the envelope as it is stored, and what the stream is authenticated with */
  readonly envelope: Uint8Array;
  readonly about: Uint8Array;
};

export const isSealed = ({ passphrase, recipients = [] }: SealFor): boolean =>
  passphrase !== undefined || recipients.length > 0;

/** @throws TroupeError INVALID_ARGUMENT for a short passphrase, or what is not a recipient */
export async function newFileKey({ passphrase, recipients = [] }: SealFor): Promise<FileKey> {
  const key = randomBytes(STREAM_KEY_BYTES);
  const wraps: Envelope['wraps'] = recipients.map((recipient) => ({
    kind: 'recipient',
    sealed: sealForRecipient(key, recipient, CONTEXT),
  }));
  if (passphrase !== undefined)
    wraps.push({ kind: 'passphrase', sealed: await sealWithPassphrase(key, passphrase, CONTEXT) });
  const envelope = encode({ version: 1, wraps });
  return { key, envelope, about: hashOf(envelope) };
}

/**
 * @param path of the file, for errors
 * @throws TroupeError UNAUTHORIZED when nothing that the reader has opens it; INVALID_ARGUMENT
 */
export async function openFileKey(
  path: string,
  envelope: Uint8Array,
  { passphrase, identities = [] }: OpenWith,
): Promise<FileKey> {
  const read = decode<unknown>(envelope);
  if (!isEnvelope.Check(read))
    throw new TroupeError('INVALID_ARGUMENT', `${path} is encrypted in a form that is not known`);
  for (const { kind, sealed } of read.wraps) {
    const attempts =
      kind === 'recipient' ? identities : [passphrase].filter((p) => p !== undefined);
    for (const secret of attempts) {
      const key = await opened(kind, sealed, secret);
      if (key !== undefined) return { key, envelope, about: hashOf(envelope) };
    }
  }
  const kinds = [...new Set(read.wraps.map(({ kind }) => kind))].sort();
  const needed = kinds.map((kind) => (kind === 'recipient' ? 'an identity' : 'a passphrase'));
  const has = passphrase !== undefined || identities.length > 0;
  throw new TroupeError(
    'UNAUTHORIZED',
    `${path} is encrypted: ${has ? 'what was given does not open it; it' : 'it'} needs ${needed.join(' or ')}`,
  );
}

async function opened(
  kind: Envelope['wraps'][number]['kind'],
  sealed: Uint8Array,
  secret: string,
): Promise<Uint8Array | undefined> {
  try {
    return kind === 'recipient'
      ? openWithIdentity(sealed, secret, CONTEXT)
      : await openWithPassphrase(sealed, secret, CONTEXT);
  } catch (error) {
    if (error instanceof TroupeError && error.code === 'UNAUTHORIZED') return undefined;
    throw error;
  }
}

const hashOf = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();
