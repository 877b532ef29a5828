/**
 * `troupe keys create` and `troupe keys rotate`: create a key pair on this machine. The private key
 * is written to one file only; the public key is registered at the gateway.
 */
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Static } from '@sinclair/typebox';
import { writeKeyFile } from '../../channels/edge/identity/key-file.ts';
import { newSigningKey } from '../../channels/edge/identity/local-issuer.ts';
import { addKey, rotateKey } from '../../operations/keys.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { KeyRow } from '../../protocols/security/keyring.ts';
import { ed25519Jwk, kidOf } from '../../protocols/security/signature.ts';
import { exitCodes } from '../exit.ts';
import { connectionFailure } from '../../client/gateway-errors.ts';
import { type GatewayHttp, gatewayHttp } from '../client/gateway-http.ts';
import type { TenantClientOptions } from '../options.ts';
import { printJson } from '../output.ts';
import { callOperation } from '../run-operation.ts';

export type NewKeyOptions = TenantClientOptions & { readonly sub: string; readonly out?: string };
export type RotateOptions = NewKeyOptions & {
  /** seconds */
  readonly overlap?: number;
};

type Registration = Static<typeof addKey.params>;
type Register = (http: GatewayHttp, key: Registration) => Promise<KeyRow>;

export const create = (options: NewKeyOptions): Promise<number> =>
  register(options, (http, key) => callOperation(addKey, http, key, options));

export const rotate = ({ overlap, ...options }: RotateOptions): Promise<number> =>
  register(options, (http, key) =>
    callOperation(rotateKey, http, { ...key, ...defined({ overlap_sec: overlap }) }, options),
  );

/** Writes the file first: a registered key without its private key would be useless. */
async function register(options: NewKeyOptions, send: Register): Promise<number> {
  const { sub, out } = options;
  const key = newSigningKey();
  const kid = kidOf(key);
  const file = resolve(out ?? `${fileName(sub)}.${kid.slice(0, 8)}.jwk`);
  const http = await gatewayHttp(options);
  await writeKeyFile(file, { ...key, kid });
  const registration = { sub, public_jwk: ed25519Jwk(key) };
  const row = await send(http, registration).catch(async (error: unknown) => {
    if (isRefusal(error)) await rm(file, { force: true });
    else
      process.stderr.write(
        `troupe: the key ${kid} may be registered; its private key is in ${file}\n`,
      );
    throw error;
  });
  if (options.json) printJson({ ...row, file });
  else {
    process.stdout.write(
      `${sub} signs with ${kid} until ${row.expires_at}\nits private key is in ${file}\n`,
    );
  }
  return exitCodes.ok;
}

/** Whether the gateway has certainly not registered the key. */
const isRefusal = (error: unknown): boolean =>
  connectionFailure(error) === 'unreachable' ||
  (error instanceof TroupeError && !['UNAVAILABLE', 'DEADLINE_EXCEEDED'].includes(error.code));

const fileName = (sub: string): string => sub.replaceAll(/[^A-Za-z0-9_-]+/g, '-').slice(0, 64);
