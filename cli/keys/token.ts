/**
 * `troupe token`: issues a token for a program, signed with the key of the data folder. The key is
 * created if there is none. It connects to no gateway; the gateway of the same data folder accepts
 * the token.
 */
import { issueToken } from '../../channels/edge/identity/local-issuer.ts';
import { exitCodes } from '../exit.ts';
import { type CommonOptions, loadFrom } from '../options.ts';
import { printJson } from '../output.ts';

export type TokenOptions = CommonOptions & {
  readonly sub: string;
  readonly tenant: string;
  /** separated by commas */
  readonly roles: string;
  /** seconds */
  readonly ttl?: number;
  readonly external?: boolean;
};

const TTL_SEC_DEFAULT = 3_600;

export async function token({ ttl, external = false, ...options }: TokenOptions): Promise<number> {
  const { config } = await loadFrom(options);
  const { sub, tenant } = options;
  const roles = options.roles.split(',').filter(Boolean);
  const ttlSec = ttl ?? TTL_SEC_DEFAULT;
  const now = Date.now();
  const { resource } = config.a2a;
  const made = await issueToken(
    config.home,
    { sub, tenant, roles, resource, ttlSec, external },
    now,
  );
  const expiresAt = new Date(now + ttlSec * 1_000).toISOString();
  if (options.json) printJson({ token: made, sub, tenant, roles, expires_at: expiresAt });
  else process.stdout.write(`${made}\n`);
  return exitCodes.ok;
}
