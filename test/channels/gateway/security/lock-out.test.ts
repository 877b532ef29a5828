/** Guessing a secret, through whichever door: who is locked out, and who is not. */
import { afterEach, expect, test } from 'vitest';
import { Tenancy } from '../../../../channels/tenancy.ts';
import type { Gateway } from '../../../../channels/index.ts';
import type { GatewayAuth } from '../../../../channels/gateway/access.ts';
import { accountOf, AddressList, remoteOf } from '../../../../channels/gateway/remote.ts';
import { gatewayAuth } from '../../../../compose/gateway-auth.ts';
import { loadConfig } from '../../../../runtime/config/index.ts';
import { connectParams, TOKEN } from '../client.ts';
import { closeAll, openClient, openGateway, openStranger } from '../opened.ts';
import { StillClock } from '../still-clock.ts';

afterEach(closeAll);

type Headers = Record<string, string>;

const codeOf = async (gateway: Gateway, token: string, headers: Headers = {}) => {
  const client = await openStranger(gateway, headers);
  const { ok, error } = await client.call('connect', connectParams({ auth: { token } }));
  const { code } = (error?.details ?? {}) as { code?: string };
  return ok ? 'in' : code;
};

const statusOf = async (gateway: Gateway, authorization: string) => {
  const answer = await fetch(new URL('/v1/approvals', gateway.url), { headers: { authorization } });
  await answer.body?.cancel();
  return answer.status;
};

const guessed = async (gateway: Gateway, times: number, headers: Headers = {}) => {
  for (let guess = 0; guess < times; guess++) {
    expect(await codeOf(gateway, `guess ${guess}`, headers)).toBe('AUTH_TOKEN_MISMATCH');
  }
};

test('a secret guessed over HTTP counts as one guessed by connect, also many at once', async () => {
  const clock = new StillClock();
  const gateway = await openGateway(undefined, { clock });
  const guesses = Array.from({ length: 25 }, (_, at) => statusOf(gateway, `Bearer guess-${at}`));
  const statuses = await Promise.all(guesses);
  expect(statuses.filter((status) => status === 429)).toHaveLength(15);
  expect(await codeOf(gateway, TOKEN)).toBe('AUTH_RATE_LIMITED');
  expect(await statusOf(gateway, `Bearer ${TOKEN}`)).toBe(429);
  clock.move(60_000);
  expect(await codeOf(gateway, TOKEN)).toBe('in');
  expect(await statusOf(gateway, `Bearer ${TOKEN}`)).not.toBe(429);
});

test('a signed token that has ended, and a request without one, lock nobody out', async () => {
  const gateway = await openGateway();
  const jwt = `eyJhbGciOiJFZERTQSJ9.${Buffer.from('{"exp":1}').toString('base64url')}.AAAA`;
  for (let time = 0; time < 12; time++) {
    expect(await statusOf(gateway, `Bearer ${jwt}`)).not.toBe(429);
    expect(await statusOf(gateway, 'Basic eDp5')).not.toBe(429);
  }
  expect(await codeOf(gateway, TOKEN)).toBe('in');
});

test('who comes in by a right of his own does not begin anew with his guesses', async () => {
  const tenancy = new Tenancy([
    { tenant: 'acme', tokens: ['the token of acme'], principals: [], channelAccounts: [] },
  ]);
  const gateway = await openGateway(undefined, { clock: new StillClock(), tenancy });
  await guessed(gateway, 9);
  expect(await codeOf(gateway, 'the token of acme')).toBe('in');
  await guessed(gateway, 1);
  expect(await codeOf(gateway, TOKEN)).toBe('AUTH_RATE_LIMITED');
});

test('who knows the secret of the gateway begins anew', async () => {
  const gateway = await openGateway(undefined, { clock: new StillClock() });
  await guessed(gateway, 9);
  await openClient(gateway);
  await guessed(gateway, 9);
  expect(await codeOf(gateway, TOKEN)).toBe('in');
});

test('guesses that a forwarder of this machine lets through do not lock this machine out, and are not excused with it', async () => {
  const rateLimit = { exemptLoopback: true };
  const auth: GatewayAuth = { mode: 'token', token: TOKEN, rateLimit };
  const gateway = await openGateway(undefined, { clock: new StillClock(), auth });
  const forwarded = { 'x-forwarded-for': '203.0.113.9' };
  await guessed(gateway, 10, forwarded);
  expect(await codeOf(gateway, TOKEN, forwarded)).toBe('AUTH_RATE_LIMITED');
  expect(await codeOf(gateway, TOKEN)).toBe('in');
});

test('visitors that Tailscale forwards are told apart by their addresses', () => {
  const env = { TROUPE_HOME: '/nowhere' };
  const flags = { port: '0', token: TOKEN };
  const { config } = loadConfig({ env, flags, home: '/nowhere' });
  const published = (mode: 'off' | 'funnel', auth: 'token' | 'trusted-proxy') =>
    gatewayAuth({
      ...config,
      gateway: {
        ...config.gateway,
        auth: { ...config.gateway.auth, mode: auth },
        tailscale: { ...config.gateway.tailscale, mode },
      },
    });
  const accounts = (auth: GatewayAuth) => {
    const proxies = new AddressList(auth.trustedProxy?.proxies);
    return ['203.0.113.9', '198.51.100.7', undefined].map((from) => {
      const headers = from === undefined ? {} : { 'x-forwarded-for': from };
      const request = { socket: { remoteAddress: '127.0.0.1' }, headers };
      return accountOf(remoteOf(request as Parameters<typeof remoteOf>[0], proxies));
    });
  };
  expect(accounts(published('funnel', 'token'))).toEqual([
    '203.0.113.9',
    '198.51.100.7',
    '127.0.0.1',
  ]);
  const one = 'forwarded by 127.0.0.1';
  expect(accounts(published('off', 'token'))).toEqual([one, one, '127.0.0.1']);
  expect(published('funnel', 'trusted-proxy').trustedProxy).toBeUndefined();
});
