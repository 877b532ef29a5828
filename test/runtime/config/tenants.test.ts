import { expect, it } from 'vitest';
import { tenancyOf } from '../../../compose/tenants.ts';
import { load } from './folder.ts';

it('a tenant needs no more than its token, or than who is of it', () => {
  const { config } = load(
    "{ tenants: { acme: { token: 'of acme' }, other: { principals: ['tailscale:ann@example.com'] } } }",
  );
  expect(config.tenants['acme']).toMatchObject({ principals: [], channelAccounts: [] });
  const tenancy = tenancyOf(config);
  expect(tenancy.ofToken('of acme')).toBe('acme');
  expect(tenancy.ofPrincipal('tailscale:ann@example.com')).toBe('other');
});
