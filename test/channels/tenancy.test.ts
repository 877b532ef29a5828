import { describe, expect, it } from 'vitest';
import { Tenancy } from '../../channels/tenancy.ts';

const entry = (tenant: string, more: object = {}) => ({
  tenant,
  tokens: [],
  principals: [],
  channelAccounts: [],
  ...more,
});

describe('the table of tenants', () => {
  it('returns the tenant of a token, a principal and an account, and the default for others', () => {
    const table = new Tenancy([
      entry('acme', { tokens: ['t-acme'], principals: ['proxy:ann'], channelAccounts: ['tg:a'] }),
      entry('blue', { tokens: ['t-blue'] }),
    ]);
    expect(table.tenants).toEqual(['default', 'acme', 'blue']);
    expect(table.ofToken('t-acme')).toBe('acme');
    expect(table.ofToken('t-blue')).toBe('blue');
    expect(table.ofToken('t-acm')).toBeUndefined();
    expect(table.ofPrincipal('proxy:ann')).toBe('acme');
    expect(table.ofPrincipal('proxy:bob')).toBe('default');
    expect(table.ofChannelAccount('tg:a')).toBe('acme');
    expect(table.ofChannelAccount('tg:b')).toBe('default');
  });

  it('refuses a name in two tenants, and shows no token', () => {
    const same = (more: object) => () => new Tenancy([entry('a', more), entry('b', more)]);
    expect(same({ principals: ['proxy:ann'] })).toThrow(/"proxy:ann" is of the tenants a and b/);
    expect(same({ tokens: ['very-secret'] })).toThrow(/the same token is of the tenants a and b/);
    expect(same({ tokens: ['very-secret'] })).not.toThrow(/very-secret/);
    expect(() => new Tenancy([entry('a', { principals: ['x', 'x'] })])).not.toThrow();
  });
});
