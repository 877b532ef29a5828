/**
 * `troupe keys`: the keys with which programs outside sign their envelopes (EN12). A pair is made
 * here; its private part goes into a file and nowhere else, the public part to the gateway.
 */
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { writeKeyFile } from '../channels/edge/identity/key-file.ts';
import { newSigningKey } from '../channels/edge/identity/local-issuer.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { KeyRow } from '../protocols/keyring.ts';
import { ed25519Jwk, kidOf } from '../protocols/signature.ts';
import { exitCodes } from './exit.ts';
import { connectionFailure } from './gateway-errors.ts';
import { gatewayHttp, type HttpRequest } from './gateway-http.ts';
import type { ClientOptions } from './options.ts';
import { table } from '../operations/text.ts';
import { printJson } from './output.ts';

export type KeyOptions = ClientOptions & { readonly tenant?: string };
export type NewKeyOptions = KeyOptions & { readonly sub: string; readonly out?: string };
export type RotateOptions = NewKeyOptions & {
  /** seconds */
  readonly overlap?: number;
};

export const create = (options: NewKeyOptions): Promise<number> =>
  register(options, '/v1/keys', {});

export const rotate = ({ overlap, ...options }: RotateOptions): Promise<number> =>
  register(options, '/v1/keys/rotate', overlap === undefined ? {} : { overlap_sec: overlap });

export async function list(options: KeyOptions): Promise<number> {
  const http = await gatewayHttp(options);
  const answer = await http<{ keys: readonly KeyRow[] }>({
    method: 'GET',
    path: `/v1/keys${queryOf(options)}`,
  });
  if (options.json) printJson(answer);
  else if (answer.keys.length === 0) process.stdout.write('there are no keys\n');
  else process.stdout.write(table(['sub', 'status', 'good until', 'key'], answer.keys.map(cells)));
  return exitCodes.ok;
}

export async function revoke(kid: string, options: KeyOptions): Promise<number> {
  const http = await gatewayHttp(options);
  const path = `/v1/keys/${encodeURIComponent(kid)}${queryOf(options)}`;
  const row = await http<KeyRow>({ method: 'DELETE', path });
  if (options.json) printJson(row);
  else process.stdout.write(`${row.sub} can not sign with ${row.kid} any more\n`);
  return exitCodes.ok;
}

/** The file first: a key that is registered and that nobody has would be of no use. */
async function register(
  options: NewKeyOptions,
  path: HttpRequest['path'],
  more: { readonly overlap_sec?: number },
): Promise<number> {
  const { sub, tenant, out } = options;
  const key = newSigningKey();
  const kid = kidOf(key);
  const file = resolve(out ?? `${fileName(sub)}.${kid.slice(0, 8)}.jwk`);
  const http = await gatewayHttp(options);
  await writeKeyFile(file, { ...key, kid });
  const body = { sub, public_jwk: ed25519Jwk(key), ...(tenant && { tenant }), ...more };
  const row = await http<KeyRow>({ method: 'POST', path, body }).catch(async (error: unknown) => {
    if (isRefusal(error)) await rm(file, { force: true });
    else process.stderr.write(`troupe: the key ${kid} may be registered; it is kept in ${file}\n`);
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

/** Whether the gateway has certainly not taken the key. */
const isRefusal = (error: unknown): boolean =>
  connectionFailure(error) === 'unreachable' ||
  (error instanceof TroupeError && !['UNAVAILABLE', 'DEADLINE_EXCEEDED'].includes(error.code));

const fileName = (sub: string): string => sub.replaceAll(/[^A-Za-z0-9_-]+/g, '-').slice(0, 64);

const queryOf = ({ tenant }: KeyOptions): string =>
  tenant === undefined ? '' : `?tenant=${encodeURIComponent(tenant)}`;

const cells = ({ sub, status, retires_at, expires_at, kid }: KeyRow): readonly string[] => [
  sub,
  status,
  status === 'active' || status === 'retiring' ? (retires_at ?? expires_at) : '-',
  kid,
];
