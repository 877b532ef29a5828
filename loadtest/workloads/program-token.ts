/** The claims of a program's token, which its envelopes must repeat. */
import { TroupeError } from '../../protocols/errors.ts';

export type Principal = {
  readonly tenant: string;
  readonly sub: string;
  readonly roles: readonly string[];
};

/** Not verified: the target does that. @throws TroupeError INVALID_ARGUMENT */
export function principalOf(token: string): Principal {
  try {
    const text = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8');
    const { tenant, sub, roles } = JSON.parse(text) as Partial<Principal>;
    if (typeof tenant === 'string' && typeof sub === 'string')
      return { tenant, sub, roles: Array.isArray(roles) ? roles.map(String) : [] };
  } catch {
    // as a token without the claims
  }
  throw new TroupeError(
    'INVALID_ARGUMENT',
    '--bearer is no token of a program, as `troupe token` prints it: it has no tenant and sub',
  );
}
