/** Tokens of common issuers, without claims for troupe's tenants and roles. */
import { expect, it } from 'vitest';
import type { IssuerOptions } from '../../../../channels/edge/identity/tokens.ts';
import { bearer, identityOf, issuerWith, NOW, refusal, serveJwks } from './issuer.ts';

const CLIENT = '407408718192.apps.example';
const rsa = await issuerWith('RS256', 'k');

/** An ID token in Google's form. */
const google = (claims: object = {}) =>
  rsa.token({
    iss: 'https://accounts.google.com',
    azp: CLIENT,
    aud: CLIENT,
    sub: '10769150350006150715113082367',
    email: 'ada@acme.example',
    email_verified: true,
    hd: 'acme.example',
    iat: NOW / 1_000,
    tenant: undefined,
    roles: undefined,
    ...claims,
  });

/** The caller of a token, with this configuration of its issuer. */
const whoBy = async (token: string, mapping: Partial<IssuerOptions>) => {
  const { url } = await serveJwks(rsa.publicJwk);
  const issuer = 'https://accounts.google.com';
  const issuers = [{ issuer, jwks: url, audience: CLIENT, ...mapping }];
  return identityOf({ issuers }).authenticate(bearer(token));
};

it('a fixed tenant and fixed roles need no claim, and claims do not change them', async () => {
  const fixed = { tenant: 'acme', roles: ['writer'] };
  const ada = { sub: '10769150350006150715113082367', tenant: 'acme', roles: ['writer'] };
  expect(await whoBy(await google(), fixed)).toMatchObject(ada);
  const greedy = await google({ tenant: 'default', roles: ['operator'] });
  expect(await whoBy(greedy, fixed)).toMatchObject(ada);
  expect(await whoBy(await google(), { tenant: 'acme' })).toMatchObject({ roles: [] });
});

it("a fixed operator is an operator in the installation's own tenant only", async () => {
  const roles = ['operator', 'writer'];
  expect(await whoBy(await google(), { tenant: 'default', roles })).toMatchObject({ roles });
  expect(await whoBy(await google(), { tenant: 'acme', roles })).toMatchObject({
    roles: ['writer'],
  });
});

it.each<[string, object, Partial<IssuerOptions>, object]>([
  [
    'a map of tenants',
    { hd: 'acme.example' },
    { tenantClaim: 'hd', tenantMap: { 'acme.example': 'acme' } },
    { tenant: 'acme', roles: [] },
  ],
  [
    'a path (Keycloak)',
    { realm_access: { roles: ['desk', 'audit'] } },
    { tenant: 'acme', rolesClaim: 'realm_access.roles' },
    { roles: ['desk', 'audit'] },
  ],
  [
    'a name with dots (Auth0)',
    { 'https://acme.example/roles': ['desk'], 'https://acme': { 'example/roles': ['operator'] } },
    { tenant: 'default', rolesClaim: 'https://acme.example/roles' },
    { roles: ['desk'] },
  ],
  [
    'a map of groups, where unmapped groups grant no role',
    { groups: ['g-1', 'g-2', 'operator', 'toString', 'g-3'] },
    {
      tenant: 'default',
      rolesClaim: 'groups',
      rolesMap: { 'g-1': ['desk'], 'g-3': ['desk', 'audit'] },
    },
    { roles: ['desk', 'audit'] },
  ],
  [
    'a verified address',
    {},
    { tenant: 'acme', rolesClaim: 'email', rolesMap: { 'ada@acme.example': ['approver'] } },
    { roles: ['approver'] },
  ],
])('has claims mapped by %s', async (_, claims, mapping, caller) => {
  expect(await whoBy(await google(claims), mapping)).toMatchObject(caller);
});

it.each<[string, object, Partial<IssuerOptions>, RegExp]>([
  ['that names no tenant', {}, {}, /tenant is missing/],
  [
    'of a tenant in no map',
    { hd: 'evil.example' },
    { tenantClaim: 'hd', tenantMap: { 'acme.example': 'acme' } },
    /tenant is not configured/,
  ],
  [
    'of a tenant that is a property of every object',
    { hd: 'constructor' },
    { tenantClaim: 'hd', tenantMap: { a: 'acme' } },
    /tenant is not configured/,
  ],
  [
    'whose tenant is a list',
    { hd: ['acme.example'] },
    { tenantClaim: 'hd', tenantMap: { 'acme.example': 'acme' } },
    /tenant is missing/,
  ],
  [
    'whose roles are an object',
    { groups: { desk: true } },
    { tenant: 'acme', rolesClaim: 'groups', rolesMap: { desk: ['desk'] } },
    /roles/,
  ],
  [
    'with an address that is not verified',
    { email_verified: false },
    { tenant: 'acme', rolesClaim: 'email', rolesMap: { 'ada@acme.example': ['operator'] } },
    /email is not verified/,
  ],
  [
    'with an address whose state is unknown',
    { email_verified: undefined },
    { tenantClaim: 'email', tenantMap: { 'ada@acme.example': 'acme' } },
    /email is not verified/,
  ],
  [
    'for another client',
    { aud: 'other.apps.example' },
    { tenant: 'acme' },
    /aud is missing or has a wrong value/,
  ],
  [
    'for the entry point itself, where a client is named',
    { aud: 'urn:troupe:a2a' },
    { tenant: 'acme' },
    /aud is missing or has a wrong value/,
  ],
])('a token %s is refused', async (_, claims, mapping, what) => {
  await expect(whoBy(await google(claims), mapping)).rejects.toMatchObject(refusal(what));
});

it('a token must name one of several accepted clients', async () => {
  const audience = ['web.example', CLIENT];
  expect(await whoBy(await google(), { tenant: 'acme', audience })).toBeTruthy();
  const both = await google({ aud: ['other.example', CLIENT] });
  expect(await whoBy(both, { tenant: 'acme', audience })).toBeTruthy();
});
