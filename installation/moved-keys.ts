/**
 * The keys of an installation in an export. They are encrypted with a passphrase, because their
 * owner can open sealed payloads and sign as this installation.
 */
import {
  issuerKeyFile,
  jwksIn,
  sealingKeyFile,
  signingKeyFile,
} from '../channels/edge/identity/key-file.ts';
import { TroupeError } from '../protocols/errors.ts';
import { sealingJwk, sealingKidOf } from '../protocols/security/sealed.ts';
import { urlKeyFile } from '../runtime/artifacts/signing-key.ts';
import type { Config } from '../runtime/config/index.ts';
import { openWithPassphrase, sealWithPassphrase } from '../runtime/secrets/passphrase.ts';
import { readSecretFile, writeSecretFile } from '../runtime/secrets/secret-file.ts';
import { artifactsFolder } from './artifact-bucket.ts';

export type MovedKey = {
  readonly name: string;
  readonly path: string;
  /** what is not possible without it */
  readonly use: string;
};

const CONTEXT = 'troupe export: keys of an installation';

export const movedKeys = (config: Config): readonly MovedKey[] => [
  {
    name: 'sealing',
    path: sealingFile(config),
    use: 'stored sealed payloads cannot be opened, and clients must seal to another key',
  },
  {
    name: 'signing',
    path: config.a2a.signingKeyFile ?? signingKeyFile(config.home),
    use: 'external agents need another public key',
  },
  {
    name: 'issuer',
    path: issuerKeyFile(config.home),
    use: 'tokens of troupe token are refused',
  },
  {
    name: 'urls',
    path: urlKeyFile(artifactsFolder(config)),
    use: 'existing signed URLs of files are refused',
  },
];

const sealingFile = ({ home, a2a }: Config): string => a2a.sealingKeyFile ?? sealingKeyFile(home);

/** The keys that the installation has. */
export async function presentKeys(config: Config): Promise<readonly MovedKey[]> {
  const found = await Promise.all(
    movedKeys(config).map(async (key) => ((await readSecretFile(key.path)) ? [key] : [])),
  );
  return found.flat();
}

/** @throws TroupeError INVALID_ARGUMENT when the passphrase is too short */
export async function sealKeys(config: Config, passphrase: string): Promise<Uint8Array> {
  const texts: Record<string, string> = {};
  for (const { name, path } of movedKeys(config)) {
    const text = await readSecretFile(path);
    if (text) texts[name] = text.trim();
  }
  return sealWithPassphrase(Buffer.from(JSON.stringify(texts)), passphrase, CONTEXT);
}

/**
 * Decrypts exported keys. The returned function writes them to their configured places and returns
 * these.
 * @throws TroupeError UNAUTHORIZED for another passphrase; CONFLICT when there is another key
 */
export async function openKeys(
  config: Config,
  sealed: Uint8Array,
  passphrase: string,
): Promise<() => Promise<readonly string[]>> {
  const opened = await openWithPassphrase(sealed, passphrase, CONTEXT);
  const texts = JSON.parse(opened.toString()) as Readonly<Record<string, string>>;
  const keys = movedKeys(config).filter(({ name }) => Object.hasOwn(texts, name));
  for (const { name, path } of keys) {
    const own = await readSecretFile(path);
    if (own === undefined || own.trim() === texts[name]) continue;
    throw new TroupeError(
      'CONFLICT',
      `${path} differs from the exported key: import with an empty data folder (--data)`,
    );
  }
  return async () => {
    for (const { name, path } of keys) await writeSecretFile(path, texts[name]!);
    return keys.map(({ name }) => name);
  };
}

/** Ids of the keys to which payloads may be sealed in this installation. */
export async function sealingKids(config: Config): Promise<readonly string[]> {
  const path = sealingFile(config);
  const text = await readSecretFile(path);
  if (text === undefined) return [];
  return jwksIn(text, path).map((jwk) => sealingKidOf(sealingJwk(jwk)));
}
