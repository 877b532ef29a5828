/** `a2a.issuers`: what the keys of one issuer of tokens must agree on. */
import type { Finding } from './check.ts';
import type { Config } from '../schema/schema.ts';

type Issuers = Config['a2a']['issuers'];

export const issuersFit = ({ a2a: { issuers } }: Config): Finding[] =>
  // A faulty entry, which is in the report already, may be no object.
  issuers.flatMap((issuer, at) =>
    typeof issuer === 'object' && issuer !== null
      ? [...namedBefore(issuers, at), ...doubled(issuers, at)]
      : [],
  );

function namedBefore(issuers: Issuers, at: number): Finding[] {
  const first = issuers.findIndex((other) => other?.issuer === issuers[at]?.issuer);
  const message = `is that of a2a.issuers[${first}]: an issuer has one entry`;
  return first < at ? [{ pointer: `/a2a/issuers/${at}/issuer`, message }] : [];
}

function doubled(issuers: Issuers, at: number): Finding[] {
  const issuer = issuers[at];
  return mappings.flatMap(({ fixed, others }) =>
    others
      .filter((key) => issuer?.[fixed] !== undefined && issuer[key] !== undefined)
      .map((key) => ({
        pointer: `/a2a/issuers/${at}/${key}`,
        message: `contradicts ${fixed}, which holds for all tokens: leave one of them out`,
      })),
  );
}

const mappings = [
  { fixed: 'tenant', others: ['tenantClaim', 'tenantMap'] },
  { fixed: 'roles', others: ['rolesClaim', 'rolesMap'] },
] as const;
