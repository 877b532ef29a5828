import { afterEach, describe, expect, test } from 'vitest';
import { AddressList, networkOf } from '../../../../channels/gateway/auth/client-address.ts';
import { type GatewayOptions } from '../../../../channels/index.ts';
import { startGateway } from '../../../../channels/index.ts';
import { Tenancy } from '../../../../channels/tenancy.ts';
import { connectParams, MODELS, silentLog, TOKEN } from '../client.ts';
import { FakeSessionSystem } from '../fake-session-system.ts';
import { closeAll, openClient, openGateway, openChallenged } from '../opened.ts';
import { StillClock } from '../still-clock.ts';

afterEach(closeAll);

type Headers = Record<string, string>;

/** The answer to `connect` with these headers and credentials. */
const hello = async (options: Partial<GatewayOptions>, headers: Headers, more: object = {}) => {
  const gateway = await openGateway(undefined, options);
  const client = await openChallenged(gateway, headers);
  return client.call('connect', connectParams({ auth: undefined, ...more }));
};

describe('behind a trusted proxy', () => {
  const proxied = (more: object = {}): Partial<GatewayOptions> => ({
    auth: {
      mode: 'trusted-proxy',
      password: 'for the owner of the machine',
      trustedProxy: { proxies: ['127.0.0.0/8'], ...more },
    },
  });
  const ANN = { 'x-forwarded-user': 'ann', 'x-forwarded-for': '203.0.113.9' };

  test('a user that the proxy names is admitted without a secret', async () => {
    expect((await hello(proxied(), ANN)).ok).toBe(true);
  });

  test('a user that the proxy does not name, or that fails its checks, is refused', async () => {
    const nameless = await hello(proxied(), { 'x-forwarded-for': '203.0.113.9' });
    expect(nameless.error?.details).toMatchObject({ code: 'AUTH_IDENTITY_HEADER_REQUIRED' });
    const untested = await hello(proxied({ requiredHeaders: ['x-mfa'] }), ANN);
    expect(untested.error?.details).toMatchObject({ code: 'AUTH_IDENTITY_HEADER_REQUIRED' });
    const tested = await hello(proxied({ requiredHeaders: ['x-mfa'] }), { ...ANN, 'x-mfa': '1' });
    expect(tested.ok).toBe(true);
    const other = await hello(proxied({ allowUsers: ['bob'] }), ANN);
    expect(other.error?.details).toMatchObject({ code: 'AUTH_VERIFIED_USER_REQUIRED' });
  });

  test('a header from an address that is not a trusted proxy is ignored', async () => {
    const { error } = await hello(proxied({ proxies: ['10.0.0.7'] }), ANN);
    expect(error?.details).toMatchObject({ code: 'AUTH_UNAUTHORIZED' });
  });

  test('the password is accepted on this machine, and not through the proxy', async () => {
    const auth = { password: 'for the owner of the machine' };
    expect((await hello(proxied(), {}, { auth })).ok).toBe(true);
    const through = await hello(proxied(), { 'x-forwarded-for': '203.0.113.9' }, { auth });
    expect(through.error?.details).toMatchObject({ code: 'AUTH_IDENTITY_HEADER_REQUIRED' });
  });

  test("failures count for the client's address, not for one that the client invented", async () => {
    const auth = { mode: 'token', token: TOKEN, trustedProxy: { proxies: ['127.0.0.1'] } } as const;
    const clock = new StillClock();
    const gateway = await openGateway(undefined, { auth, clock });
    const guess = async (forwarded: string, token: string) => {
      const client = await openChallenged(gateway, { 'x-forwarded-for': forwarded });
      const { error } = await client.call('connect', connectParams({ auth: { token } }));
      return error?.details?.['code'];
    };
    for (let at = 0; at < 10; at++) await guess(`198.51.100.${at}, 203.0.113.9`, 'wrong');
    expect(await guess('198.51.100.77, 203.0.113.9', 'wrong')).toBe('AUTH_RATE_LIMITED');
    expect(await guess('203.0.113.10', TOKEN)).toBeUndefined();
  });

  test('requires a configured proxy, also when it is started by hand', async () => {
    const options = {
      system: new FakeSessionSystem(),
      port: 0,
      host: '127.0.0.1',
      tenant: 'default',
      defaultAgentId: 'main',
      models: MODELS,
      mainKey: 'main',
      agents: [],
      version: '1',
      log: silentLog,
      clock: new StillClock(),
    };
    const auth = { mode: 'trusted-proxy', trustedProxy: { proxies: [] } } as const;
    await expect(startGateway({ ...options, auth })).rejects.toThrow('trustedProxy.proxies');
  });
});

describe('inside a tailnet', () => {
  const ASKED: string[] = [];
  const tailnet = (owner: string | undefined | Error): Partial<GatewayOptions> => ({
    auth: { mode: 'token', token: TOKEN, allowTailscale: true },
    whois: async (ip) => {
      ASKED.push(ip);
      if (owner instanceof Error) throw owner;
      return owner;
    },
  });
  const SERVED = { 'tailscale-user-login': 'Ann@example.com', 'x-forwarded-for': '100.64.0.5' };

  test('a client of Tailscale Serve has the identity that the daemon confirms, and needs no secret', async () => {
    expect((await hello(tailnet('ann@example.com'), SERVED)).ok).toBe(true);
    expect(ASKED.at(-1)).toBe('100.64.0.5');
  });

  test.each<[string, string, string | undefined | Error, Headers]>([
    ['the address belongs to another user', 'IDENTITY_MISMATCH', 'bob@example.com', SERVED],
    ['the address belongs to no user', 'IDENTITY_MISMATCH', undefined, SERVED],
    ['the daemon does not answer', 'WHOIS_FAILED', new Error('no daemon'), SERVED],
    ['no login was sent', 'IDENTITY_MISSING', 'ann', { 'x-forwarded-for': '100.64.0.5' }],
    ['no address was sent', 'PROXY_MISSING', 'ann', { 'tailscale-user-login': 'ann' }],
  ])('the client is refused when %s', async (_, code, owner, headers) => {
    const { error } = await hello(tailnet(owner), headers);
    expect(error?.details).toMatchObject({ code: `AUTH_TAILSCALE_${code}` });
  });

  test('the header alone is ignored when Tailscale is not allowed', async () => {
    const { error } = await hello({}, SERVED);
    expect(error?.details).toMatchObject({ code: 'AUTH_TOKEN_MISSING' });
  });
});

describe('a tenant', () => {
  const tenancy = new Tenancy([
    {
      tenant: 'acme',
      tokens: ['the-token-of-acme'],
      principals: ['proxy:ann'],
      channelAccounts: [],
    },
  ]);

  test('is determined by the token, and its clients see no data of other tenants', async () => {
    const gateway = await openGateway(undefined, { tenancy });
    const acme = await openClient(gateway, { auth: { token: 'the-token-of-acme' } });
    const own = await openClient(gateway);
    const seen = async (client: typeof own) =>
      ((await client.call('system-presence', {})).payload as unknown[]).length;
    expect([await seen(acme), await seen(own)]).toEqual([1, 1]);
  });

  test('is determined by the user whom a proxy names', async () => {
    const trustedProxy = { proxies: ['127.0.0.1'] };
    const auth = { mode: 'trusted-proxy', trustedProxy } as const;
    const gateway = await openGateway(undefined, { tenancy, auth });
    for (const user of ['ann', 'bob']) {
      const headers = { 'x-forwarded-user': user, 'x-forwarded-for': '203.0.113.9' };
      const client = await openChallenged(gateway, headers);
      const { payload } = await client.call('connect', connectParams({ auth: undefined }));
      expect(payload.snapshot.presence).toHaveLength(1);
    }
  });
});

describe('addresses', () => {
  test('match a list by themselves and by range, in both families', () => {
    const list = new AddressList(['10.0.0.7', '192.168.0.0/16', 'fd00::/8', 'nonsense']);
    expect(
      ['10.0.0.7', '::ffff:10.0.0.7', '192.168.3.4', 'fd00::1'].map((ip) => list.has(ip)),
    ).toEqual([true, true, true, true]);
    expect(['10.0.0.8', 'fe80::1', '', 'nonsense'].map((ip) => list.has(ip))).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });

  test('of one IPv6 network count as one client', () => {
    expect(networkOf('2001:db8::1')).toBe(networkOf('2001:db8::ffff:2'));
    expect(networkOf('2001:db8:1::1')).not.toBe(networkOf('2001:db8:1:1::1'));
    expect(networkOf('203.0.113.9')).toBe('203.0.113.9');
  });
});
